"""Parquet: the columns that are needed, a few rows at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from attnx.corpus.columns import find_column, listed, text_column
from attnx.corpus.records import BadRow, CorpusOptions, EmptyRow, Found, FoundItem
from attnx.errors import InputError
from attnx.texts.sentence import MAXIMUM_CHARACTERS

if TYPE_CHECKING:
    import pyarrow

MAGIC = b"PAR1"
ROWS_AT_ONCE = 64  # rows are expanded to their full length, and one value may be large
BUFFER_BYTES = 1 << 20  # of a column, whose part of a row group may be larger than memory
MAXIMUM_BYTES = 4 * MAXIMUM_CHARACTERS  # of UTF-8


def read_parquet(name: str, file: BinaryIO, options: CorpusOptions) -> Iterator[FoundItem]:
    """Yield the rows of a Parquet file; the line of a row is its number from 1.

    Raises InputError for a file that is not Parquet, is damaged or comes through a pipe (its index is at the end), and
    for a column that is missing or holds no text.
    """
    import pyarrow.parquet

    if not file.seekable():
        raise InputError("parquet_piped", path=name)
    file.seek(0)
    if file.read(len(MAGIC)) != MAGIC:
        raise InputError("parquet_not", path=name)
    with _reported(name):
        parquet = pyarrow.parquet.ParquetFile(file, pre_buffer=False, buffer_size=BUFFER_BYTES)
        text, id_column = _columns(name, parquet.schema_arrow, options)
        wanted = list(dict.fromkeys(column for column in (text, id_column) if column is not None))
        line = 0
        for batch in parquet.iter_batches(ROWS_AT_ONCE, columns=wanted, use_threads=False):
            ids = batch.column(id_column) if id_column is not None else [None] * len(batch)
            for value, own in zip(batch.column(text), ids, strict=True):
                line += 1
                yield _found(name, line, value, own)


@contextmanager
def _reported(name: str) -> Iterator[None]:
    """Turn what pyarrow says of a damaged file into one line."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, MemoryError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError("parquet_broken", path=name, reason=reason) from error


def _columns(name: str, schema: "pyarrow.Schema", options: CorpusOptions) -> tuple[str, str | None]:
    """Return the names of the columns of the texts and of the ids."""
    import pyarrow

    text = schema.field(text_column(name, schema.names, options.column))
    kind = text.type.value_type if pyarrow.types.is_dictionary(text.type) else text.type
    is_text = (pyarrow.types.is_string, pyarrow.types.is_large_string, pyarrow.types.is_string_view)
    if not any(check(kind) for check in is_text):
        raise InputError("column_not_text", path=name, column=text.name, type=listed([str(text.type)]))
    if options.id_column is not None:
        find_column(name, schema.names, options.id_column)
    return text.name, options.id_column


def _found(name: str, line: int, value: "pyarrow.Scalar", own: "pyarrow.Scalar | None") -> FoundItem:
    if not value.is_valid:
        return EmptyRow(name, line)
    text = _decoded(name, line, value)
    if isinstance(text, BadRow) or own is None:
        return text if isinstance(text, BadRow) else Found(line, text)
    number = str(own.as_py()) if own.is_valid else ""
    return Found(line, text, number) if number else BadRow(name, line, "row_id_missing")


def _decoded(name: str, line: int, value: "pyarrow.Scalar") -> str | BadRow:
    """Return the text of a valid value, which is copied only when it is not too long."""
    import pyarrow

    data = (value.value if isinstance(value, pyarrow.DictionaryScalar) else value).as_buffer()
    if data.size > MAXIMUM_BYTES:
        return BadRow(name, line, "row_too_long", {"limit": MAXIMUM_CHARACTERS})
    try:
        return str(data.to_pybytes(), "utf-8")
    except UnicodeDecodeError:
        return BadRow(name, line, "row_not_utf8")
