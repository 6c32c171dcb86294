from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from attnx.report.colors import BLACK, DIVERGING, SEQUENTIAL, WHITE, Rgb, contrast, css, ink_on, oklab_to_rgb

Floats = NDArray[np.float64]

# Machado, Oliveira and Fernandes 2009, severity 1.0, for linear RGB.
COLOR_BLINDNESS = {
    "none": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def linear_rgb(palette: Sequence[Rgb]) -> Floats:
    shares = np.array(palette) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def oklab(linear: Floats) -> Floats:
    """OKLab of linear sRGB by the published forward matrices; the module holds only the inverse ones."""
    cone = linear @ np.array(
        [[0.4122214708, 0.2119034982, 0.0883024619], [0.5363325363, 0.6806995451, 0.2817188376],
         [0.0514459929, 0.1073969566, 0.6299787005]]
    )  # fmt: skip
    return np.cbrt(cone) @ np.array(
        [[0.2104542553, 1.9779984951, 0.0259040371], [0.7936177850, -2.4285922050, 0.7827717662],
         [-0.0040720468, 0.4505937099, -0.8086757660]]
    )  # fmt: skip


def test_sequential_lightness_falls_by_equal_steps() -> None:
    lightness = oklab(linear_rgb(SEQUENTIAL))[:, 0]
    steps = -np.diff(lightness)
    assert len(SEQUENTIAL) == 64
    assert lightness[0] > 0.98
    assert lightness[-1] < 0.21
    # Rounding to bytes moves a dark color by up to 0.003.
    np.testing.assert_allclose(steps, 0.785 / 63, atol=0.003)


def test_diverging_is_symmetric_in_lightness_and_opposite_in_hue() -> None:
    lab = oklab(linear_rgb(DIVERGING))
    assert len(DIVERGING) == 65
    np.testing.assert_allclose(lab[:, 0], lab[::-1, 0], atol=0.004)
    np.testing.assert_allclose(np.diff(lab[32:, 0]), -0.56 / 32, atol=0.003)
    assert np.hypot(*lab[32, 1:]) < 0.01
    assert (lab[:30, 2] < 0).all()
    assert (lab[35:, 2] > 0).all()


@pytest.mark.parametrize("vision", COLOR_BLINDNESS)
def test_lightness_keeps_its_order_for_color_blind_readers(vision: str) -> None:
    matrix = np.array(COLOR_BLINDNESS[vision]).T
    sequential = oklab(linear_rgb(SEQUENTIAL) @ matrix)[:, 0]
    above = oklab(linear_rgb(DIVERGING[32:]) @ matrix)[:, 0]
    below = oklab(linear_rgb(DIVERGING[32::-1]) @ matrix)[:, 0]
    assert (np.diff(sequential) < 0).all()
    assert (np.diff(above) < 0).all()
    assert (np.diff(below) < 0).all()


@pytest.mark.parametrize("vision", COLOR_BLINDNESS)
def test_the_two_sides_of_zero_differ_for_color_blind_readers(vision: str) -> None:
    lab = oklab(np.clip(linear_rgb(DIVERGING) @ np.array(COLOR_BLINDNESS[vision]).T, 0, 1))
    distance = np.linalg.norm(lab - lab[::-1], axis=1)
    assert (distance[:24] > 0.07).all()


@pytest.mark.parametrize("palette", [SEQUENTIAL, DIVERGING])
def test_ink_is_readable_on_every_level(palette: tuple[Rgb, ...]) -> None:
    inks = [ink_on(color) for color in palette]
    assert {"dark", "light"} == set(inks)
    for color, ink in zip(palette, inks, strict=True):
        assert contrast(color, BLACK if ink == "dark" else WHITE) >= 4.5


def test_contrast_of_known_pairs() -> None:
    assert contrast(BLACK, WHITE) == pytest.approx(21)
    assert contrast(WHITE, (119, 119, 119)) == pytest.approx(4.48, abs=0.005)


def test_css() -> None:
    assert css((10, 0, 255)) == "#0a00ff"


def test_a_color_outside_srgb_is_refused() -> None:
    assert oklab_to_rgb(1.0, 0.0, 0.0) == (255, 255, 255)
    with pytest.raises(ValueError, match="outside sRGB"):
        oklab_to_rgb(0.98, 0.2, 0.0)
