"""How much attention goes to each relative position."""

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from numpy.typing import NDArray

from attnx.statistics.accumulators.folding import Fold
from attnx.statistics.accumulators.results import SETS, Floats, ProfileResult
from attnx.statistics.accumulators.shape import Mask, Shape
from attnx.statistics.accumulators.state import Arrays, taken

REACH = 16
OFFSETS = np.arange(-REACH, REACH + 1)


class Profiles:
    """Sums of p[i, i + k] and the numbers of rows i that have a token there, ``[L, H, K]``, for k = -16..16.

    Offsets are those of the whole text, in both sets of tokens. r(k) is their quotient, a mean over rows (micro);
    a generalization of Clark et al. 2019, section 3.1. Own.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.parts = empty_profile(shape)

    def add(self, parts: dict[str, Floats]) -> None:
        """Add the sums of other sentences."""
        for name, values in parts.items():
            self.parts[name] += values

    def merge(self, other: "Profiles") -> None:
        """Add what another has seen of other sentences."""
        self.add(other.parts)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save."""
        return dict(self.parts)

    @classmethod
    def from_state(cls, shape: Shape, state: Arrays) -> "Profiles":
        """Return what was saved; raises StateError where it does not fit."""
        profiles = cls(shape)
        profiles.parts = {name: taken(state, name, part.shape, part.dtype) for name, part in profiles.parts.items()}
        return profiles

    def result(self) -> ProfileResult:
        """Return the profiles, NaN where no row has a token at that offset."""
        rows = {name: self.parts[f"rows/{name}"] for name in SETS}
        values = {
            name: np.where(rows[name] > 0, self.parts[f"sums/{name}"] / np.where(rows[name] > 0, rows[name], 1), np.nan)
            for name in SETS
        }
        return ProfileResult(OFFSETS, values, rows)


def empty_profile(shape: Shape) -> dict[str, Floats]:
    """Return the sums over no sentences."""
    size = (shape.layers, shape.heads, len(OFFSETS))
    return {f"{what}/{name}": np.zeros(size) for what in ("sums", "rows") for name in SETS}


def add_fold(parts: dict[str, Floats], layers: slice, folded: Fold, inner: Mask, weight: float) -> None:
    """Add the sums of some layers, each sentence counting `weight` times; `inner` ``[T]`` as in the fold."""
    present = {"all": np.ones_like(inner), "inner": inner}
    for name in SETS:
        near = sliding_window_view(np.pad(present[name], REACH), len(OFFSETS))
        sums, rows = parts[f"sums/{name}"][layers], parts[f"rows/{name}"][layers]
        sums += weight * _diagonals(folded.sums[name]).reshape(sums.shape)
        rows += weight * (folded.rows[name] @ near).reshape(rows.shape)


def _diagonals(sums: Floats) -> Floats:
    """Return the sums of the diagonals of matrices ``[n, T, T]`` at each offset, ``[n, K]``."""
    padded = np.pad(sums, ((0, 0), (0, 0), (REACH, REACH)))
    matrix, row, column = padded.strides
    # Row i starts i columns further on, which lays each diagonal into one column.
    shape = (len(sums), sums.shape[1], len(OFFSETS))
    diagonals: Floats = as_strided(padded, shape, (matrix, row + column, column), writeable=False).sum(1)
    return diagonals
