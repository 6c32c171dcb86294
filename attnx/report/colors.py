"""The two color maps of every picture: one for weights, one for a signed quantity around zero.

Both are curves in OKLab (Björn Ottosson, "A perceptual color space for image processing", 2020) whose
lightness falls by the same step from level to level, so equal differences of weight look equal, in
print and to color-blind readers too. A color is an sRGB triple of bytes.
"""

import math

Rgb = tuple[int, int, int]

LEVELS = 64
SIDE_LEVELS = 32
WHITE: Rgb = (255, 255, 255)
BLACK: Rgb = (0, 0, 0)
READABLE_CONTRAST = 4.5


def css(rgb: Rgb) -> str:
    """Return a color as CSS writes it: ``#0a1b2c``."""
    return "#{:02x}{:02x}{:02x}".format(*rgb)


def contrast(first: Rgb, second: Rgb) -> float:
    """Return the contrast ratio of two colors, 1 to 21 (WCAG 2, relative luminance)."""
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def ink_on(rgb: Rgb) -> str:
    """Return which text is easier to read on a color: ``dark`` (black) or ``light`` (white).

    One of the two always has a contrast of at least 4.5, whatever the color. Dark wins where it suffices.
    """
    return "dark" if contrast(rgb, BLACK) >= READABLE_CONTRAST else "light"


def oklab_to_rgb(lightness: float, a: float, b: float) -> Rgb:
    """Return the sRGB bytes of an OKLab color.

    Raises ValueError for a color that no screen shows: clipping it would bend the lightness scale.
    """
    cone = (
        (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3,
        (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3,
        (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3,
    )
    to_linear = (
        (4.0767416621, -3.3077115913, 0.2309699292),
        (-1.2684380046, 2.6097574011, -0.3413193965),
        (-0.0041960863, -0.7034186147, 1.7076147010),
    )
    linear = [sum(weight * part for weight, part in zip(row, cone, strict=True)) for row in to_linear]
    if min(linear) < -1e-4 or max(linear) > 1.0001:
        raise ValueError(f"outside sRGB: OKLab {lightness:.3f} {a:.3f} {b:.3f}")
    red, green, blue = (round(255 * _gamma(min(max(part, 0.0), 1.0))) for part in linear)
    return red, green, blue


def _sequential(level: int) -> Rgb:
    """Warm white, through teal and blue, to a navy near black: hue 185 to 270 degrees, most colorful in the middle."""
    t = level / (LEVELS - 1)
    hue = math.radians(185 + 85 * t)
    chroma = 0.09 * math.sin(math.pi * t**0.8) + 0.05 * t
    warmth = 0.012 * (1 - t) ** 4
    return oklab_to_rgb(0.985 - 0.785 * t, chroma * math.cos(hue), chroma * math.sin(hue) + warmth)


def _diverging(level: int) -> Rgb:
    """Blue below zero, a warm white at zero, orange and brown above; equally dark at equal distance from zero."""
    x = level / SIDE_LEVELS - 1
    t = abs(x)
    hue = math.radians(250 if x < 0 else 55)
    chroma = 0.13 * math.sin(0.75 * math.pi * t)
    return oklab_to_rgb(0.97 - 0.56 * t, chroma * math.cos(hue), chroma * math.sin(hue) + 0.006 * (1 - t))


def _gamma(linear: float) -> float:
    return 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055


def _linear(byte: int) -> float:
    share = byte / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


def _luminance(rgb: Rgb) -> float:
    red, green, blue = (_linear(byte) for byte in rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


SEQUENTIAL: tuple[Rgb, ...] = tuple(_sequential(level) for level in range(LEVELS))
DIVERGING: tuple[Rgb, ...] = tuple(_diverging(level) for level in range(2 * SIDE_LEVELS + 1))
