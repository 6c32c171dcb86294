"""How alike groups of texts rank the heads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from attnx.experiments.intervals import mean_of
from attnx.experiments.records import Floats
from attnx.statistics.accumulators.chance import DRAW, poisson_weights
from attnx.statistics.accumulators.ranks import spearman, top_overlap

REPLICATES = 200
WIDTH = 1.96  # standard errors
TOP = 10  # heads

Integers = NDArray[np.int64]
Measure = Callable[[Floats, Floats], float]


@dataclass(frozen=True)
class Agreement:
    """How alike G languages rank the heads: `correlation` ``[S, G, G]`` with that of halves on the diagonal.

    `means` ``[G, L * H, S]`` are those of the heads; `overlap` ``[S]`` is the mean over pairs of the share of the top
    heads that two languages have in common.
    """

    means: Floats
    correlation: Floats
    overlap: Floats

    @property
    def pairs(self) -> Floats:
        """The correlations of all pairs of languages ``[S, pairs]``."""
        return self.correlation[:, *np.triu_indices(len(self.means), 1)]

    @property
    def halves(self) -> Floats:
        """The mean correlation of two halves of a language ``[S]``."""
        return mean_of(self.correlation.diagonal(axis1=1, axis2=2).T)

    @property
    def overall(self) -> float:
        """The median over statistics of the mean over pairs, NaN if none is defined."""
        return median_of(mean_of(self.pairs.T))


def agreement(values: Floats, groups: Integers) -> Agreement:
    """Return how alike the groups of sentences rank the heads."""
    count = int(groups.max()) + 1
    means = np.array([mean_of(values[groups == group]) for group in range(count)])
    correlation = _of_pairs(means, means, spearman)
    for group in range(count):
        own = values[groups == group]
        first, second = (mean_of(own[start::2])[None] for start in (0, 1))
        correlation[:, group, group] = _of_pairs(first, second, spearman)[:, 0, 0]
    top = top_of(values)
    overlap = _of_pairs(means, means, lambda a, b: top_overlap(a, b, top))
    return Agreement(means, correlation, mean_of(overlap[:, *np.triu_indices(count, 1)].T))


def top_of(values: Floats) -> int:
    """Return how many heads are at the top: 10, or half of them where there are fewer than 20."""
    heads: int = values.shape[1]
    return min(TOP, max(1, heads // 2))


def _of_pairs(first: Floats, second: Floats, measure: Measure) -> Floats:
    """Return a measure of the heads of every two groups in every statistic, ``[S, G, G]``."""
    statistics = range(first.shape[-1])
    return np.array([[[measure(a[:, s], b[:, s]) for b in second] for a in first] for s in statistics])


def margin(values: Floats, groups: Integers, seed: int) -> float:
    """Return half the width of the 95 % interval of the overall correlation: 1.96 bootstrap standard errors.

    Not percentiles: whatever is drawn has more noise than the texts, and so lower correlations. A row of a table is
    drawn in all languages.
    """
    of_groups = [values[groups == group] for group in range(int(groups.max()) + 1)]
    draws = poisson_weights(seed, DRAW, np.arange(max(map(len, of_groups))), REPLICATES)
    found = []
    for drawn in draws:
        means = [mean_of(own, drawn[: len(own)]) for own in of_groups]
        pairs = [_of_pairs(a[None], b[None], spearman)[:, 0, 0] for a, b in combinations(means, 2)]
        found.append(median_of(mean_of(np.array(pairs))))
    return WIDTH * float(np.nanstd(found))


def rank_ranges(means: Floats) -> Floats:
    """Return how far each head moves between the languages, ``[L * H]``, 0..1.

    The distance between its first and its last place among all heads, of all places, a mean over statistics.
    """
    places = means.argsort(1).argsort(1) / max(1, means.shape[1] - 1)
    undefined = np.isnan(means).any(0)
    return mean_of(np.where(undefined, np.nan, np.ptp(places, axis=0)).T)


def median_of(values: Floats) -> float:
    """Return the median of what is defined, NaN where nothing is."""
    defined = values[~np.isnan(values)]
    return float(np.median(defined)) if defined.size else float("nan")
