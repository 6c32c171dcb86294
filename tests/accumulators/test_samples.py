"""What is computed on samples of sentences: variability and the distances between heads."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from attnx.statistics.accumulators.distances import Distances
from attnx.statistics.accumulators.results import DistanceResult, VariabilityResult
from attnx.statistics.accumulators.rows import kept_rows
from attnx.statistics.accumulators.sample import Sample
from attnx.statistics.accumulators.shape import Shape
from attnx.statistics.accumulators.variability import Variability
from attnx.streaming.records import NAMES
from tests.accumulators.made_up import Made, Stream, encoding, framed, random_maps


def varied(made: list[Made], seed: int = 0, size: int = 9) -> VariabilityResult:
    stream = Stream(made)
    variability = Variability(stream.shape(seed))
    stream.show([variability], size)
    return variability.result()


def apart(made: list[Made], size: int = 9) -> dict[str, DistanceResult]:
    stream = Stream(made)
    distances = Distances(stream.shape())
    stream.show([distances], size)
    return distances.result()


@given(st.permutations(range(40)), st.integers(0, 40))
def test_a_sample_is_the_same_in_any_order_and_merged_from_any_parts(order: list[int], cut: int) -> None:
    whole = Sample[int](7, 1, 2)
    for number in range(40):
        whole.add(number, number)
    whole.trim()
    parts = []
    for numbers in (order[:cut], order[cut:]):
        part = Sample[int](7, 1, 2)
        for number in numbers:
            one = np.array([number])
            if part.accepts(one, np.ones(1, dtype=bool)).all():
                part.add(number, number)
                part.trim()
        parts.append(part)
    parts[0].merge(parts[1])
    assert list(parts[0]) == list(whole)
    assert len(whole) == 7


def test_every_sentence_is_as_likely_in_a_sample() -> None:
    hits = np.zeros(40)
    for seed in range(500):
        sample = Sample[None](10, seed, 1)
        hits += sample.accepts(np.arange(40), np.ones(40, dtype=bool))
    assert hits.sum() == 5000
    assert np.abs(hits / 500 - 0.25).max() < 0.08


def test_variability_is_that_of_a_slow_loop() -> None:
    rng = np.random.default_rng(0)
    made = [(i, 0, framed(rng, n), random_maps(rng, 2, 3, n)) for i, n in enumerate(rng.integers(12, 20, 60))]
    made += [(60 + i, 0, framed(rng, 11), random_maps(rng, 2, 3, 11)) for i in range(5)]  # 9 inner tokens: too short
    result = varied(made)
    blocks = []
    for _, _, _, maps in made[:60]:
        own = maps[:, :, 1:-1, 1:-1].double().numpy()
        blocks.append((own / own.sum(-1, keepdims=True))[:, :, :10, :10])
    mean = sum(blocks) / 60
    expected = sum(np.abs(block - mean).sum((-2, -1)) for block in blocks) / (2 * sum(b.sum((-2, -1)) for b in blocks))
    assert (result.n, result.positions) == (60, 10)
    np.testing.assert_allclose(result.value, expected, rtol=1e-5)
    np.testing.assert_allclose(result.weights, mean, rtol=1e-5)
    rows = mean / mean.sum(-1, keepdims=True)
    peakedness = 1 + (rows * np.log(rows)).sum(-1).mean(-1) / math.log(10)
    np.testing.assert_allclose(result.peakedness, peakedness, atol=1e-6)
    sinks = [maps[:, :, 1:11][..., [0, -1]].sum(-1).mean(-1).numpy() for *_, maps in made[:60]]
    np.testing.assert_allclose(result.sink, np.mean(sinks, 0), atol=1e-6)
    np.testing.assert_allclose(result.even_sink, np.mean([2 / len(of[2].ids) for of in made[:60]]))


def test_variability_of_maps_that_never_agree_is_its_largest() -> None:
    """Each of 99 sentences looks at a place that no other looks at; 10 of these are compared."""
    maps = torch.zeros(100, 1, 1, 100, 100)
    maps[range(100), 0, 0, :, range(100)] = 1
    made = [(i, 0, encoding(range(100)), maps[i]) for i in range(1, 100)]
    result = varied(made)
    assert result.value == pytest.approx(1 - 1 / 99)
    same = varied([(i, 0, encoding(range(100)), maps[3]) for i in range(99)])
    assert same.value == pytest.approx(0)
    assert same.sink == pytest.approx(0)


def test_variability_needs_fifty_sentences_and_keeps_at_most_five_hundred() -> None:
    rng = np.random.default_rng(0)
    made = [(i, 0, framed(rng, 12), random_maps(rng, 1, 1, 12)) for i in range(700)]
    few = varied(made[:49])
    assert few.n == 49
    assert np.isnan(few.value).all()
    many = varied(made)
    assert many.n == 500
    assert many.value == pytest.approx(varied(made, seed=1).value, rel=0.05)
    assert many.value != varied(made, seed=1).value


def test_rows_without_attention_on_inner_tokens_do_not_vary() -> None:
    size = 12
    even, first = torch.full((1, 1, size, size), 1 / size), torch.zeros(1, 1, size, size)
    first[..., 0] = 1
    made = [(i, 0, encoding(range(size), (0, 11)), even if i % 2 else first) for i in range(100)]
    assert varied(made).value == pytest.approx(0, abs=1e-6)


def test_distances_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    made = [(i, 0, framed(rng, n), random_maps(rng, 2, 3, n)) for i, n in enumerate([5, 6, 9, 14])]
    result = apart(made)
    for name in ("all", "inner"):
        values, rows = [], []
        for *_, maps in made:
            own = (maps if name == "all" else maps[:, :, 1:-1, 1:-1]).double().flatten(0, 1).numpy()
            own = own / own.sum(-1, keepdims=True)
            values.append([[(jensenshannon(a, b, axis=1) ** 2).mean() for b in own] for a in own])
            rows.append(own.shape[1])
        of = result[name]
        assert of.n == 4
        off = ~np.eye(6, dtype=bool)
        np.testing.assert_allclose(of.mean[off], np.mean(values, 0)[off], atol=1e-9)
        np.testing.assert_allclose(of.micro[off], np.average(values, 0, rows)[off], atol=1e-9)
        assert np.isnan(np.diag(of.mean)).all()
        mean = np.where(off, np.mean(values, 0), np.nan)
        np.testing.assert_allclose(of.layers[0, 0], np.nanmean(mean[:3, :3]))
        np.testing.assert_allclose(of.layers[0, 1], mean[:3, 3:].mean())
        np.testing.assert_allclose(of.within, np.nanmean([mean[:3, :3], mean[3:, 3:]]))
        np.testing.assert_allclose(of.between, mean[:3, 3:].mean())
        assert of.nearest.ravel().tolist() == np.nanargmin(mean, 1).tolist()
        np.testing.assert_allclose(of.nearest_distance.ravel(), np.nanmin(mean, 1))
        assert math.isnan(of.trend)  # two layers


def test_spread_that_grows_with_depth_has_a_trend_of_one() -> None:
    rng = np.random.default_rng(0)
    made = []
    for number in range(20):
        sharpness = torch.tensor([0.1, 1.0, 3.0, 9.0]).view(4, 1, 1, 1)
        logits = torch.from_numpy(rng.normal(0, 1, (4, 3, 8, 8))).float() * sharpness
        made.append((number, 0, framed(rng, 8), logits.softmax(-1)))
    result = apart(made)["all"]
    assert (result.trend, result.trend_low, result.trend_high) == (1, 1, 1)
    assert math.isnan(apart(made[:9])["all"].trend_low)


def test_one_head_has_no_distance() -> None:
    rng = np.random.default_rng(0)
    result = apart([(0, 0, framed(rng, 5), random_maps(rng, 1, 1, 5))])["inner"]
    assert np.isnan(result.mean).all()
    assert math.isnan(result.within)
    assert math.isnan(result.between)
    assert result.nearest.tolist() == [[-1]]
    assert np.isnan(result.nearest_distance).all()


def test_of_long_texts_some_rows_are_compared() -> None:
    assert kept_rows(12).tolist() == list(range(12))
    assert kept_rows(32).tolist() == list(range(32))
    assert len(kept_rows(64)) == 16
    assert kept_rows(512).tolist() == [128, 384]
    assert kept_rows(5000).tolist() == [2500]
    rng = np.random.default_rng(0)
    maps = random_maps(rng, 1, 2, 64)
    own = maps[0][:, kept_rows(64)].double().numpy()
    result = apart([(0, 0, framed(rng, 64), maps)])["all"]
    assert result.mean[0, 1] == pytest.approx((jensenshannon(*own, axis=1) ** 2).mean(), abs=1e-6)


def test_samples_of_large_models_are_smaller() -> None:
    shape = Shape(48, 32, NAMES)
    assert Variability(shape).sample.size < 200
    assert Distances(shape).sample.size == 16
    assert Distances(Shape(12, 12, NAMES)).sample.size == 64
