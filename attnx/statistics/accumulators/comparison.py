"""Whether the same heads do the same in different files."""

from collections.abc import Callable, Sequence

import numpy as np

from attnx.statistics.accumulators.ranks import spearman, top_overlap
from attnx.statistics.accumulators.results import Floats, GroupComparison, Summary

TOP = 10


def compare(groups: Sequence[Summary]) -> GroupComparison:
    """Return how alike the heads of groups rank by their macro means, in one scope.

    The top heads are 10, or half of the heads where there are fewer than 20.
    """
    names = groups[0].names
    means = [group.mean.reshape(-1, len(names)) for group in groups]
    top = min(TOP, max(1, len(means[0]) // 2))
    return GroupComparison(
        names,
        _of_pairs(means, spearman),
        _of_pairs(means, lambda first, second: top_overlap(first, second, top)),
        top,
    )


def _of_pairs(means: Sequence[Floats], measure: Callable[[Floats, Floats], float]) -> Floats:
    """Return a measure of every two groups in every statistic, ``[S, G, G]``, from their means ``[L * H, S]``."""
    statistics = range(means[0].shape[1])
    return np.array([[[measure(a[:, s], b[:, s]) for b in means] for a in means] for s in statistics])
