from base64 import b64encode
from io import BytesIO

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from attnx.report.colors import DIVERGING, SEQUENTIAL, WHITE, Rgb
from attnx.report.figures import (
    LabelFrame,
    data_uri,
    heatmap_png,
    label_frame,
    overview_png,
    palette_png,
    scale_bar_png,
)

Pixels = NDArray[np.uint8]

RUSSIAN = [
    "<s>",
    "Мама",
    "мыла",
    "раму",
    ",",
    "а",
    "папа",
    "читал",
    "свежую",
    "газету",
    "и",
    "пил",
    "горячий",
    "чай",
    ".",
    "</s>",
]
HAN = list("今天天气很好我们去北京吧")


def picture(png: bytes) -> Pixels:
    """The picture's RGB, uint8 [height, width, 3]."""
    return np.asarray(Image.open(BytesIO(png)).convert("RGB"))


def coverage(png: bytes) -> Pixels:
    """A picture's ink, uint8 [height, width]."""
    return np.asarray(Image.open(BytesIO(png)).convert("RGBA"))[:, :, 3]


def strips(frame: LabelFrame) -> tuple[Pixels, Pixels]:
    """The ink of the row labels and of the column labels, cut from the frame by its stated sizes."""
    ink = coverage(frame.png)
    left = round(ink.shape[1] * frame.row_width / (1 + frame.row_width))
    top = round(ink.shape[0] * frame.column_height / (1 + frame.column_height))
    assert not ink[:top, :left].any()
    assert not ink[top:, left:].any()
    return ink[top:, :left], ink[:top, left:]


def ink_box(ink: Pixels) -> Pixels:
    """The smallest array that holds all ink."""
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    return ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def ink_runs(ink: Pixels) -> list[tuple[int, int]]:
    """(first, last) of each run of inked positions along the first axis."""
    inked = np.flatnonzero(np.diff(np.pad(ink.any(axis=1), 1).astype(int)))
    return [(start, end - 1) for start, end in inked.reshape(-1, 2)]


def some_weights(tokens: int) -> Pixels:
    weights = np.random.default_rng(0).dirichlet(np.full(tokens, 0.15), tokens)
    return np.rint(weights * 255).astype(np.uint8)


def test_heatmap_has_a_pixel_a_weight_on_a_linear_scale() -> None:
    weights = np.array([[0, 51, 102], [204, 255, 34]], np.uint8)
    pixels = picture(heatmap_png(weights, top=0.4))
    levels = [[0, 32, 63], [63, 63, 21]]  # 63 × weight / 0.4, at most 63; 51 is a weight of 0.2
    assert pixels.shape == (2, 3, 3)
    np.testing.assert_array_equal(pixels, np.array(SEQUENTIAL)[levels])


def test_heatmap_is_small() -> None:
    assert len(heatmap_png(some_weights(16), top=0.6)) < 450
    assert len(heatmap_png(np.eye(16, dtype=np.uint8) * 255, top=1.0)) < 130


def test_overview_places_heads_in_rows_of_layers_with_white_gutters() -> None:
    maps = np.zeros((2, 3, 2, 2), np.uint8)
    maps[1, 2] = [[255, 0], [0, 51]]
    pixels = picture(overview_png(maps, top=1.0))
    assert pixels.shape == (5, 8, 3)
    head = np.array(SEQUENTIAL)[[[63, 0], [0, 13]]]
    np.testing.assert_array_equal(pixels[3:, 6:], head)
    assert (pixels[2] == WHITE).all()
    assert (pixels[:, [2, 5]] == WHITE).all()
    assert (pixels[:2, :2] == SEQUENTIAL[0]).all()


def test_overview_averages_blocks_of_long_sentences() -> None:
    maps = np.full((1, 2, 50, 50), 85, np.uint8)  # blocks of 3: 16 full ones and one of 2
    maps[0, 1] = 0
    maps[0, 1, :3, 0] = 255  # a third of the first block
    maps[0, 1, 48:, 48] = 255  # half of the last block, 2 × 2
    pixels = picture(overview_png(maps, top=1.0))
    assert pixels.shape == (17, 35, 3)
    assert (pixels[:, :17] == SEQUENTIAL[21]).all()
    np.testing.assert_array_equal(pixels[0, 18], SEQUENTIAL[21])
    np.testing.assert_array_equal(pixels[16, 34], SEQUENTIAL[32])
    np.testing.assert_array_equal(pixels[8, 26], SEQUENTIAL[0])


