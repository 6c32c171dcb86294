"""Mean maps by length and what they say, against slow loops and heads with known answers."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from scipy import special, stats

from attnx.encoders.records import Encoding
from attnx.statistics.accumulators.averages import Averages
from attnx.statistics.accumulators.mean_maps import MeanMaps, longest
from attnx.statistics.accumulators.profiles import OFFSETS, Profiles
from attnx.statistics.accumulators.results import MeanMapResult, ProfileResult
from attnx.statistics.accumulators.shape import Shape
from attnx.streaming.records import NAMES
from tests.accumulators.made_up import Made, Stream, encoding, framed, random_maps


def averaged(made: Sequence[Made], reach: tuple = (), size: int = 16) -> tuple[MeanMapResult, ProfileResult]:
    stream = Stream(made, reach)
    shape = stream.shape()
    maps, profiles = MeanMaps(shape), Profiles(shape)
    stream.show([Averages(shape, maps, profiles)], size)
    return maps.result(), profiles.result()


def sentences(n: int, size: int, head: object, special: tuple[int, ...] = ()) -> list[Made]:
    """Sentences of one length, whose one head has the maps that `head` makes for each."""
    made = [encoding(range(size), special) for _ in range(n)]
    return [(i, 0, of, torch.tensor(head(i), dtype=torch.float32)[None, None]) for i, of in enumerate(made)]


def inner_rows(sentence: Encoding, weights: np.ndarray) -> tuple[np.ndarray, list[int]]:
    inner = [i for i, token in enumerate(sentence.tokens) if not token.special]
    own = weights[..., inner, :][..., inner].astype(np.float64)
    return own / own.sum(-1, keepdims=True), inner


def test_mean_map_and_its_measures_are_those_of_a_slow_loop() -> None:
    rng = np.random.default_rng(0)
    made = [(i, 0, framed(rng, 6), random_maps(rng, 2, 3, 6)) for i in range(60)]
    result, _ = averaged(made)
    (length,) = result.lengths
    assert (length.tokens, length.sentences) == (6, 60)
    every = np.stack([maps.numpy() for *_, maps in made]).astype(np.float64)
    inner = np.stack([inner_rows(sentence, maps.numpy())[0] for _, _, sentence, maps in made])
    np.testing.assert_allclose(length.sets["all"].weights, every.mean(0), rtol=1e-9)
    np.testing.assert_allclose(length.sets["inner"].weights[:, :, 1:-1, 1:-1], inner.mean(0), rtol=1e-9)
    assert length.sets["inner"].weights[:, :, [0, -1]].sum() == 0
    for name, maps, keys in (("all", every, 6), ("inner", inner, 4)):
        mean, measured = maps.mean(0), length.sets[name]
        of_mean, of_maps = stats.entropy(mean, axis=-1), stats.entropy(maps, axis=-1).mean(0)
        np.testing.assert_allclose(measured.peakedness, 1 - of_mean.mean(-1) / math.log(keys), atol=1e-6)
        # M is the mean divergence of the maps from their mean.
        divergence = special.rel_entr(maps, mean).sum(-1).mean(0)
        np.testing.assert_allclose(measured.information, divergence.mean(-1), atol=1e-6)
        np.testing.assert_allclose(measured.relative_information, divergence.mean(-1) / math.log(keys), atol=1e-6)
        np.testing.assert_allclose(measured.ratio, of_maps.mean(-1) / of_mean.mean(-1), atol=1e-6)
    sink = every[:, :, :, 1:-1][..., [0, -1]].sum(-1).mean((0, -1))
    np.testing.assert_allclose(result.sink, sink, atol=1e-6)
    np.testing.assert_allclose(result.even_sink, 2 / 6)


def test_a_head_that_follows_position_is_peaked_and_tells_nothing_of_the_sentence() -> None:
    previous = np.eye(8)[[0, *range(7)]]
    result, _ = averaged(sentences(50, 8, lambda i: previous))
    measured = result.lengths[0].sets["all"]
    assert measured.peakedness == pytest.approx(1)
    assert measured.information == pytest.approx(0)
    assert np.isnan(measured.ratio)  # nothing is left open


def test_a_head_that_follows_content_has_an_even_mean_and_full_information() -> None:
    def shifted(i: int) -> np.ndarray:
        return np.eye(8)[(np.arange(8) + i) % 8]

    result, _ = averaged(sentences(80, 8, shifted))
    measured = result.lengths[0].sets["all"]
    assert measured.peakedness == pytest.approx(0, abs=1e-9)
    assert measured.information == pytest.approx(math.log(8))
    assert measured.relative_information == pytest.approx(1)
    assert measured.ratio == pytest.approx(0, abs=1e-9)


def test_an_even_head_is_neither() -> None:
    result, _ = averaged(sentences(50, 8, lambda i: np.full((8, 8), 1 / 8), special=(0, 7)))
    for name in ("all", "inner"):
        measured = result.lengths[0].sets[name]
        assert measured.peakedness == pytest.approx(0, abs=1e-6)
        assert measured.information == pytest.approx(0, abs=1e-6)
        assert measured.ratio == pytest.approx(1, abs=1e-6)
    assert result.sink[0] == pytest.approx(result.even_sink)


def test_an_even_causal_head_is_flat_by_what_it_can_see() -> None:
    causal = np.tril(np.ones((6, 6))) / np.arange(1, 7)[:, None]
    stream = [(i, 0, encoding(range(6)), torch.tensor(causal, dtype=torch.float32)[None, None]) for i in range(50)]
    result, _ = averaged(stream, reach=((None, 0),))
    assert result.lengths[0].sets["all"].peakedness == pytest.approx(0, abs=1e-6)
    # Without special tokens the first is the sink; the second then sees only itself and is not judged.
    assert result.lengths[0].sets["inner"].peakedness == pytest.approx(0, abs=1e-6)
    assert result.even_sink == pytest.approx(np.mean([1 / i for i in range(2, 7)]))
    assert result.sink[0] == pytest.approx(result.even_sink, abs=1e-6)


def test_rows_without_attention_on_inner_tokens_do_not_count() -> None:
    first = np.eye(5)[[0] * 5]
    even = np.full((5, 5), 1 / 5)
    result, profile = averaged(sentences(60, 5, lambda i: even if i % 2 else first, special=(0,)))
    inner = result.lengths[0].sets["inner"]
    np.testing.assert_allclose(inner.weights[0, 0, 1:, 1:], 1 / 4, rtol=1e-6)
    assert inner.information == pytest.approx(0, abs=1e-6)
    zero = OFFSETS.tolist().index(0)
    assert profile.rows["inner"][0, 0, zero] == 30 * 4
    assert profile.values["inner"][0, 0, zero] == pytest.approx(1 / 4)


def test_lengths_with_too_few_sentences_are_left_out_and_others_weighted_by_their_sentences() -> None:
    previous = np.eye(6)[[0, *range(5)]]
    made = sentences(49, 4, lambda i: np.full((4, 4), 1 / 4)) + sentences(50, 5, lambda i: np.full((5, 5), 1 / 5))
    made += sentences(150, 6, lambda i: previous)
    result, _ = averaged([(i, *of[1:]) for i, of in enumerate(made)])
    assert [length.tokens for length in result.lengths] == [5, 6]
    assert result.sentences == 200
    assert result.peakedness["all"] == pytest.approx(0.75, abs=1e-6)


def test_nothing_is_known_of_no_sentences() -> None:
    shape = Shape(2, 3, NAMES)
    result = MeanMaps(shape).result()
    assert result.lengths == ()
    assert np.isnan(result.peakedness["all"]).all()
    assert np.isnan(result.sink).all()
    assert np.isnan(Profiles(shape).result().values["all"]).all()


def test_profiles_are_those_of_a_slow_loop() -> None:
    rng = np.random.default_rng(0)
    made = [(i, 0, framed(rng, n), random_maps(rng, 1, 2, n)) for i, n in enumerate([4, 4, 5, 9, 20, 31, 32, 20])]
    made.append((8, 0, encoding([5, 0, 6, 7, 8], (1, 3)), random_maps(rng, 1, 2, 5)))
    _, profile = averaged(made)
    for place, offset in enumerate(OFFSETS.tolist()):
        expected = {"all": ([], []), "inner": ([], [])}
        for _, _, sentence, maps in made:
            own, inner = inner_rows(sentence, maps[0].numpy())
            size = len(sentence.ids)
            for i in range(size):
                if 0 <= i + offset < size:
                    expected["all"][0].append(maps[0, :, i, i + offset].numpy())
                if i in inner and i + offset in inner:
                    expected["inner"][0].append(own[:, inner.index(i), inner.index(i + offset)])
        for name, (values, _) in expected.items():
            assert (profile.rows[name][0, :, place] == len(values)).all()
            if values:
                np.testing.assert_allclose(profile.values[name][0, :, place], np.mean(values, 0), rtol=1e-6)


def test_of_long_texts_a_share_stands_for_all() -> None:
    even = torch.full((1, 1, 128, 128), 1 / 128)
    made = [(i, 0, encoding(range(128)), even) for i in range(400)]
    maps, profile = averaged(made, size=50)
    assert maps.lengths == ()
    np.testing.assert_allclose(profile.values["all"], 1 / 128, rtol=1e-6)
    zero = OFFSETS.tolist().index(0)
    # 128 rows of each of 400 texts, estimated from about 50 of them.
    assert profile.rows["all"][0, 0, zero] == pytest.approx(128 * 400, rel=0.35)
    assert profile.rows["all"][0, 0, zero] % (128 * 8) == 0


def test_large_models_keep_maps_of_shorter_texts_only() -> None:
    assert longest(Shape(12, 12, NAMES)) == 32
    assert 8 < longest(Shape(48, 32, NAMES)) < 24


def test_a_batch_that_fails_halfway_leaves_no_trace() -> None:
    stream = Stream(sentences(50, 5, lambda i: np.full((5, 5), 1 / 5)))
    shape = stream.shape()
    maps, profiles = MeanMaps(shape), Profiles(shape)
    observer = Averages(shape, maps, profiles)
    batch, _ = next(stream.batches(50))
    observer.wanted(batch)
    observer.observe(0, torch.full((50, 1, 5, 5), 1 / 5), batch)
    stream.show([observer], 25)
    assert maps.result().sentences == 50
    assert profiles.result().rows["all"][0, 0, OFFSETS.tolist().index(0)] == 250
