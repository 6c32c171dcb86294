"""The inputs of a job as files that can be read again: what comes through a pipe is stored first."""

import hashlib
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from attnx.batch.folder import RunFolder
from attnx.corpus.reading import read_corpus
from attnx.corpus.records import CorpusItem, CorpusOptions, CorpusRow
from attnx.errors import InputError, os_reason
from attnx.texts.inputs import STDIN, STDIN_NAME

CHUNK = 1 << 20  # bytes
NOT_A_LINE_EACH = (".conllu", ".parquet")


@dataclass(frozen=True)
class Source:
    """An input: what the user calls it, and the file to read.

    `size` is in bytes, `digest` the BLAKE2b hash of the content, `lines` how many line ends it has.
    """

    name: str
    path: Path
    size: int
    digest: str
    lines: int


def find_sources(inputs: Sequence[str], folder: RunFolder, *, kept: bool) -> tuple[Source, ...]:
    """Return the sources of the inputs.

    `kept` says that what is stored of a pipe is what a run has begun with: it is not replaced, and it is taken where
    nothing comes through the pipe. Raises InputError for an input that cannot be read, or is given twice.
    """
    for name in inputs:
        if inputs.count(name) > 1:
            raise InputError("input_twice", path=name)
    return tuple(_source(name, folder.stored(index), kept) for index, name in enumerate(inputs))


def read_sources(sources: Sequence[Source], options: CorpusOptions) -> Iterator[CorpusItem]:
    """Return what `read_corpus` returns, with the names that the user knows. Raises InputError as that does."""
    names = {str(source.path): source.name for source in sources if str(source.path) != source.name}
    return _renamed([source.path for source in sources], options, names)


def expected_rows(sources: Sequence[Source], options: CorpusOptions) -> int | None:
    """Return about how many rows will come, None where counting them would mean reading them."""
    known = options.format is None or f".{options.format}" not in NOT_A_LINE_EACH
    if not known or any(source.path.suffix.lower() in NOT_A_LINE_EACH for source in sources):
        return None
    bounds = (sum(source.lines for source in sources), options.limit, options.sample)
    return min(bound for bound in bounds if bound is not None)


def _source(name: str, stored: Path, kept: bool) -> Source:
    try:
        if name == STDIN:
            pipe = sys.stdin.buffer if sys.stdin and not sys.stdin.isatty() else io.BytesIO()
            return _stored(STDIN_NAME, pipe, stored, kept)
        path = Path(name)
        with path.open("rb") as file:
            return _digested(name, path, file) if path.is_file() else _stored(name, file, stored, kept)
    except OSError as error:
        raise InputError("input_unreadable", path=name, reason=os_reason(error)) from error
    except ValueError as error:  # a null byte in the name
        raise InputError("input_unreadable", path=name, reason=str(error)) from error


def _stored(name: str, pipe: IO[bytes], stored: Path, kept: bool) -> Source:
    """Return the source for what comes through a pipe, which is stored as a file."""
    arriving = stored.with_suffix(".arriving")
    with arriving.open("wb") as file:
        source = _digested(name, stored, pipe, file)
    if not kept:
        arriving.replace(stored)
        return source
    arriving.unlink()
    if source.size or not stored.exists():
        return source
    with stored.open("rb") as file:
        return _digested(name, stored, file)


def _digested(name: str, path: Path, file: IO[bytes], copy: IO[bytes] | None = None) -> Source:
    """Read a file to its end, writing a copy if there is one to write."""
    digest = hashlib.blake2b()
    size = lines = 0
    while chunk := file.read(CHUNK):
        digest.update(chunk)
        size += len(chunk)
        lines += chunk.count(b"\n")
        if copy:
            copy.write(chunk)
    return Source(name, path, size, digest.hexdigest(), lines)


def _renamed(paths: Sequence[Path], options: CorpusOptions, names: Mapping[str, str]) -> Iterator[CorpusItem]:
    """Read the files, calling those that are stored by the names of their inputs."""
    try:
        for item in read_corpus(paths, options):
            name = names.get(item.file, item.file)
            if isinstance(item, CorpusRow) and item.id == f"{item.file}:{item.line}":
                yield replace(item, file=name, id=f"{name}:{item.line}")
            else:
                yield replace(item, file=name)
    except InputError as error:
        path = str(error.values.get("path"))
        if path not in names:
            raise
        raise InputError(error.key, **{**error.values, "path": names[path]}) from error