@pytest.mark.parametrize("palette", [SEQUENTIAL, DIVERGING])
def test_scale_bar_shows_the_palette(palette: tuple[Rgb, ...]) -> None:
    np.testing.assert_array_equal(picture(scale_bar_png(palette)), [palette])


def test_palette_png_shows_palette_indices() -> None:
    pixels = picture(palette_png(np.array([[0, 64], [32, 1]]), DIVERGING))
    np.testing.assert_array_equal(pixels, np.array(DIVERGING)[[[0, 64], [32, 1]]])


def test_data_uri_holds_the_png() -> None:
    png = scale_bar_png()
    assert data_uri(png) == "data:image/png;base64," + b64encode(png).decode()


def test_strips_are_as_long_as_the_heatmap_and_their_thickness_is_told() -> None:
    frame = label_frame(RUSSIAN)
    rows, columns = strips(frame)
    assert rows.shape[0] == columns.shape[1]
    assert rows.shape[0] % len(RUSSIAN) == 0
    assert frame.row_width == pytest.approx(rows.shape[1] / rows.shape[0])
    assert frame.column_height == pytest.approx(columns.shape[0] / columns.shape[1])
    assert not frame.numbered


def test_the_frame_is_a_small_file() -> None:
    assert len(label_frame(RUSSIAN).png) < 24_000


def test_each_label_is_centered_on_its_cell() -> None:
    labels = list("中田日口回国圆因")  # their ink fills the em box evenly
    rows, columns = strips(label_frame(labels))
    cell = rows.shape[0] / len(labels)
    for runs in (ink_runs(rows), ink_runs(columns.T)):
        centers = [(first + last + 1) / 2 for first, last in runs]
        np.testing.assert_allclose(centers, cell * (np.arange(len(labels)) + 0.5), atol=0.04 * cell)


def test_no_label_is_clipped_and_rows_end_near_the_heatmap() -> None:
    rows, columns = strips(label_frame(["<s>", "Йёрд", "джентльмен", "gypsy", "ÄÉ", "天安门", "</s>"]))
    for ink in (rows, columns):
        assert not np.concatenate([ink[0], ink[-1], ink[:, 0], ink[:, -1]]).any()
    rightmost = [np.flatnonzero(row.any(axis=0))[-1] for row in np.split(rows, 7)]
    assert max(rightmost) - min(rightmost) < 12


def test_short_labels_stand_upright_in_the_same_size() -> None:
    rows, columns = strips(label_frame(HAN))
    for row, column in zip(np.split(rows, 12), np.split(columns, 12, axis=1), strict=True):
        np.testing.assert_array_equal(ink_box(row), ink_box(column))


def test_long_labels_read_upward_and_han_text_is_stacked() -> None:
    rows, columns = strips(label_frame(["мама", "北京", "раму"] * 5))
    cells = list(zip(np.split(rows, 15), np.split(columns, 15, axis=1), strict=True))
    for index in (0, 2):
        row, column = cells[index]
        np.testing.assert_array_equal(np.rot90(ink_box(row)), ink_box(column))
    han_row, han_column = (ink_box(ink) for ink in cells[1])
    assert han_column.shape[0] > 1.8 * han_column.shape[1]
    assert han_row.shape[1] > 1.8 * han_row.shape[0]


def test_long_labels_are_cut() -> None:
    assert label_frame(["достопримечательностями" * 5, "я"]).row_width < 0.7
    assert label_frame(["а" * 50, "я"]) == label_frame(["а" * 60, "я"])


def test_a_character_without_glyph_is_drawn_as_its_code_point() -> None:
    assert label_frame(["👍", "да"]) == label_frame(["U+1F44D", "да"])


@pytest.mark.parametrize(("count", "numbered"), [(1, False), (28, False), (29, True)])
def test_many_tokens_are_numbered(count: int, numbered: bool) -> None:
    assert label_frame(["да"] * count).numbered is numbered


@pytest.mark.parametrize(("count", "positions"), [(29, [1, 5, 10, 15, 20, 25]), (128, [1, 20, 40, 60, 80, 100, 120])])
def test_ticks_point_at_round_positions(count: int, positions: list[int]) -> None:
    rows, columns = strips(label_frame(["да"] * count))
    for ink in (rows[:, -1:], columns[-1:].T):
        cell = ink.shape[0] / count
        centers = [(first + last + 1) / 2 for first, last in ink_runs(ink)]
        np.testing.assert_allclose(centers, cell * (np.array(positions) - 0.5), atol=1)


def test_strips_of_the_longest_sentence_of_an_encoder() -> None:
    frame = label_frame(["да"] * 8192)
    assert frame.numbered
    assert frame.row_width < 0.2
