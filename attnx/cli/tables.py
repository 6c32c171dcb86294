"""Tables for the terminal, aligned in any script and safe to print."""

import io
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from attnx.errors import printable

if TYPE_CHECKING:
    from rich.table import Table

WIDEST = 10_000


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> None:
    """Print rows under their headings, the columns whose numbers are in `right` aligned to the right."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="right" if i in right else "left", overflow="fold")
    _print(table, rows)


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Print a label and a text a line, leaving out what has no text."""
    from rich.table import Table

    _print(Table.grid(padding=(0, 2, 0, 0)), [fact for fact in facts if fact[1]])


def _print(table: "Table", rows: Iterable[Sequence[str]]) -> None:
    """Print a table as wide as it needs, on a terminal at most as wide as that."""
    from rich.console import Console
    from rich.text import Text

    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    file = io.StringIO()
    console = Console(file=file, width=WIDEST, color_system=None, highlight=False)
    width = console.measure(table).maximum
    console.width = min(width, shutil.get_terminal_size().columns) if sys.stdout.isatty() else width
    console.print(table)
    click.echo("\n".join(line.rstrip() for line in file.getvalue().splitlines()))
