"""The layer × head maps: one statistic of all heads, as colored cells with numbers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnx.i18n import Catalog
from attnx.naming import head_name, layer_name
from attnx.report.colors import DIVERGING, READABLE_CONTRAST, SEQUENTIAL, SIDE_LEVELS, Rgb, contrast, css
from attnx.report.figures import data_uri, palette_png, scale_bar_png
from attnx.statistics import REGISTRY
from attnx.statistics.scores import Floats

FIGURE_SPACE = "\u2007"  # as wide as a digit
INK: Rgb = (23, 33, 43)
# In em of the numbers' type size: what a number with its space takes, and the widths of a half and of a whole page.
CELL_EM, NUMBER_EM, HALF_EM, WHOLE_EM = 2.8, 2.3, 33.6, 72.0

# Which maps a report shows, in this order. Positions and shapes are best seen without special tokens.
SHOWN = (
    ("self_share", "content"),
    ("previous_share", "content"),
    ("next_share", "content"),
    ("special_share", "all"),
    ("sink", "all"),
    ("punctuation_share", "content"),
    ("normalized_entropy", "content"),
    ("confidence", "content"),
    ("distance", "content"),
    ("signed_distance", "content"),
)


@dataclass(frozen=True)
class Cell:
    """One head in a map: its number as written, and the style class of its color."""

    number: str
    color: str


@dataclass(frozen=True)
class GridView:
    """One layer × head map, ready for the template. Lengths are in em of the map's own type size.

    `rows` are layers of cells; `image` is the same as a picture of one pixel a head, and `bar` the color scale
    that runs from `low` to `high`.
    """

    name: str
    scope: str
    unit: str
    alt: str
    heads: tuple[str, ...]
    layers: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    image: str
    bar: str
    low: str
    high: str
    wide: bool
    cell: str
    width: str
    indent: str
    scale: str


def grids(scopes: Mapping[str, Mapping[str, Floats]], t: Catalog) -> tuple[GridView, ...]:
    """Return the main maps; a statistic that is undefined, or the same for all heads, has none.

    `scopes` maps a scope to its statistics by name, ``[layers, heads]``.
    """
    shown = ((name, scope, scopes[scope][name]) for name, scope in SHOWN)
    return tuple(
        grid(
            t.text(f"statistics.{name}.name"),
            t.text(f"scopes.{scope}"),
            values,
            REGISTRY[name].unit,
            t,
            signed=name == "signed_distance",
        )
        for name, scope, values in shown
        if np.isfinite(values).any() and np.nanmin(values) < np.nanmax(values)
    )


def number(value: float, unit: str, t: Catalog, *, signed: bool = False) -> str:
    """Write a score as the maps and tables do: percent without the sign, or decimals; a dash where undefined."""
    if math.isnan(value):
        return t.text("table.undefined")
    text = t.decimal(100 * value, 0) if unit == "share" else t.decimal(value, 1 if unit == "tokens" else 2)
    is_zero = not text.strip("0.,")
    return f"+{text}" if signed and value > 0 and not is_zero else text


def color_classes() -> tuple[tuple[str, str], ...]:
    """Return the style class and the CSS color of every level of the two palettes."""
    palettes = (("s", light_sequential()), ("d", light_diverging()))
    return tuple((f"{kind}{level}", css(rgb)) for kind, palette in palettes for level, rgb in enumerate(palette))


def light_sequential() -> tuple[Rgb, ...]:
    """Return the part of the sequential palette on which dark numbers are easy to read."""
    return tuple(rgb for rgb in SEQUENTIAL if contrast(rgb, INK) >= READABLE_CONTRAST)


def light_diverging() -> tuple[Rgb, ...]:
    """Return the middle of the diverging palette, as far as dark numbers are easy to read on both sides."""
    reach = next(
        step
        for step in range(SIDE_LEVELS, 0, -1)
        if all(contrast(DIVERGING[SIDE_LEVELS + side * step], INK) >= READABLE_CONTRAST for side in (-1, 1))
    )
    return DIVERGING[SIDE_LEVELS - reach : SIDE_LEVELS + reach + 1]


def grid(name: str, scope: str, values: Floats, unit: str, t: Catalog, *, signed: bool) -> GridView:
    """Return the map of `values`, ``[layers, heads]``, of which one at least is defined; `unit` is one of ``units``."""
    low, high = _bounds(values, signed)
    palette = light_diverging() if signed else light_sequential()
    levels = _levels(values, low, high, len(palette))
    numbers = [[number(value, unit, t, signed=signed) for value in row] for row in values]
    longest = max(len(text) for row in numbers for text in row)
    layers, heads = values.shape
    wide = heads * NUMBER_EM > HALF_EM
    cell = min(CELL_EM, (WHOLE_EM if wide else HALF_EM) / heads)
    lowest, highest = (np.unravel_index(pick(values), values.shape) for pick in (np.nanargmin, np.nanargmax))
    return GridView(
        name=name,
        scope=scope,
        unit=t.text(f"units.{unit}"),
        alt=t.text(
            "maps.alt",
            name=name,
            low=number(values[lowest], unit, t),
            low_head=head_name(*map(int, lowest)),
            high=number(values[highest], unit, t),
            high_head=head_name(*map(int, highest)),
        ),
        heads=tuple(f"H{head + 1}".ljust(len(f"H{heads}"), FIGURE_SPACE) for head in range(heads)),
        layers=tuple(layer_name(layer) for layer in range(layers)),
        rows=tuple(
            tuple(
                Cell(text.rjust(longest, FIGURE_SPACE), f"{'d' if signed else 's'}{level}")
                for text, level in zip(texts, row, strict=True)
            )
            for texts, row in zip(numbers, levels.tolist(), strict=True)
        ),
        image=data_uri(palette_png(levels, palette)),
        bar=data_uri(scale_bar_png(palette)),
        low=number(low, unit, t, signed=signed),
        high=number(high, unit, t, signed=signed),
        wide=wide,
        cell=f"{cell:.3f}em",
        width=f"{cell * heads:.3f}em",
        indent=f"{max(cell - 0.555 * longest, 0) / 2:.3f}em",
        scale=f"{min(1, cell / NUMBER_EM):.3f}em",
    )


def _bounds(values: Floats, signed: bool) -> tuple[float, float]:
    """Return the ends of a map's scale: from 0, or as far below zero as above it."""
    largest = float(np.nanmax(np.abs(values))) or 1.0
    return (-largest if signed else 0.0), largest


def _levels(values: Floats, low: float, high: float, count: int) -> NDArray[np.uint8]:
    share = np.nan_to_num((values - low) / (high - low))
    levels: NDArray[np.uint8] = np.rint(share.clip(0, 1) * (count - 1)).astype(np.uint8)
    return levels
