"""Saved accumulators: a flat mapping of names to arrays, as an ``.npz`` file holds it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Arrays = Mapping[str, NDArray[Any]]


class StateError(ValueError):
    """A saved state that does not belong to this model, these statistics or this version."""


def prefixed(prefix: str, arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Return the arrays with ``prefix/`` before their names."""
    return {f"{prefix}/{name}": array for name, array in arrays.items()}


def below(prefix: str, arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin with ``prefix/``, without it."""
    start = f"{prefix}/"
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def taken(arrays: Arrays, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return a copy of the array `name`; raises StateError unless it has this shape and type."""
    if name not in arrays:
        raise StateError(f"no {name}")
    array = arrays[name]
    if array.shape != shape or array.dtype != np.dtype(dtype):
        raise StateError(f"{name} is {array.dtype} {array.shape}, not {np.dtype(dtype)} {shape}")
    return array.copy()


def taken_numbers(arrays: Arrays) -> NDArray[np.int64]:
    """Return the running numbers of saved sentences; raises StateError unless they ascend."""
    numbers = taken(arrays, "numbers", (len(arrays.get("numbers", ())),), np.int64)
    if (np.diff(numbers) <= 0).any():
        raise StateError("numbers do not ascend")
    return numbers
