"""The pictures of a report as PNG bytes: one pixel a weight, enlarged by CSS (``image-rendering: pixelated``).

An indexed picture of 16 × 16 weights takes about 400 bytes, and WeasyPrint places it in 2 ms; the same
heatmap as vector rectangles takes a hundred times both. The token labels are two more pictures, drawn
once a sentence and shared by all its heads.
"""

import base64
import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnx.report.colors import LEVELS, SEQUENTIAL, WHITE, Rgb
from attnx.report.fonts import display_label, font_path

if TYPE_CHECKING:
    from PIL.Image import Image as Picture
    from PIL.ImageFont import FreeTypeFont

Bytes = NDArray[np.uint8]

# Above this many cells along a side, a head in the overview is reduced by averaging blocks.
OVERVIEW_CELLS = 24
# and a heatmap by the largest weight of each block: more would be smaller than a dot of a screen or of most printers.
HEATMAP_CELLS = 256
# On a heatmap 44 mm wide, more labels than this are smaller than 4 points.
MAX_LABELS = 28
MAX_TICKS = 10
TICK_STEPS = tuple(digit * 10**power for power in range(6) for digit in (1, 2, 5))
# Pixels along the heatmap's side in a label strip: 520 dots an inch at 44 mm.
STRIP_SIDE = 900
# Type sizes, in shares of a cell (labels) and of the heatmap's side (upper limit; ticks).
EM_OF_CELL = 0.84
MAX_EM = 0.062
TICK_EM = 0.045
# The rest in em: space to the heatmap, longest label, height of the visual middle over the baseline.
GAP = 0.4
MAX_LENGTH = 10.0
MIDDLE = 0.37
# and the height of a line of text, and the room for what juts out at its ends.
LINE = 1.3
MARGIN = 0.08
# In pixels.
TICK_WIDTH = 3
INK = SEQUENTIAL[-1]
OPACITIES = 4
# zlib's level 9 takes up to six times as long for the last 3 percent.
COMPRESSION = 6


@dataclass(frozen=True)
class LabelFrame:
    """The token labels of a heatmap: a PNG, ink on transparent, to lie under it and stick out left and above.

    `row_width` and `column_height` say by how much, in shares of the heatmap's side. `numbered` says that the tokens
    were too many to name and the frame shows position numbers, counted from 1.
    """

    png: bytes
    row_width: float
    column_height: float
    numbered: bool


def heatmap_png(weights: Bytes, top: float) -> bytes:
    """Return one head's map, a pixel a weight or, of many, a block of them (`block_size`), query rows downward.

    `weights` is uint8 ``[query, key]`` with 255 for a weight of 1; `top` (0 < top <= 1) is the weight that takes the
    darkest color, the scale is linear from 0 and larger weights stay at the darkest.
    """
    return _indexed_png(_color_levels(top)[_pooled(weights)], SEQUENTIAL)


def levels_png(weights: Bytes, top: float) -> bytes:
    """Return the same map with its color levels as shades of gray, for the PDF to color: see `pdf.finish`.

    Lightly compressed, since WeasyPrint compresses it anew.
    """
    from PIL import Image

    file = BytesIO()
    Image.fromarray(_color_levels(top)[_pooled(weights)]).save(file, "PNG", compress_level=1)
    return file.getvalue()


