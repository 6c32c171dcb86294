"""The same as the explorer shows, printed: the map of a statistic, or one head."""

import shutil
import sys
from collections.abc import Iterable

import click
from rich.console import Console
from rich.text import Text

from attnx.cli.progress import notice
from attnx.cli.tables import WIDEST, print_table
from attnx.errors import InputError, printable
from attnx.i18n import Catalog
from attnx.naming import head_name
from attnx.report.typography import short_text
from attnx.statistics import REGISTRY, SCOPES
from attnx.terminal.describing import finding_lines, neighbors_line, statistic_title, statistics_rows
from attnx.terminal.drawing import Window, cell_size, ending_size, has_colors, heatmap_lines, legend, map_lines, margin
from attnx.terminal.exploration import Exploration, Head, View, best_scope

TITLE_CHARACTERS = 60


def print_map(exploration: Exploration, model: str, statistic: str, scope: str | None, t: Catalog) -> None:
    """Print the layer × head map of a statistic and the strongest findings; `scope` None is the best one for it."""
    scope = best_scope(statistic, scope)
    values = exploration.scores[scope].values[statistic]
    _title(exploration, model, statistic_title(statistic, scope, t))
    signed = statistic == "signed_distance"
    colored = has_colors(Console())
    _print(map_lines(values, REGISTRY[statistic].unit, _width(), signed=signed, colored=colored, t=t))
    click.echo()
    for line in finding_lines(exploration, t):
        click.echo(line)


def print_head(
    exploration: Exploration, model: str, head: Head, view: View, tokens: tuple[int, int] | None, t: Catalog
) -> None:
    """Print a head's heatmap, its statistics and the heads nearest to it; `tokens` says which keys, from 1."""
    scope = "all" if view.special else "content"
    colored = has_colors(Console())
    shown = exploration.head_map(head, view)
    room = max(1, (_width() - margin(shown.labels) - ending_size(shown, t)) // cell_size(colored))
    columns = _columns(shown.numbers, tokens, room)
    _title(exploration, model, f"{head_name(*head)} · {t.text(f'scopes.{scope}')}")
    window = Window(range(len(shown.labels)), columns)
    _print(heatmap_lines(shown, view, exploration.top, window, colored=colored, t=t))
    _print([legend(view.scale, exploration.top, colored=colored, t=t)])
    if len(columns) < len(shown.labels):
        notice(_columns_line(shown.numbers, columns, t))
    click.echo()
    ranks = [part for name in SCOPES for part in (t.text(f"scopes.{name}"), t.text("show.rank_heading"))]
    print_table([t.text("show.statistic"), *ranks], statistics_rows(exploration, head, t), right=range(1, 5))
    if line := neighbors_line(exploration, head, scope, t):
        click.echo(f"\n{line}")


def _title(exploration: Exploration, model: str, rest: str) -> None:
    text = short_text(exploration.attention.encoding.sentence.text, TITLE_CHARACTERS)
    click.echo(printable(f"{text} · {model} · {rest}") + "\n")


def _print(lines: Iterable[Text]) -> None:
    """Print lines as they are: never wrapped, in the colors that the terminal has."""
    console = Console(highlight=False)
    console.width = _width()
    with console.capture() as captured:
        for line in lines:
            console.print(line, no_wrap=True, overflow="crop")
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _width() -> int:
    """Return how many columns there are: the terminal's, or as many as needed where it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDEST


def _columns_line(numbers: tuple[int, ...], columns: range, t: Catalog) -> str:
    """Say which keys are drawn, and how to see the next ones, or the first again after the last."""
    after = columns.stop if columns.stop < len(numbers) else 0
    until = min(after + len(columns), len(numbers)) - 1
    example = f"{numbers[after]}-{numbers[until]}"
    first, last = numbers[columns[0]], numbers[columns[-1]]
    return t.text("show.columns", first=first, last=last, total=numbers[-1], example=example)


def _columns(numbers: tuple[int, ...], tokens: tuple[int, int] | None, room: int) -> range:
    """Return the keys to draw: those asked for, or from the first on as many as there is room for.

    `numbers` are those of the tokens that are shown. Raises InputError where none of them is asked for.
    """
    first, last = tokens or (numbers[0], numbers[-1])
    wanted = [column for column, number in enumerate(numbers) if first <= number <= last]
    if not wanted:
        raise InputError("tokens_missing", first=first, last=last, total=numbers[-1])
    return range(wanted[0], min(wanted[-1] + 1, wanted[0] + room))
