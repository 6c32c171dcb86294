"""Maps drawn as lines of text: cells in the report's colors, or numbers in percent where there are no colors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.style import Style
from rich.text import Text

from attnx.i18n import Catalog
from attnx.naming import layer_name
from attnx.report.colors import SEQUENTIAL, WHITE, Rgb, css, ink_on
from attnx.report.grids import INK, light_diverging, light_sequential, number
from attnx.statistics.reshaping import FAINTEST, scaled
from attnx.statistics.scores import Floats
from attnx.terminal.exploration import Head, HeadMap, View
from attnx.texts.labels import CLUSTER

COLOR_CELL, NUMBER_CELL = 2, 4  # columns; the first is what a Chinese character takes
MAP_CELL = 3
LABEL_CELLS = 16  # columns
COLUMN_LABEL = 8  # lines
BAR_CELLS = 16
LEAST_SHOWN = 0.005  # of what is written as a whole number of percent
UNDEFINED, SMALL = "–", "·"
CHOSEN, MARKED = "▶", "▼"  # the row, the column
SHADES = " ░▒▓█"
GOOD_COLORS = ("256", "truecolor")


@dataclass(frozen=True)
class Window:
    """The part of a map that is drawn: queries and keys, by their index; `ending` names each row's largest weight."""

    rows: range
    columns: range
    ending: bool = True


def has_colors(console: Console) -> bool:
    """Tell whether the palettes can be seen: on a terminal of 256 colors or more, and without ``NO_COLOR``."""
    return console.is_terminal and not console.no_color and console.color_system in GOOD_COLORS


def cell_size(colored: bool) -> int:
    """Return how many columns a weight takes."""
    return COLOR_CELL if colored else NUMBER_CELL


def margin(labels: Sequence[str]) -> int:
    """Return how many columns the row labels take, with their numbers and the mark of the chosen row."""
    return 2 + len(str(len(labels))) + 1 + label_size(labels) + 1


def label_size(labels: Sequence[str]) -> int:
    """Return how many columns the longest label takes, as far as labels are written out."""
    return min(LABEL_CELLS, max(map(cell_len, labels)))


def fitted(label: str, cells: int) -> str:
    """Return a label in exactly so many columns, cut with an ellipsis where it is longer."""
    return set_cell_size(label, cells - 1) + "…" if cell_len(label) > cells else set_cell_size(label, cells)


def heatmap_lines(
    shown: HeadMap,
    view: View,
    top: float,
    window: Window,
    *,
    colored: bool,
    t: Catalog,
    cell: tuple[int, int] | None = None,
) -> Iterator[Text]:
    """Yield the lines of a head's map: labels from top to bottom, then a line a query with its largest weight.

    `top` is that of `scaled`; `cell` is a query and a key that are marked.
    """
    row, column = cell or (None, None)
    start, size = margin(shown.labels), cell_size(colored)
    yield from column_labels([shown.labels[key] for key in window.columns], start, size)
    if column is not None and column in window.columns:
        yield Text(" " * start + MARKED.rjust((window.columns.index(column) + 1) * size), "bold")
    shares = scaled(shown.weights[window.rows.start : window.rows.stop], view.scale, top)
    digits, cells = len(str(max(shown.numbers))), label_size(shown.labels)
    for query, along in zip(window.rows, shares, strict=True):
        mark = CHOSEN if query == row else " "
        line = Text(f"{mark} {shown.numbers[query]:>{digits}} {fitted(shown.labels[query], cells)} ")
        for key in window.columns:
            weight = float(shown.weights[query, key])
            if colored and not np.isnan(weight):
                line.append(" " * COLOR_CELL, _background(SEQUENTIAL[_level(along[key], len(SEQUENTIAL))]))
            else:
                line.append(_percent(weight).rjust(size))
        if window.ending:
            line.append(f"  {largest(shown, query, t)}", "bold" if query == row else "")
        yield line


def ending_size(shown: HeadMap, t: Catalog) -> int:
    """Return how many columns the largest weights take at the ends of the lines."""
    return 2 + max(cell_len(largest(shown, query, t)) for query in range(len(shown.labels)))


def largest(shown: HeadMap, query: int, t: Catalog) -> str:
    """Return the label of the key that a query looks at most, and the weight."""
    weights = shown.weights[query]
    if np.isnan(weights).any():
        return UNDEFINED
    key = int(weights.argmax())
    return f"→ {fitted(shown.labels[key], min(LABEL_CELLS, cell_len(shown.labels[key])))} {t.percent(weights[key])}"


