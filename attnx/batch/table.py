"""The scores of all sentences as Parquet: one row a sentence × layer × head, in the order of the input."""

import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnx.corpus.records import CorpusRow

if TYPE_CHECKING:
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    from attnx.streaming.records import BatchScores

INDEX_COLUMNS = ("number", "id", "file", "line", "tokens", "layer", "head")
GROUP_ROWS = 131_072  # rows of a row group, about: what is held at a time
COMPRESSION = {"compression": "zstd", "compression_level": 1}


class SentenceTable:
    """The scores of some sentences, float32, collected in any order and written in the order of their rows."""

    def __init__(self, rows: Sequence[CorpusRow], layers: int, heads: int) -> None:
        from attnx.streaming.records import NAMES

        self.rows = rows
        self.places = {row.number: place for place, row in enumerate(rows)}
        self.tokens = np.zeros(len(rows), dtype=np.int32)  # 0: not measured
        shape = (len(rows), layers, heads)
        self.values = {scope: np.full((*shape, len(names)), np.nan, dtype=np.float32) for scope, names in NAMES.items()}

    def add(self, scores: "BatchScores") -> None:
        """Take the scores of a batch."""
        places = [self.places[int(number)] for number in scores.batch.numbers]
        self.tokens[places] = scores.batch.tokens
        for scope, values in scores.values.items():
            self.values[scope][places] = values

    def write(self) -> bytes:
        """Return the sentences that were measured as a Parquet file."""
        _, layers, heads, _ = self.values["all"].shape
        measured = np.flatnonzero(self.tokens)
        step = max(1, GROUP_ROWS // (layers * heads))
        file = io.BytesIO()
        with _writer(file) as writer:
            for start in range(0, len(measured), step):
                writer.write_table(self._group(measured[start : start + step]))
        return file.getvalue()

    def _group(self, places: NDArray[np.intp]) -> "pyarrow.Table":
        import pyarrow as pa

        _, layers, heads, _ = self.values["all"].shape
        rows, each = [self.rows[place] for place in places], layers * heads
        columns: list[Any] = [
            np.repeat([row.number for row in rows], each),
            pa.array([row.id for row in rows]).take(np.repeat(np.arange(len(rows)), each)),
            pa.array([row.file for row in rows]).take(np.repeat(np.arange(len(rows)), each)),
            np.repeat([row.line for row in rows], each),
            np.repeat(self.tokens[places], each),
            np.tile(np.repeat(np.arange(layers), heads), len(rows)),
            np.tile(np.arange(heads), len(rows) * layers),
        ]
        for values in self.values.values():
            columns += [values[places, ..., statistic].ravel() for statistic in range(values.shape[-1])]
        schema = _schema()
        return pa.table(
            [pa.array(column, field.type, from_pandas=True) for column, field in zip(columns, schema, strict=True)],
            schema=schema,
        )


def join_tables(parts: Iterable[Path], file: IO[bytes]) -> None:
    """Write the rows of all parts into one Parquet file, a row group at a time."""
    from pyarrow.parquet import ParquetFile

    with _writer(file) as writer:
        for part in parts:
            with ParquetFile(part) as table:
                for group in range(table.num_row_groups):
                    writer.write_table(table.read_row_group(group))


def read_column(path: Path, layer: int, head: int, name: str, limit: int) -> Iterator[tuple[int, int, float]]:
    """Yield (number, tokens, value) of one head in each of about the first `limit` sentences, where it is defined."""
    from pyarrow.parquet import ParquetFile

    seen = 0
    with ParquetFile(path) as table:
        for group in range(table.num_row_groups):
            rows = table.read_row_group(group, columns=["number", "tokens", "layer", "head", name])
            numbers, tokens, layers, heads, values = (column.to_numpy() for column in rows.columns)
            for place in np.flatnonzero((layers == layer) & (heads == head) & ~np.isnan(values)):
                yield int(numbers[place]), int(tokens[place]), float(values[place])
            seen += len(np.unique(numbers))
            if seen >= limit:
                return


def _schema() -> "pyarrow.Schema":
    import pyarrow as pa

    from attnx.streaming.records import NAMES

    types = (pa.int64(), pa.string(), pa.string(), pa.int64(), pa.int32(), pa.int16(), pa.int16())
    scores = [(f"{scope}.{name}", pa.float32()) for scope, names in NAMES.items() for name in names]
    return pa.schema([*zip(INDEX_COLUMNS, types, strict=True), *scores])


def _writer(file: IO[bytes]) -> "ParquetWriter":
    """Open a Parquet file for the table; the same rows give the same bytes."""
    from pyarrow.parquet import ParquetWriter

    floats = [name for name in _schema().names if "." in name]
    names = list(INDEX_COLUMNS)
    # The bytes of a number apart from each other compress better; a dictionary of numbers that differ would not pay.
    return ParquetWriter(
        file, _schema(), use_dictionary=names, use_byte_stream_split=floats, write_statistics=names, **COMPRESSION
    )
