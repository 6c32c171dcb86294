"""Means over texts, and how far other texts could have moved what is made of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from attnx.experiments.records import Floats
from attnx.statistics.accumulators.chance import DRAW, poisson_weights

FEWEST = 10  # texts
REPLICATES = 1000
PERCENTILES = (2.5, 97.5)


def mean_of(values: Floats, weights: Floats | None = None) -> Floats:
    """Return the mean of ``[n, ...]`` over n, each entry over where it is defined, NaN where it nowhere is."""
    weights = np.ones(len(values)) if weights is None else weights
    defined = ~np.isnan(values)
    count = np.tensordot(weights, defined.astype(np.float64), 1)
    total = np.tensordot(weights, np.where(defined, values, 0), 1)
    return np.where(count > 0, total / np.where(count > 0, count, 1), np.nan)


def interval(values: Floats, of: Callable[[Floats], float], seed: int) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a number `of` the mean over texts, ``[n, ...]``; NaN below 10 texts."""
    if len(values) < FEWEST:
        return np.nan, np.nan
    draws = poisson_weights(seed, DRAW, np.arange(len(values)), REPLICATES)
    found = np.array([of(mean_of(values, drawn)) for drawn in draws])
    if np.isnan(found).all():
        return np.nan, np.nan
    low, high = np.nanpercentile(found, PERCENTILES).tolist()
    return low, high