def overview_png(maps: Bytes, top: float) -> bytes:
    """Return all heads in one picture: a row a layer, a column a head, one white pixel between heads.

    `maps` is uint8 ``[layers, heads, T, T]``, scaled as in `heatmap_png`. A head of more than 24 tokens is reduced
    to at most 24 × 24 by the mean of square blocks.
    """
    block = -(-maps.shape[-1] // OVERVIEW_CELLS)
    starts = np.arange(0, maps.shape[-1], block)
    sums = np.add.reduceat(np.add.reduceat(maps, starts, axis=3, dtype=np.uint32), starts, axis=2, dtype=np.uint32)
    sizes = np.diff(starts, append=maps.shape[-1])
    means = np.rint(sums / np.outer(sizes, sizes)).astype(np.uint8)
    cells = np.pad(_color_levels(top)[means], ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=LEVELS)
    layers, heads, height, width = cells.shape
    picture = cells.transpose(0, 2, 1, 3).reshape(layers * height, heads * width)
    return _indexed_png(picture[:-1, :-1], (*SEQUENTIAL, WHITE))


def block_size(tokens: int) -> int:
    """Return how many tokens along a side share a pixel of a heatmap: 1 up to 256 tokens, 2 up to 512, and so on."""
    return -(-tokens // HEATMAP_CELLS)


def _pooled(weights: Bytes) -> Bytes:
    """Return the largest weight of each block, so that a thin line of large weights stays a line."""
    block = block_size(len(weights))
    if block == 1:
        return weights
    padded = np.pad(weights, (0, -len(weights) % block))
    rows: Bytes = np.maximum.reduce([padded[start::block] for start in range(block)])
    cells: Bytes = np.maximum.reduce([rows[:, start::block] for start in range(block)])
    return cells


def palette_png(levels: NDArray[np.integer], palette: Sequence[Rgb]) -> bytes:
    """Return a picture of palette indices, a pixel each: integers ``[height, width]`` below ``len(palette)``."""
    return _indexed_png(levels.astype(np.uint8), palette)


def scale_bar_png(palette: Sequence[Rgb] = SEQUENTIAL) -> bytes:
    """Return a color map as a picture one pixel high, lowest value left."""
    return palette_png(np.arange(len(palette))[np.newaxis], palette)


def data_uri(png: bytes) -> str:
    """Return a PNG as a ``data:`` URI."""
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def label_frame(labels: Sequence[str]) -> LabelFrame:
    """Draw the token labels beside a square heatmap of ``len(labels)`` cells a side, in one type size.

    Row labels end at the heatmap. Column labels stand upright where all fit their cells; otherwise they are turned
    to read upward, except Han text, which is stacked. More than 28 tokens are numbered instead of named.
    """
    count = len(labels)
    cell = max(1, round(STRIP_SIDE / count))
    side = cell * count
    numbered = count > MAX_LABELS
    em = round(TICK_EM * side if numbered else min(EM_OF_CELL * cell, MAX_EM * side))
    if numbered:
        named = [(position - 1, str(position)) for position in _tick_positions(count)]
    else:
        named = [(index, _cut(display_label(label), em)) for index, label in enumerate(labels)]
    texts = [text for _, text in named]
    centers = [cell * index + cell // 2 for index, _ in named]
    rows = [_drawing(text, em) for text in texts]
    upright = numbered or max(row.shape[1] for row in rows) <= cell
    columns = rows if upright else [_upward(text, em) for text in texts]
    # A row label is a column label mirrored at the diagonal: what was its right end is now its lower end.
    row_strip = _strip([row.T for row in rows], centers, side, em, ticks=numbered).T
    column_strip = _strip(columns, centers, side, em, ticks=numbered)
    frame = np.zeros((column_strip.shape[0] + side, row_strip.shape[1] + side), np.uint8)
    frame[-side:, :-side] = row_strip
    frame[:-side, -side:] = column_strip
    return LabelFrame(
        png=_ink_png(frame),
        row_width=row_strip.shape[1] / side,
        column_height=column_strip.shape[0] / side,
        numbered=numbered,
    )


def _tick_positions(count: int) -> list[int]:
    """Return 1 and the multiples of a round step up to `count`, at most `MAX_TICKS` of them besides the 1."""
    step = next(step for step in TICK_STEPS if count // step <= MAX_TICKS)
    return sorted({1, *range(step, count + 1, step)})


def _strip(drawings: Sequence[Bytes], centers: Sequence[int], side: int, em: int, *, ticks: bool) -> Bytes:
    """Stand the drawings on a strip's lower edge, the heatmap's, each over its center or as near as fits."""
    gap = round(GAP * em)
    strip = np.zeros((max(drawing.shape[0] for drawing in drawings) + gap, side), np.uint8)
    for drawing, center in zip(drawings, centers, strict=True):
        height, width = drawing.shape
        left = min(max(center - width // 2, 0), side - width)
        place = strip[strip.shape[0] - gap - height : strip.shape[0] - gap, left : left + width]
        np.maximum(place, drawing, out=place)
        if ticks:
            strip[-gap:, max(center - TICK_WIDTH // 2, 0) :][:, :TICK_WIDTH] = 255
    return strip


def _upward(text: str, em: int) -> Bytes:
    """Draw a column label too long for its cell: Han characters one below the other, anything else reading upward."""
    if text and all(unicodedata.east_asian_width(character) in "WF" for character in text):
        return np.concatenate([_drawing(character, em, line=1.04) for character in text])
    return np.rot90(_drawing(text, em))


def _drawing(text: str, em: int, line: float = LINE) -> Bytes:
    """Draw one line of text: coverage 0..255, its visual middle in the middle of a box `line` em high."""
    from PIL import Image, ImageDraw

    font = drawing_font(em)
    height = round(line * em)
    image = Image.new("L", (math.ceil(font.getlength(text) + 2 * MARGIN * em), height))
    baseline = height / 2 + MIDDLE * em
    ImageDraw.Draw(image).text((MARGIN * em, baseline), text, fill=255, font=font, anchor="ls")
    return np.asarray(image, np.uint8)


def _cut(text: str, em: int) -> str:
    """Shorten a text to `MAX_LENGTH` em, an ellipsis included."""
    font = drawing_font(em)
    limit = MAX_LENGTH * em
    if font.getlength(text) <= limit:
        return text
    while font.getlength(text + "…") > limit:
        text = text[:-1]
    return text + "…"


@cache
def drawing_font(em: int) -> "FreeTypeFont":
    """Return the report's font for drawing, `em` pixels high."""
    from PIL import ImageFont

    return ImageFont.truetype(font_path(), em, layout_engine=ImageFont.Layout.BASIC)


@cache
def _color_levels(top: float) -> Bytes:
    """Return the color level of each of the 256 stored weights."""
    shares = np.arange(256) / 255 / top
    levels: Bytes = np.rint(np.minimum(shares, 1) * (LEVELS - 1)).astype(np.uint8)
    return levels


def _ink_png(coverage: Bytes) -> bytes:
    """Return a drawing as ink of 4 opacities on a transparent ground."""
    levels = np.rint(coverage * ((OPACITIES - 1) / 255)).astype(np.uint8)
    return _indexed_png(levels, [INK] * OPACITIES, [level * 255 // (OPACITIES - 1) for level in range(OPACITIES)])


def quantized_png(picture: "Picture", colors: int) -> bytes:
    """Return a drawing as an indexed PNG of at most `colors` colors."""
    file = BytesIO()
    picture.quantize(colors).save(file, "PNG", compress_level=COMPRESSION)
    return file.getvalue()


def _indexed_png(pixels: Bytes, palette: Sequence[Rgb], opacities: Sequence[int] = ()) -> bytes:
    """Return an indexed PNG with only the colors and the bits a pixel that it needs."""
    from PIL import Image

    is_used = np.bincount(pixels.ravel(), minlength=256) > 0
    used: list[int] = np.flatnonzero(is_used).tolist()
    indices = (np.cumsum(is_used) - 1).astype(np.uint8)[pixels]
    image = Image.frombytes("P", pixels.shape[::-1], indices.tobytes())
    image.putpalette(bytes(part for index in used for part in palette[index]))
    options: dict[str, bytes] = {"transparency": bytes(opacities[index] for index in used)} if opacities else {}
    bits = next(bits for bits in (1, 2, 4, 8) if len(used) <= 1 << bits)
    file = BytesIO()
    image.save(file, "PNG", bits=bits, compress_level=COMPRESSION, **options)
    return file.getvalue()
