"""Chance by seed and number: the right distributions, independent of each other, the same in any order."""

import math

import numpy as np
from scipy import stats

from attnx.statistics.accumulators.chance import BAG, DRAW, hashes, poisson_weights, uniforms

NUMBERS = np.arange(20_000)


def test_uniforms_are_uniform_and_numbers_are_independent() -> None:
    values = uniforms(3, BAG, NUMBERS)
    assert stats.kstest(values, "uniform").pvalue > 0.001
    assert abs(np.corrcoef(values[1:], values[:-1])[0, 1]) < 0.03


def test_streams_and_seeds_are_independent() -> None:
    base = uniforms(3, BAG, NUMBERS)
    for other in (uniforms(3, DRAW, NUMBERS), uniforms(4, BAG, NUMBERS)):
        assert abs(np.corrcoef(base, other)[0, 1]) < 0.03


def test_hashes_do_not_collide() -> None:
    assert len(np.unique(hashes(0, BAG, np.arange(200_000)))) == 200_000


def test_weights_are_poisson_with_mean_one() -> None:
    weights = poisson_weights(0, DRAW, np.arange(2000), 50)
    counts = np.bincount(weights.astype(int).ravel(), minlength=6)[:6]
    expected = [math.exp(-1) / math.factorial(k) * weights.size for k in range(6)]
    assert stats.chisquare(counts, np.array(expected) * counts.sum() / sum(expected)).pvalue > 0.001


def test_replicates_are_independent_of_each_other_and_of_the_sentences() -> None:
    weights = poisson_weights(0, DRAW, np.arange(20_000), 8)
    off_diagonal = np.corrcoef(weights)[~np.eye(8, dtype=bool)]
    assert np.abs(off_diagonal).max() < 0.03
    assert abs(np.corrcoef(weights[:, 1:].ravel(), weights[:, :-1].ravel())[0, 1]) < 0.03


def test_a_weight_depends_on_its_number_alone() -> None:
    order = np.random.default_rng(0).permutation(100)
    assert (poisson_weights(5, DRAW, order, 20) == poisson_weights(5, DRAW, np.arange(100), 20)[:, order]).all()
