"""What is saved after every shard, in such an order that a run can go on after being stopped at any moment.

A shard's parts come first. Then one file replaces that of the shard before: the state of the accumulators together with
the progress. Parts of a shard that the state does not know are written again.
"""

import json
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnx.batch.folder import RunFolder
from attnx.batch.records import Counts, Progress
from attnx.corpus.records import BadRow
from attnx.errors import AttnxError, InputError
from attnx.report.output import atomic_file

if TYPE_CHECKING:
    from attnx.batch.shards import ShardResult

PROGRESS = "progress"  # the array that holds the progress, as JSON in UTF-8
CORPUS = "corpus/"  # before the names of the accumulators' arrays
TABLE, ERRORS = ".parquet", ".jsonl"

State = Mapping[str, NDArray[Any]]


def save_parts(folder: RunFolder, shard: int, result: "ShardResult") -> None:
    """Save the pieces of the outputs that a shard gave."""
    for suffix, content in ((TABLE, result.table), (ERRORS, error_lines(result.refused))):
        with atomic_file(part(folder, shard, suffix), folder.unfinished) as file:
            file.write(content)
    _settle(folder.parts)


def save_state(folder: RunFolder, progress: Progress, state: State) -> None:
    """Save the accumulators and how far the run has come, both or neither."""
    told = np.frombuffer(json.dumps(asdict(progress)).encode(), dtype=np.uint8)
    with atomic_file(folder.state, folder.unfinished) as file:
        np.savez(
            file, allow_pickle=False, **{PROGRESS: told}, **{CORPUS + name: array for name, array in state.items()}
        )
    _settle(folder.inner)


def load_state(folder: RunFolder) -> tuple[Progress, State]:
    """Return what was saved. Raises InputError where it cannot be read."""
    try:
        with np.load(folder.state, allow_pickle=False) as arrays:
            progress = json.loads(arrays[PROGRESS].tobytes())
            state = {name.removeprefix(CORPUS): arrays[name] for name in arrays.files if name.startswith(CORPUS)}
        counts = tuple(Counts(**count) for count in progress["counts"])
        return replace(Progress(**progress), counts=counts), state
    except (OSError, EOFError, ValueError, TypeError, LookupError, zipfile.BadZipFile) as error:
        raise InputError("batch_broken", path=folder.output) from error


def part(folder: RunFolder, shard: int, suffix: str) -> Path:
    """Return where a piece of a shard is."""
    return folder.parts / f"{shard:06d}{suffix}"


def parts(folder: RunFolder, shards: int, suffix: str) -> Iterator[Path]:
    """Yield the pieces of all shards in their order. Raises InputError where one has been removed."""
    for shard in range(shards):
        path = part(folder, shard, suffix)
        if not path.exists():
            raise InputError("batch_broken", path=folder.output)
        yield path


def first_error(folder: RunFolder, shards: int) -> InputError | None:
    """Return the error for the first record that was refused in these shards, None where there is none."""
    for path in parts(folder, shards, ERRORS):
        with path.open(encoding="utf-8") as file:
            for line in file:
                record = json.loads(line)
                return InputError("line_in_file", path=record["file"], line=record["line"], reason=record["reason"])
    return None


def error_lines(rows: Iterable[BadRow]) -> bytes:
    """Return a JSON object a line for each record that was refused, with the reason in the terminal's language."""
    lines = [
        json.dumps(
            {
                "file": row.file,
                "line": row.line,
                "reason": AttnxError(row.key, **row.values).format_message(),
                "key": row.key,
            },
            ensure_ascii=False,
        )
        for row in rows
    ]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")


def _settle(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, so that a power failure cannot undo a renaming."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
