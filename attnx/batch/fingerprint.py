"""What a run is of: programs, inputs, model and options. A run goes on only where all of it is still the same."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from attnx.batch.folder import RunFolder
from attnx.batch.records import Job
from attnx.batch.sources import Source
from attnx.encoders.folder import BUILTIN
from attnx.encoders.names import find_folder
from attnx.encoders.records import ModelRequest
from attnx.encoders.wheel import WHEEL
from attnx.errors import InputError
from attnx.version import __version__

FORMAT = 1  # of a run's files
LIBRARIES = ("numpy", "torch", "transformers")
HASHED_BYTES = 10_000_000  # files of a model up to this size are known by their content, larger ones by size and time

Fingerprint = Mapping[str, Mapping[str, Any]]


def fingerprint(job: Job, sources: Sequence[Source]) -> Fingerprint:
    """Return what the run is of, as JSON can hold it. Raises InputError when there is no such model."""
    return {
        "versions": {"format": FORMAT, "attnx": __version__, **{name: installed(name) for name in LIBRARIES}},
        "inputs": {source.name: [source.size, source.digest] for source in sources},
        "model": _model(job.model),
        "options": _options(job),
    }


def check_same(begun: Fingerprint, now: Fingerprint, folder: RunFolder) -> None:
    """Raise InputError naming the first thing that is not what the run in the folder began with."""
    for section, key in (
        ("inputs", "batch_changed_input"),
        ("model", "batch_changed_model"),
        ("options", "batch_changed_option"),
        ("versions", "batch_changed_version"),
    ):
        before, after = begun[section], now[section]
        changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        if changed:
            key = "batch_changed_language" if changed == ["--lang"] else key
            raise InputError(key, name=changed[0], path=folder.output)
    if list(begun["inputs"]) != list(now["inputs"]):
        raise InputError("batch_changed_order", path=folder.output)


def _options(job: Job) -> dict[str, Any]:
    """Return what the command line says of reading, measuring and the reports, by the names of the options."""
    reading = {f"--{name.replace('_', '-')}": value for name, value in asdict(job.reading).items() if name != "format"}
    own = {"--input-format": job.reading.format, "--device": job.model.device, "--dtype": job.model.dtype}
    return {**reading, **own, "--long": job.long, "--lang": job.language, "--each": job.each}


def _model(request: ModelRequest) -> dict[str, Any]:
    """Return what tells a model from others, and from itself after a change."""
    if request.name == BUILTIN:
        try:
            return {BUILTIN: installed(WHEEL)}
        except PackageNotFoundError:
            raise InputError("builtin_missing") from None
    folder = find_folder(request)
    files = sorted(path for path in folder.path.iterdir() if path.is_file() and path.suffix != ".md")
    return {folder.name: folder.revision, **{path.name: _content(path) for path in files}}


def _content(path: Path) -> list[int | str]:
    known = path.stat()
    if known.st_size > HASHED_BYTES:
        return [known.st_size, known.st_mtime_ns]
    return [known.st_size, hashlib.blake2b(path.read_bytes()).hexdigest()]
