"""The pictures of a corpus report: what is drawn where."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from attnx.i18n import load_catalog
from attnx.report.colors import SEQUENTIAL, WHITE, contrast
from attnx.report.corpus.figures import (
    BARS,
    INK,
    Axis,
    Points,
    histogram_png,
    matrix_png,
    plot_png,
    profiles_png,
    quadrant_colors,
    value_axis,
)
from attnx.statistics.accumulators import QUADRANTS


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(BytesIO(png)).convert("RGB"))


def test_a_matrix_is_dark_where_it_is_large() -> None:
    matrix = np.array([[np.nan, 0.0, 2.0], [0.0, np.nan, 1.0], [2.0, 1.0, np.nan]])
    picture = pixels(matrix_png(matrix, 1.0, gap=2))
    assert picture.shape == (4, 4, 3)  # a white line after two rows and two columns
    assert tuple(picture[0, 0]) == WHITE
    assert tuple(picture[0, 1]) == SEQUENTIAL[0]
    assert tuple(picture[0, 3]) == tuple(picture[1, 3]) == SEQUENTIAL[-1]
    assert (picture[2] == 255).all()


def test_a_histogram_is_highest_where_most_are() -> None:
    values = np.array([[0.0, 0.0, 0.0], [1.0, 0.5, np.nan]])
    dark = pixels(histogram_png(values)).sum(-1) < 400
    heights = dark.sum(0)
    assert heights[0] == BARS
    assert heights[-1] == heights[15] == 5  # a third, rounded up
    assert (heights > 0).sum() == 3


def test_a_profile_is_dark_at_its_offset() -> None:
    values = np.zeros((1, 2, 5))
    values[0, 0, 1] = values[0, 1, 3] = 1
    png, top = profiles_png(values)
    picture = pixels(png)
    assert picture.shape == (17, 12, 3)
    assert top == pytest.approx(1)
    assert [tuple(picture[0, x]) == SEQUENTIAL[-1] for x in range(12)] == [x in (1, 10) for x in range(12)]


def test_a_point_is_drawn_at_its_place() -> None:
    axis = Axis("", 0, 1, ())
    picture = pixels(plot_png(axis, axis, [Points(np.array([0.5, np.nan]), np.array([0.5, 0.2]), (200, 0, 0))]))
    red = np.argwhere((picture[..., 0] > 150) & (picture[..., 1] < 60))
    height, width = picture.shape[:2]
    assert abs(red[:, 1].mean() - (110 + width - 40) / 2) < 2
    assert abs(red[:, 0].mean() - (70 + height - 100) / 2) < 2
    assert len(red) < 500


@pytest.mark.parametrize("values", [[0.0, 0.0], [0.2, 0.7], [-1.5, 3.0], [1e-5, 2e-5], [np.nan, 12345.0]])
def test_an_axis_holds_its_values_and_marks(values: list[float]) -> None:
    axis = value_axis("x", np.array(values), load_catalog("ru"), marks=(0.25,))
    finite = [value for value in values if np.isfinite(value)]
    assert axis.low <= min([*finite, 0])
    assert axis.high >= max([*finite, 0.25])
    assert 2 <= len(axis.ticks) <= 8
    assert len({text for _, text in axis.ticks}) == len(axis.ticks)


def test_signs_are_readable_on_every_color() -> None:
    colors = quadrant_colors(QUADRANTS)
    assert len(set(colors)) == len(QUADRANTS) + 1
    assert all(contrast(color, INK) > 9 for color in colors)
