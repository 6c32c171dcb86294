"""Very small numbers in a form that every language reads."""

from __future__ import annotations

import math

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def rounded_up(value: float) -> str:
    """Return a bound on a value, 0 or above, as one digit times a power of ten: ``4·10⁻⁶`` for 3.2e-6, or ``0``."""
    if value == 0:
        return "0"
    power = math.floor(math.log10(value))
    digit = math.ceil(round(value / 10.0**power, 9))
    if digit == 10:
        digit, power = 1, power + 1
    return f"{digit}·10{str(power).translate(SUPERSCRIPTS)}"
