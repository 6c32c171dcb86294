"""Whether attention depends on the position: what a mean map says beside the maps it is the mean of."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from attnx.statistics.accumulators.results import Floats

# Below this a mean map leaves nothing open, and a share of it is rounding.
SMALLEST_ENTROPY = 1e-9


def position_measures(weights: Floats, entropies: Floats, rows: Floats, keys: NDArray[np.int64]) -> Iterator[Floats]:
    """Yield peakedness, information, relative information and ratio, ``[L, H]`` each, NaN without a row to judge by.

    `weights` ``[L, H, T, T]`` is a mean map, `entropies` ``[L, H, T]`` the mean entropy of a row in the sentences,
    `rows` in how many of them it counts, `keys` ``[L, T]`` how many tokens it can look at. A row is judged if it
    counts anywhere and sees at least two tokens.

    - *peakedness* Pk is the mean of 1 - H(p̄_i) / ln(keys): 1 if a row always looks at one and the same place, 0 if
      the mean is even. Own; the picture it stands for is the mean map.
    - *information* M is the mean of H(p̄_i) - mean H(p_i), in nats, 0..ln n: the mutual information of sentence and
      key, that is the mean divergence of the maps from their mean. 0 if the map is always the same. Own.
    - *relative information* is that of (H(p̄_i) - mean H(p_i)) / ln(keys), 0..1. With Pk it sums to the peakedness of
      the single maps.
    - *ratio* is mean H(p_i) over mean H(p̄_i), each a mean over rows: 1 if the map is always the same. Undefined where
      the mean map leaves nothing open.
    """
    judged = (rows > 0) & (keys[:, None] > 1)
    most = np.log(np.where(keys > 1, keys, 2))[:, None]
    of_mean = row_entropies(weights)
    information = np.maximum(of_mean - entropies, 0)
    yield mean_over(1 - of_mean / most, judged)
    yield mean_over(information, judged)
    yield mean_over(information / most, judged)
    open_part = mean_over(of_mean, judged)
    nothing_open = np.isnan(open_part) | (open_part < SMALLEST_ENTROPY)
    yield np.where(nothing_open, np.nan, mean_over(entropies, judged) / np.where(nothing_open, 1, open_part))


def row_entropies(weights: Floats) -> Floats:
    """Return the entropies of rows in nats, with 0 ln 0 = 0; the last dimension goes."""
    entropies: Floats = 0.0 - (weights * np.log(np.maximum(weights, np.finfo(np.float64).tiny))).sum(-1)
    return entropies


def mean_over(values: Floats, counted: NDArray[np.bool_]) -> Floats:
    """Return the mean over the last dimension of the values that count, NaN where none does."""
    n = counted.sum(-1)
    return np.where(n > 0, np.where(counted, values, 0).sum(-1) / np.maximum(n, 1), np.nan)
