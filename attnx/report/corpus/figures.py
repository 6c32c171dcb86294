"""The pictures of a corpus report that are not maps: points between two axes, histograms, matrices."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from attnx.i18n import Catalog
from attnx.report.colors import SEQUENTIAL, WHITE, Rgb, oklab_to_rgb
from attnx.report.figures import drawing_font, palette_png, quantized_png
from attnx.statistics.scores import Floats

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

# Of a plot, in pixels; on paper it is about 110 mm wide.
WIDTH, HEIGHT = 1320, 840
LEFT, RIGHT, TOP, BOTTOM = 110, 40, 70, 100
EM = 32
DOT = 9
DASHES = 40
INK: Rgb = (23, 33, 43)
MUTED: Rgb = (90, 103, 115)
FAINT: Rgb = (216, 222, 227)
COLORS = 32  # of a plot, so that it stays small
STEPS = tuple(digit * 10.0**power for power in range(-4, 6) for digit in (1, 2, 5))
MOST_TICKS = 6
# Of a histogram.
BINS, BARS = 30, 14
# Of the profiles by relative position.
PROFILE_QUANTILE, STRIP_HEIGHT = 0.99, 17
# The darkest colors would hide the lines of a matrix, and the lightest a point on white.
POINT_COLORS = SEQUENTIAL[14:60]
# What a head follows, in the order of QUADRANTS; light, since dark signs stand on it. The last is for the undefined.
QUADRANT_HUES = {"position": 250, "content": 60, "sink": None, "broad": 150, "mixed": 320}


@dataclass(frozen=True)
class Axis:
    """An axis: its name, its ends, where it has ticks and what they say, and where a threshold is marked."""

    name: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    marks: tuple[float, ...] = ()


@dataclass(frozen=True)
class Points:
    """Some points of one color: filled, as rings, or as a `sign`; `joined` by a line from one to the next."""

    x: Floats
    y: Floats
    color: Rgb
    filled: bool = True
    joined: bool = False
    sign: str = ""


def plot_png(x: Axis, y: Axis, series: Sequence[Points]) -> bytes:
    """Return a picture of points between two axes."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (WIDTH, HEIGHT), WHITE)
    draw = ImageDraw.Draw(image)
    plane = _Plane(x, y)
    _draw_axes(draw, plane)
    for points in series:
        _draw_points(draw, plane, points)
    return quantized_png(image, COLORS)


@dataclass(frozen=True)
class _Plane:
    """The plane between two axes."""

    x: Axis
    y: Axis

    def place(self, a: float, b: float) -> tuple[float, float]:
        """Return the pixel of a point."""
        across = (a - self.x.low) / (self.x.high - self.x.low)
        up = (b - self.y.low) / (self.y.high - self.y.low)
        return LEFT + across * (WIDTH - RIGHT - LEFT), HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - TOP)


def _draw_axes(draw: "ImageDraw", plane: _Plane) -> None:
    """Draw a line for every tick, dashes for every mark, and what they say."""
    x, y, font = plane.x, plane.y, drawing_font(EM)
    for value, text in x.ticks:
        draw.line([plane.place(value, y.low), plane.place(value, y.high)], FAINT, 2)
        draw.text((plane.place(value, y.low)[0], HEIGHT - BOTTOM + 10), text, fill=MUTED, font=font, anchor="ma")
    for value, text in y.ticks:
        draw.line([plane.place(x.low, value), plane.place(x.high, value)], FAINT, 2)
        draw.text((LEFT - 14, plane.place(x.low, value)[1]), text, fill=MUTED, font=font, anchor="rm")
    for first, last in ((dash / DASHES, (dash + 0.5) / DASHES) for dash in range(DASHES)):
        ends = [(x.low + part * (x.high - x.low), y.low + part * (y.high - y.low)) for part in (first, last)]
        for mark in x.marks:
            draw.line([plane.place(mark, b) for _, b in ends], MUTED, 3)
        for mark in y.marks:
            draw.line([plane.place(a, mark) for a, _ in ends], MUTED, 3)
    draw.text((WIDTH - RIGHT, HEIGHT - 4), x.name, fill=INK, font=font, anchor="rd")
    draw.text((10, 8), y.name, fill=INK, font=font, anchor="la")


