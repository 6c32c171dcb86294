"""From the inputs of a command to one stream of rows."""

import io
import stat
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from attnx.corpus.conllu import read_conllu
from attnx.corpus.encodings import find_encoding
from attnx.corpus.jsonlines import read_json_lines
from attnx.corpus.lines import Line, Source, read_lines
from attnx.corpus.parquet import MAGIC, read_parquet
from attnx.corpus.plain import read_plain
from attnx.corpus.records import (
    BadRow,
    CorpusItem,
    CorpusOptions,
    CorpusRow,
    DetectedEncoding,
    EmptyRow,
    Found,
    FoundItem,
)
from attnx.corpus.sampling import sample_rows
from attnx.corpus.tables import TAB, check_delimiter, read_csv, read_tsv
from attnx.errors import AttnxError, InputError, os_reason
from attnx.texts.inputs import STDIN, STDIN_NAME
from attnx.texts.sentence import MAXIMUM_CHARACTERS, valid_unicode

TextReader = Callable[[str, Iterable[Line], CorpusOptions], Iterator[FoundItem]]
TEXT_READERS: dict[str, TextReader] = {
    "txt": read_plain,
    "csv": read_csv,
    "tsv": read_tsv,
    "jsonl": read_json_lines,
    "conllu": read_conllu,
}
PARQUET = "parquet"
FORMATS = (*TEXT_READERS, PARQUET)
SUFFIXES = {f".{name}": name for name in FORMATS} | {".tab": "tsv", ".ndjson": "jsonl"}
WITHOUT_COLUMNS = ("txt", "conllu")


def read_corpus(paths: Sequence[Path | str], options: CorpusOptions) -> Iterator[CorpusItem]:
    """Return the rows of all inputs in order, and between them what was left out and why; read as they are asked for.

    An input is a file or ``-``, standard input. Its format is `options.format`, else that of its suffix. Without a
    suffix its beginning decides: Parquet, or an object of JSON Lines; else a column or delimiter in the options makes
    it a table (TSV where there is a tab), and anything else is one text a line.

    The text is in `options.column`, else ``text``, else the only column. The encoding is UTF-8 or named by a byte
    order mark, otherwise one that can be no other.

    Raises InputError for a file that cannot be read as told: for the beginning of every file at once, later on where
    it is met.
    """
    if options.delimiter is not None:
        check_delimiter(options.delimiter)
    for path in paths:
        if not _streams(path):
            with closing(_read(path, options)) as beginning:
                next((item for item in beginning if not isinstance(item, DetectedEncoding)), None)
    items = _numbered(paths, options)
    return items if options.sample is None else sample_rows(items, options.sample, options.seed)


def refusal(row: BadRow) -> InputError:
    """Return the error for a record that cannot be used."""
    reason = AttnxError(row.key, **row.values).format_message()
    return InputError("line_in_file", path=row.file, line=row.line, reason=reason)


def _streams(path: Path | str) -> bool:
    """Tell whether an input can be read only once: standard input and pipes."""
    if str(path) == STDIN:
        return True
    try:
        mode = Path(path).stat().st_mode
    except OSError:  # opening it will say why
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _numbered(paths: Sequence[Path | str], options: CorpusOptions) -> Iterator[CorpusItem]:
    """Yield what the files hold, up to the limit, with the rows checked and numbered."""
    number = 0
    for path in paths:
        for found in _read(path, options):
            item = _row(_name(path), found, number) if isinstance(found, Found) else found
            yield item
            number += isinstance(item, CorpusRow)
            if number == options.limit:
                return


def _row(name: str, found: Found, number: int) -> CorpusRow | BadRow | EmptyRow:
    """Return the record as a row, unless its text cannot be one in any format."""
    text, line = found.text, found.line
    if not text.strip():
        return EmptyRow(name, line)
    if len(text) > MAXIMUM_CHARACTERS:
        return BadRow(name, line, "text_too_large", {"length": len(text), "limit": MAXIMUM_CHARACTERS})
    row = CorpusRow(number, found.id or f"{name}:{line}", text, name, line)
    if "\0" in text or "\0" in row.id:
        return BadRow(name, line, "row_null")
    try:
        (text + row.id).encode()
    except UnicodeEncodeError:
        return BadRow(name, line, "row_surrogate")
    return row


def _name(path: Path | str) -> str:
    return STDIN_NAME if str(path) == STDIN else valid_unicode(str(path))


def _read(path: Path | str, options: CorpusOptions) -> Generator[FoundItem | DetectedEncoding, None, None]:
    """Yield the records of one input."""
    name = _name(path)
    try:
        if str(path) == STDIN:
            yield from _records(name, sys.stdin.buffer if sys.stdin else io.BytesIO(), options)
        else:
            with Path(path).open("rb") as file:
                yield from _records(name, file, options)
    except OSError as error:
        raise InputError("input_unreadable", path=name, reason=os_reason(error)) from error


def _records(name: str, file: BinaryIO, options: CorpusOptions) -> Iterator[FoundItem | DetectedEncoding]:
    kind = options.format or _format_of(name)
    source = Source(name, file)
    if kind == PARQUET or (kind is None and source.head.startswith(MAGIC)):
        yield from read_parquet(name, file, options)
        return
    encoding = find_encoding(name, source.head, options.encoding)
    if encoding.detected:
        yield DetectedEncoding(name, encoding.name)
    lines = read_lines(source, encoding.name)
    first = next(lines, None)
    if first is None:
        return
    kind = kind or _format_in(first[1], options)
    if kind in WITHOUT_COLUMNS and (options.column or options.id_column or options.delimiter):
        raise InputError("corpus_no_columns", path=name)
    yield from TEXT_READERS[kind](name, chain([first], lines), options)


def _format_of(name: str) -> str | None:
    """Return the format by the suffix of the name, None where it has none."""
    suffix = Path(name).suffix.lower()
    if suffix and suffix not in SUFFIXES:
        raise InputError("corpus_unknown_format", path=name, suffixes=", ".join(SUFFIXES))
    return SUFFIXES.get(suffix)


def _format_in(line: str, options: CorpusOptions) -> str:
    """Return the format that the first line of an input without a suffix is in."""
    if line.lstrip().startswith("{"):
        return "jsonl"
    if options.column or options.id_column or options.delimiter:
        return "tsv" if TAB in line and not options.delimiter else "csv"
    return "txt"
