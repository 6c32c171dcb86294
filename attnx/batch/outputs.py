"""The tables that a run ends with: the heads over all sentences, every sentence, and what was refused."""

import csv
import io
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from attnx.batch.checkpoint import ERRORS, TABLE, parts
from attnx.batch.folder import RunFolder
from attnx.batch.table import join_tables
from attnx.errors import InputError
from attnx.report.document import plain
from attnx.report.output import atomic_file

if TYPE_CHECKING:
    import pyarrow

    from attnx.statistics.accumulators.results import CorpusResult, Summary

EVERYTHING = "all"  # the group of all files together
NUMBERS = ("n", "mean", "sd", "low", "high", "rows", "micro_mean")
HEAD_COLUMNS = ("group", "scope", "layer", "head", "statistic", *NUMBERS)


def write_tables(folder: RunFolder, result: "CorpusResult", files: Sequence[str], shards: int) -> None:
    """Write all tables into the folder, each complete or not at all."""
    heads = heads_table(result, files)
    _write(folder, "heads.csv", lambda file: file.write(_csv(heads)))
    _write(folder, "heads.parquet", lambda file: _write_parquet(heads, file))
    join_errors(folder, shards)
    sentences = folder.output / "sentences.parquet"
    if not sentences.exists():  # otherwise this run has written it, and dropped its parts
        _write(folder, sentences.name, lambda file: _join_sentences(folder, shards, file))


def join_errors(folder: RunFolder, shards: int) -> None:
    """Write what all shards refused into one file, which is empty where nothing was."""
    if not (folder.output / "errors.jsonl").exists():
        _write(folder, "errors.jsonl", lambda file: _join(parts(folder, shards, ERRORS), file))


def heads_table(result: "CorpusResult", files: Sequence[str]) -> "pyarrow.Table":
    """Return one row a group × scope × layer × head × statistic, counted from 0, null where undefined.

    `n` sentences have a value, of which are `mean`, `sd` and the interval from `low` to `high`; `micro_mean` is that of
    their `rows`. A group is a file, where there are several, and ``all`` is all of them.
    """
    import pyarrow as pa

    groups = {**dict(zip(files, result.groups, strict=False)), EVERYTHING: result.whole}
    tables = [
        _summary_table(name, scope, summary)
        for name, group in groups.items()
        for scope, summary in group.scopes.items()
    ]
    return pa.concat_tables(tables).combine_chunks()


def _summary_table(group: str, scope: str, summary: "Summary") -> "pyarrow.Table":
    import pyarrow as pa

    size = summary.n.size
    layer, head, statistic = (index.ravel() for index in np.indices(summary.n.shape))
    columns: dict[str, Any] = {
        "group": pa.array([group] * size),
        "scope": pa.array([scope] * size),
        "layer": pa.array(layer, pa.int16()),
        "head": pa.array(head, pa.int16()),
        "statistic": pa.array(summary.names).take(pa.array(statistic)),
    }
    numbers = (summary.n, summary.mean, summary.sd, summary.low, summary.high, summary.rows, summary.micro)
    for name, values in zip(NUMBERS, numbers, strict=True):
        columns[name] = pa.array(values.ravel(), from_pandas=True)
    return pa.table(columns)


def _csv(table: "pyarrow.Table") -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(table.column_names)
    # None is written as nothing.
    writer.writerows(zip(*([plain(value) for value in column.to_pylist()] for column in table.columns), strict=True))
    return file.getvalue().encode()


def _write_parquet(table: "pyarrow.Table", file: IO[bytes]) -> None:
    from pyarrow.parquet import write_table

    write_table(table, file, compression="zstd")


def _join_sentences(folder: RunFolder, shards: int, file: IO[bytes]) -> None:
    import pyarrow as pa

    try:
        join_tables(parts(folder, shards, TABLE), file)
    except pa.ArrowInvalid as error:
        raise InputError("batch_broken", path=folder.output) from error


def _join(pieces: Iterable[Path], file: IO[bytes]) -> None:
    for piece in pieces:
        with piece.open("rb") as part:
            shutil.copyfileobj(part, file)


def _write(folder: RunFolder, name: str, write: Callable[[IO[bytes]], object]) -> None:
    with atomic_file(folder.output / name, folder.unfinished) as file:
        write(file)