def legend(scale: str, top: float, *, colored: bool, t: Catalog) -> Text:
    """Return the line that explains the colors, or the numbers."""
    if not colored:
        return Text(t.text("show.numbers"))
    low, high = t.percent(0), t.percent(top) if top == 1 else f"≥ {t.percent(top)}"
    if scale == "log":
        low, high = f"≤ {t.percent(FAINTEST, 1)}", t.percent(1)
    elif scale == "row":
        high = t.text("show.row_largest")
    line = Text(f"{low} ")
    for i in range(BAR_CELLS):
        line.append(" ", _background(SEQUENTIAL[_level(i / (BAR_CELLS - 1), len(SEQUENTIAL))]))
    return line.append(f" {high}")


def map_lines(values: Floats, unit: str, width: int, *, signed: bool, colored: bool, t: Catalog) -> Iterator[Text]:
    """Yield the lines of a layer × head map, `values` ``[layers, heads]``; heads beyond `width` columns come below."""
    layers, heads = values.shape
    numbers = [[number(float(value), unit, t, signed=signed) for value in row] for row in values]
    cells = 1 + max(len(f"H{heads}"), max(len(text) for row in numbers for text in row))
    styles = map_styles(values, signed=signed, colored=colored)
    step = max(1, (width - _layer_cells(layers)) // cells)
    for start in range(0, heads, step):
        block = range(start, min(start + step, heads))
        yield _heads_line(layers, block, cells)
        for layer in range(layers):
            line = _layer_start(layer, layers)
            for head in block:
                line.append(numbers[layer][head].rjust(cells), styles[layer][head])
            yield line


def small_map_lines(values: Floats, *, signed: bool, colored: bool, chosen: Head) -> Iterator[Text]:
    """Yield the lines of a layer × head map without numbers: colors, or shades of gray; `chosen` is in brackets."""
    layers, heads = values.shape
    styles = map_styles(values, signed=signed, colored=colored)
    levels = _levels(values, len(SHADES), signed)
    numbers = "".join(str(head + 1).rjust(MAP_CELL) for head in range(heads))
    yield Text(" " * _layer_cells(layers) + numbers, "bold")
    for layer in range(layers):
        line = _layer_start(layer, layers)
        for head in range(heads):
            inner = UNDEFINED if np.isnan(values[layer, head]) else " " if colored else SHADES[levels[layer, head]]
            cell = f"[{inner}]" if (layer, head) == chosen else inner * MAP_CELL
            line.append(cell, styles[layer][head] + Style(bold=(layer, head) == chosen))
        yield line


def map_styles(values: Floats, *, signed: bool, colored: bool) -> list[list[Style]]:
    """Return the style of every head of a map: the report's color, nothing where there are no colors or no value."""
    palette = light_diverging() if signed else light_sequential()
    levels = _levels(values, len(palette), signed)
    plain = ~np.isfinite(values) if colored else np.ones_like(values, dtype=bool)
    return [
        [Style() if bare else _background(palette[level]) for level, bare in zip(*row, strict=True)]
        for row in zip(levels, plain, strict=True)
    ]


def _heads_line(layers: int, heads: range, cells: int) -> Text:
    return Text(" " * _layer_cells(layers) + "".join(f"H{head + 1}".rjust(cells) for head in heads), "bold")


def _layer_start(layer: int, layers: int) -> Text:
    return Text.assemble((layer_name(layer).ljust(_layer_cells(layers)), "bold"))


def _layer_cells(layers: int) -> int:
    return len(layer_name(layers - 1)) + 1


def column_labels(labels: Sequence[str], indent: int, cells: int) -> Iterator[Text]:
    """Yield labels written from top to bottom, a character a line, ending on the last line."""
    stacks = [_stack(label) for label in labels]
    height = max(map(len, stacks))
    padded = [[""] * (height - len(stack)) + stack for stack in stacks]
    for line in zip(*padded, strict=True):
        yield Text(" " * indent + "".join(" " * max(0, cells - cell_len(part)) + part for part in line))


def _stack(label: str) -> list[str]:
    clusters: list[str] = [cluster if cell_len(cluster) else " " for cluster in CLUSTER.findall(label)]
    return clusters if len(clusters) <= COLUMN_LABEL else [*clusters[: COLUMN_LABEL - 1], "…"]


def _percent(weight: float) -> str:
    if np.isnan(weight):
        return UNDEFINED
    return SMALL if weight < LEAST_SHOWN else str(round(100 * weight))


def _levels(values: Floats, count: int, signed: bool) -> NDArray[np.int64]:
    """Return the level of every value on a scale from 0, or from as far below zero as above it."""
    reach = float(np.abs(np.nan_to_num(values)).max()) or 1.0
    low = -reach if signed else 0.0
    levels: NDArray[np.int64] = np.rint(np.nan_to_num((values - low) / (reach - low)).clip(0, 1) * (count - 1))
    return levels.astype(np.int64)


def _level(share: float, count: int) -> int:
    return round(float(share) * (count - 1))


@cache
def _background(rgb: Rgb) -> Style:
    ink = INK if ink_on(rgb) == "dark" else WHITE
    return Style.parse(f"{css(ink)} on {css(rgb)}")
