"""The numbers only: CSV for programs, a table for the terminal."""

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from attnx.errors import printable
from attnx.i18n import Catalog
from attnx.naming import head_name
from attnx.report.document import Document, plain
from attnx.report.grids import number
from attnx.report.typography import short_text
from attnx.statistics import REGISTRY
from attnx.statistics.scores import SCOPES, HeadScores

if TYPE_CHECKING:
    from rich.table import Table

INDEX_COLUMNS = ("sentence", "scope", "layer", "head")
DETAIL_COLUMNS = ("sink_position", "positional_offset", "nearest_head_index")
# What fits a terminal of 100 columns; the rest is in CSV and JSON.
TERMINAL_COLUMNS = (
    "self_share",
    "previous_share",
    "next_share",
    "special_share",
    "sink",
    "distance",
    "normalized_entropy",
    "confidence",
)
TITLE_CHARACTERS = 80
WIDTH = 110


def to_csv(document: Document) -> str:
    """Return one line a sentence × scope × layer × head, all counted from 0; empty is undefined."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow((*INDEX_COLUMNS, *REGISTRY, *DETAIL_COLUMNS))
    for index, sentence in enumerate(document.sentences):
        for scope in SCOPES:
            for row in _csv_rows(sentence.scopes[scope]):
                writer.writerow((index, scope, *row))
    return file.getvalue()


def _csv_rows(scores: HeadScores) -> Iterator[list[object]]:
    layers, heads = scores.skipped_rows.shape
    undefined = np.full((layers, heads), np.nan)
    columns = [scores.values.get(name, undefined) for name in REGISTRY]
    columns += [scores.details[name] for name in DETAIL_COLUMNS]
    for layer in range(layers):
        for head in range(heads):
            values = [plain(column[layer, head]) for column in columns]
            yield [layer, head, *("" if value is None else value for value in values)]


def table_text(document: Document, t: Catalog) -> str:
    """Return the main statistics of every head as text for a terminal, in both scopes, aligned in any script."""
    from rich.console import Console
    from rich.text import Text

    file = io.StringIO()
    console = Console(file=file, width=WIDTH, color_system=None, highlight=False)
    for sentence in document.sentences:
        for scope in SCOPES:
            title = f"{short_text(sentence.text, TITLE_CHARACTERS)} · {t.text(f'scopes.{scope}')}"
            console.print(Text(printable(title)))
            console.print(_terminal_table(sentence.scopes[scope], t))
    console.print(Text(t.text("table.units")))
    return file.getvalue()


def _terminal_table(scores: HeadScores, t: Catalog) -> "Table":
    from rich.table import Table

    names = [name for name in TERMINAL_COLUMNS if name in scores.values]
    table = Table(box=None, padding=(0, 1))
    table.add_column(t.text("table.head"))
    for name in names:
        table.add_column(t.text(f"statistics.{name}.short"), justify="right")
    layers, heads = scores.skipped_rows.shape
    for layer in range(layers):
        for head in range(heads):
            cells = [number(float(scores.values[name][layer, head]), REGISTRY[name].unit, t) for name in names]
            table.add_row(head_name(layer, head), *cells)
    return table
