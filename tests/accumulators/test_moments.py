"""Means, spread and intervals of what is fed, against numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnx.statistics.accumulators.moments import FEWEST_SENTENCES, STRATA, Lengths, Moments
from attnx.statistics.accumulators.results import Summary
from attnx.statistics.accumulators.shape import Shape
from attnx.streaming.records import Batch, BatchScores
from tests.accumulators.made_up import encoding

NAMES = {"all": ("first", "second")}
SHAPE = Shape(1, 2, NAMES)


def batch(values: np.ndarray, numbers: np.ndarray, tokens: int = 12, rows: np.ndarray | None = None) -> BatchScores:
    """Values [B, 2 heads, 2 statistics] of sentences of one length."""
    rows = np.where(np.isnan(values), 0, tokens) if rows is None else rows
    sentences = Batch(numbers, (encoding(range(tokens)),) * len(numbers), np.zeros(len(numbers), dtype=np.int64))
    return BatchScores(sentences, {"all": values[:, None]}, {"all": rows[:, None].astype(np.int64)})


def summary(*batches: BatchScores, shape: Shape = SHAPE) -> Summary:
    moments = Moments(shape, "all")
    for one in batches:
        moments.update(one)
    return moments.result()


def test_three_sentences_by_hand() -> None:
    values = np.full((3, 2, 2), np.nan)
    values[:, 0, 0] = 1, 2, 6
    values[1, 1, 1] = 5
    rows = np.zeros((3, 2, 2), dtype=np.int64)
    rows[:, 0, 0] = 1, 1, 2
    rows[1, 1, 1] = 4
    result = summary(batch(values, np.array([7, 8, 9]), rows=rows))
    assert result.n[0].tolist() == [[3, 0], [0, 1]]
    assert result.mean[0, 0, 0] == 3
    assert result.sd[0, 0, 0] == pytest.approx(7**0.5)
    assert result.micro[0, 0, 0] == pytest.approx((1 + 2 + 2 * 6) / 4)
    assert result.rows[0, 0, 0] == 4
    assert (result.minimum[0, 0, 0], result.maximum[0, 0, 0], result.example[0, 0, 0]) == (1, 6, 9)
    assert (result.mean[0, 1, 1], result.example[0, 1, 1]) == (5, 8)
    assert np.isnan(result.sd[0, 1, 1])
    for undefined in (result.mean, result.sd, result.micro, result.minimum, result.maximum):
        assert np.isnan(undefined[0, 0, 1])
    assert result.example[0, 0, 1] == -1
    assert np.isnan(result.low).all()


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_any_split_into_batches_and_halves_gives_what_numpy_gives(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    n = data.draw(st.integers(1, 60))
    values = rng.normal(data.draw(st.sampled_from([0, 1e6])), 1, (n, 2, 2))
    values[rng.random(values.shape) < data.draw(st.sampled_from([0, 0.2]))] = np.nan
    rows = np.where(np.isnan(values), 0, rng.integers(1, 9, values.shape))
    numbers = rng.permutation(1000)[:n]
    halves = [Moments(SHAPE, "all"), Moments(SHAPE, "all")]
    for i in rng.permutation(n):
        halves[data.draw(st.integers(0, 1))].update(batch(values[i : i + 1], numbers[i : i + 1], rows=rows[i : i + 1]))
    halves[0].merge(halves[1])
    result, whole = halves[0].result(), summary(batch(values, numbers, rows=rows))
    for name in ("n", "mean", "sd", "low", "high", "micro", "rows", "minimum", "maximum", "example"):
        np.testing.assert_allclose(getattr(result, name), getattr(whole, name), rtol=1e-9, atol=1e-9)
    for head, statistic in np.ndindex(2, 2):
        own = values[~np.isnan(values[:, head, statistic]), head, statistic]
        if len(own):
            assert whole.mean[0, head, statistic] == pytest.approx(own.mean(), rel=1e-12)
        if len(own) > 1:
            assert whole.sd[0, head, statistic] == pytest.approx(np.std(own, ddof=1), rel=1e-9)


def test_spread_of_nearly_equal_large_values_is_kept() -> None:
    values = 1e8 + np.random.default_rng(0).normal(0, 1e-3, (500, 2, 2))
    result = summary(*(batch(values[i : i + 50], np.arange(i, i + 50)) for i in range(0, 500, 50)))
    np.testing.assert_allclose(result.sd[0], values.std(0, ddof=1), rtol=1e-4)


def test_example_is_the_lowest_number_of_equals_in_any_order() -> None:
    values = np.ones((4, 2, 2))
    first, second = batch(values, np.array([9, 4, 6, 5])), batch(values, np.array([8, 3, 7, 2]))
    assert (summary(first, second).example == 2).all()
    assert (summary(second, first).example == 2).all()


def test_interval_needs_ten_sentences() -> None:
    values = np.random.default_rng(0).random((FEWEST_SENTENCES, 2, 2))
    assert np.isnan(summary(batch(values[1:], np.arange(9))).low).all()
    result = summary(batch(values, np.arange(10)))
    assert (result.low < result.mean).all()
    assert (result.mean < result.high).all()


@pytest.mark.parametrize("n", [40, 2000])
def test_interval_covers_the_true_mean_about_nineteen_times_in_twenty(n: int) -> None:
    """150 heads with a skewed distribution of mean 1, at few sentences and at many in each bag."""
    shape, values = Shape(10, 150, {"all": ("only",)}), np.random.default_rng(5).exponential(1, (n, 1500))
    moments = Moments(shape, "all")
    sentences = Batch(np.arange(n), (encoding(range(5)),) * n, np.zeros(n, dtype=np.int64))
    of_shape = values.reshape(n, 10, 150, 1)
    moments.update(BatchScores(sentences, {"all": of_shape}, {"all": np.full(of_shape.shape, 5)}))
    result = moments.result()
    covered = ((result.low <= 1) & (result.high >= 1)).mean()
    assert 0.90 < covered < 0.97
    # As wide as the normal approximation, for a mean of independent values.
    np.testing.assert_allclose(np.median(result.high - result.low), 2 * 1.96 / n**0.5, rtol=0.1)


def test_intervals_hold_where_some_sentences_define_nothing() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((400, 2, 2))
    values[rng.random(values.shape) < 0.7] = np.nan
    result = summary(batch(values, np.arange(400)))
    expected = 2 * 1.96 * result.sd / result.n**0.5
    np.testing.assert_allclose(result.high - result.low, expected, rtol=0.2)


def test_lengths_are_kept_apart_and_add_up() -> None:
    moments, lengths = Moments(SHAPE, "all"), Lengths()
    for tokens in (1, 8, 9, 128, 129, 500):
        moments.update(batch(np.full((2, 2, 2), float(tokens)), np.array([tokens, 1000 + tokens]), tokens))
        lengths.update(tokens, 2)
    strata = lengths.strata({"all": moments.strata()})
    assert [(s.shortest, s.longest) for s in strata] == [(1, 8), (9, 16), (17, 32), (33, 64), (65, 128), (129, None)]
    assert [s.sentences for s in strata] == [4, 2, 0, 0, 2, 4]
    assert [s.tokens for s in strata] == [18, 18, 0, 0, 256, 1258]
    assert [float(s.scopes["all"].mean[0, 0, 0]) for s in strata[:2]] == [4.5, 9]
    assert strata[2].scopes["all"].n.sum() == 0
    assert moments.result().mean[0, 0, 0] == pytest.approx((1 + 8 + 9 + 128 + 129 + 500) / 6)
    assert len(strata) == len(STRATA) + 1


def test_large_models_keep_fewer_sums() -> None:
    moments = Moments(Shape(48, 64, NAMES), "all")
    assert moments.bag_sums.shape[0] < 200
    assert moments.bag_sums.nbytes < 100_000_000