def _draw_points(draw: "ImageDraw", plane: _Plane, points: Points) -> None:
    places = [plane.place(a, b) for a, b in zip(points.x, points.y, strict=True) if np.isfinite(a + b)]
    if points.joined and len(places) > 1:
        draw.line(places, points.color, 4)
    for a, b in places:
        if points.sign:
            draw.text((a, b), points.sign, fill=points.color, font=drawing_font(EM), anchor="mm")
            continue
        box = (a - DOT, b - DOT, a + DOT, b + DOT)
        draw.ellipse(box, fill=points.color if points.filled else WHITE, outline=points.color, width=3)


def value_axis(name: str, values: Floats, t: Catalog, *, marks: tuple[float, ...] = ()) -> Axis:
    """Return an axis from 0, or from below where a value is, that ends at round numbers and holds values and marks."""
    finite = values[np.isfinite(values)]
    highest = max((*finite.tolist(), *marks, 1e-3))
    lowest = min((*finite.tolist(), 0.0))
    step = next(step for step in STEPS if (highest - lowest) / step <= MOST_TICKS)
    first, last = int(np.floor(lowest / step)), int(np.ceil(highest / step))
    digits = max(0, -int(np.floor(np.log10(step))))
    ticks = tuple((i * step, t.decimal(i * step, digits)) for i in range(first, last + 1))
    return Axis(name, first * step, last * step, ticks, marks)


def histogram_png(values: Floats) -> bytes:
    """Return a histogram of the defined values between the smallest and the largest, a pixel a column and step."""
    counts, _ = np.histogram(values[np.isfinite(values)], BINS)
    heights = np.ceil(counts / counts.max() * BARS)
    filled = np.arange(BARS, 0, -1)[:, None] <= heights
    return palette_png(filled.astype(np.uint8), (SEQUENTIAL[3], SEQUENTIAL[38]))


def matrix_png(matrix: Floats, top: float, gap: int) -> bytes:
    """Return a matrix as a picture, a pixel a value, dark for `top` and above.

    White lines part every `gap` rows and columns. What is not defined is white.
    """
    levels = np.rint(np.nan_to_num(matrix / top).clip(0, 1) * (len(SEQUENTIAL) - 1)).astype(np.int64)
    levels[np.isnan(matrix)] = len(SEQUENTIAL)
    edges = np.arange(gap, len(matrix), gap)
    for axis in (0, 1):
        levels = np.insert(levels, edges, len(SEQUENTIAL), axis=axis)
    return palette_png(levels, (*SEQUENTIAL, WHITE))


def profiles_png(values: Floats) -> tuple[bytes, float]:
    """Return the profiles ``[L, H, K]`` as one picture and the weight of its darkest color.

    A row a layer, a column a head; each profile is a strip of K × 17 pixels, with white between them.
    """
    layers, heads, offsets = values.shape
    top = min(1.0, float(np.nanquantile(values, PROFILE_QUANTILE)) or 1.0)
    levels = np.rint(np.nan_to_num(values / top).clip(0, 1) * (len(SEQUENTIAL) - 1)).astype(np.int64)
    strips = np.repeat(levels[:, None], STRIP_HEIGHT, axis=1)
    cells = np.pad(strips, ((0, 0), (0, 1), (0, 0), (0, 2)), constant_values=len(SEQUENTIAL))
    picture = cells.reshape(layers * (STRIP_HEIGHT + 1), heads * (offsets + 2))
    return palette_png(picture[:-1, :-2], (*SEQUENTIAL, WHITE)), top


def layer_color(layer: int, layers: int) -> Rgb:
    """Return the color of a layer's points, darker with depth."""
    return POINT_COLORS[round(layer / max(layers - 1, 1) * (len(POINT_COLORS) - 1))]


def quadrant_colors(names: Sequence[str]) -> tuple[Rgb, ...]:
    """Return the color of each of the quadrants `names`, then white for a head of none."""
    return (*(_light(QUADRANT_HUES[name]) for name in names), WHITE)


def _light(hue: int | None) -> Rgb:
    if hue is None:
        return FAINT
    angle = np.radians(hue)
    return oklab_to_rgb(0.89, 0.042 * float(np.cos(angle)), 0.042 * float(np.sin(angle)))
