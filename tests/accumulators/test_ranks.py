"""Rank correlation against scipy, and the heads at the top."""

import math

import hypothesis.extra.numpy as hnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from attnx.statistics.accumulators.comparison import compare
from attnx.statistics.accumulators.ranks import spearman, top_overlap
from attnx.statistics.accumulators.results import Summary

FEW_VALUES = st.sampled_from([-1.5, 0.0, 0.25, 1.0, 7.0])


@given(hnp.arrays(np.float64, st.tuples(st.just(2), st.integers(3, 30)), elements=FEW_VALUES))
def test_correlation_is_that_of_scipy_with_ties(pair: np.ndarray) -> None:
    if (pair.std(1) == 0).any():
        assert math.isnan(spearman(*pair))
    else:
        np.testing.assert_allclose(spearman(*pair), stats.spearmanr(*pair).statistic, atol=1e-12)


def test_only_heads_defined_in_both_are_correlated() -> None:
    first, second = np.array([1.0, 2.0, np.nan, 3.0, 9.0]), np.array([2.0, 4.0, 0.0, 5.0, np.nan])
    assert spearman(first, second) == 1
    assert math.isnan(spearman(first[:3], second[:3]))


def test_overlap_counts_common_places_and_takes_the_first_of_equals() -> None:
    first, second = np.array([5.0, 4.0, 3.0, 0.0]), np.array([5.0, 0.0, 4.0, 4.0])
    assert top_overlap(first, second, 2) == 0.5
    assert math.isnan(top_overlap(first, np.array([1.0, np.nan, np.nan, np.nan]), 2))


def test_groups_are_compared_statistic_by_statistic() -> None:
    rng = np.random.default_rng(0)
    means = [rng.random((2, 12, 2)) for _ in range(3)]
    means[1][..., 0] = -means[0][..., 0]
    result = compare([summary(mean) for mean in means])
    assert result.names == ("a", "b")
    assert result.correlation.shape == result.overlap.shape == (2, 3, 3)
    np.testing.assert_allclose(result.correlation[0, 0, 1], -1)
    expected = stats.spearmanr(means[0][..., 1].ravel(), means[2][..., 1].ravel()).statistic
    np.testing.assert_allclose(result.correlation[1, 0, 2], expected)
    assert result.top == 10
    assert (result.overlap[:, range(3), range(3)] == 1).all()
    assert result.overlap[0, 0, 1] == 0


def summary(mean: np.ndarray) -> Summary:
    count = np.ones(mean.shape, dtype=np.int64)
    return Summary(("a", "b"), count, mean, mean, mean, mean, mean, count, mean, mean, count)
