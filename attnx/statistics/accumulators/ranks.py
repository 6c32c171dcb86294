"""Rank correlation, and which heads are at the top."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FEWEST = 3  # heads; a correlation of two is always 1 or -1


def spearman(first: Floats, second: Floats) -> float:
    """Return Spearman's rank correlation over where both are defined; equals share the mean of their ranks.

    NaN below 3 pairs and where one of the two is the same everywhere.
    """
    both = ~(np.isnan(first) | np.isnan(second))
    if both.sum() < FEWEST:
        return float("nan")
    a, b = (_ranks(values[both]) for values in (first, second))
    a, b = a - a.mean(), b - b.mean()
    spread = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / spread if spread > 0 else float("nan")


def top_overlap(first: Floats, second: Floats, top: int) -> float:
    """Return the share of the `top` largest values of one that are at the same places in the other; lowest index first.

    NaN where one of the two has fewer defined values.
    """
    if min((~np.isnan(first)).sum(), (~np.isnan(second)).sum()) < top:
        return float("nan")
    return len(np.intersect1d(_largest(first, top), _largest(second, top))) / top


def _ranks(values: Floats) -> Floats:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place].astype(np.float64)


def _largest(values: Floats, top: int) -> NDArray[np.int64]:
    return np.argsort(np.where(np.isnan(values), np.inf, -values), kind="stable")[:top]
