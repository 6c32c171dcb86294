"""All accumulators together: merged, resumed, in any order, by file."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnx.statistics.accumulators import Corpus, CorpusResult, Shape, StateError
from attnx.statistics.accumulators.corpus import MOST_GROUPS
from attnx.streaming.records import NAMES
from tests.accumulators.made_up import Stream


def assert_equal(first: Any, second: Any) -> None:
    """Two results are the same up to 1e-9."""
    if dataclasses.is_dataclass(first):
        for field in dataclasses.fields(first):
            assert_equal(getattr(first, field.name), getattr(second, field.name))
    elif isinstance(first, Mapping):
        assert first.keys() == second.keys()
        for name in first:
            assert_equal(first[name], second[name])
    elif isinstance(first, tuple) and not all(isinstance(item, str) for item in first):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_equal(one, other)
    elif isinstance(first, np.ndarray | float):
        np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-9)
    else:
        assert first == second


@pytest.fixture(scope="module")
def whole(random_stream: Stream) -> CorpusResult:
    return random_stream.corpus(groups=2).result()


def test_every_sentence_is_in_its_file_and_in_the_whole(random_stream: Stream, whole: CorpusResult) -> None:
    assert whole.whole.sentences == len(random_stream.sentences)
    assert whole.whole.tokens == sum(len(of[2].ids) for of in random_stream.sentences)
    for index, group in enumerate(whole.groups):
        own = [i for i, of in enumerate(random_stream.sentences) if of[1] == index]
        assert group.sentences == len(own)
        alone = random_stream.part(own).corpus().result()
        assert_equal(group, alone.whole)
        assert alone.groups == ()
        assert alone.comparisons == {}
    assert_equal(whole.whole, random_stream.corpus().result().whole)
    assert whole.comparisons["content"].correlation.shape == (len(NAMES["content"]), 2, 2)


@given(st.data())
@settings(max_examples=6, deadline=None)
def test_halves_merged_in_either_order_give_the_whole(
    random_stream: Stream, whole: CorpusResult, data: st.DataObject
) -> None:
    n = len(random_stream.sentences)
    side = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    order = data.draw(st.permutations(range(n)))
    size = data.draw(st.sampled_from([1, 4, 100]))
    first, second = (
        random_stream.part([i for i in order if side[i] is half]).sentences
        for half in data.draw(st.permutations([True, False]))
    )
    shape = random_stream.shape()
    merged = Stream(first).feed(Corpus(shape, 2), size)
    merged.merge(Stream(second).feed(Corpus(shape, 2), size))
    assert_equal(merged.result(), whole)


def test_a_run_goes_on_from_what_was_saved(random_stream: Stream, whole: CorpusResult, tmp_path: Path) -> None:
    shape = random_stream.shape()
    begun = random_stream.part(range(25)).corpus(groups=2)
    np.savez(tmp_path / "state.npz", **begun.state())
    with np.load(tmp_path / "state.npz", allow_pickle=False) as saved:
        resumed = Corpus.from_state(shape, 2, dict(saved))
    assert_equal(resumed.result(), begun.result())
    assert_equal(random_stream.part(range(25, 60)).feed(resumed).result(), whole)


def test_a_saved_state_is_no_view_of_what_goes_on(random_stream: Stream) -> None:
    begun = random_stream.part(range(25)).corpus()
    state = {name: array.copy() for name, array in begun.state().items()}
    resumed = Corpus.from_state(random_stream.shape(), 1, state)
    before = resumed.result()
    random_stream.part(range(25, 60)).feed(Corpus.from_state(random_stream.shape(), 1, state))
    assert_equal(Corpus.from_state(random_stream.shape(), 1, state).result(), before)


def test_results_do_not_change_what_goes_on(random_stream: Stream, whole: CorpusResult) -> None:
    corpus = random_stream.part(range(25)).corpus(groups=2)
    corpus.result()
    assert_equal(random_stream.part(range(25, 60)).feed(corpus).result(), whole)


def test_the_same_run_saves_the_same_bytes(random_stream: Stream) -> None:
    first, second = random_stream.corpus(groups=2).state(), random_stream.corpus(groups=2).state()
    assert first.keys() == second.keys()
    assert all(first[name].tobytes() == second[name].tobytes() for name in first)


def test_another_seed_draws_other_bags_and_keeps_the_means(random_stream: Stream, whole: CorpusResult) -> None:
    other = random_stream.corpus(groups=2, seed=1).result().whole.scopes["all"]
    own = whole.whole.scopes["all"]
    np.testing.assert_allclose(other.mean, own.mean)
    assert not np.array_equal(other.low, own.low, equal_nan=True)


def test_a_state_of_something_else_is_refused(random_stream: Stream) -> None:
    shape = random_stream.shape()
    state = random_stream.corpus(groups=2).state()
    names = {**NAMES, "all": NAMES["all"][1:]}
    others = [
        dataclasses.replace(shape, layers=3),
        dataclasses.replace(shape, heads=4),
        dataclasses.replace(shape, seed=7),
        dataclasses.replace(shape, names=names),
        dataclasses.replace(shape, reach=((None, 0), (None, 0))),
    ]
    for other in others:
        with pytest.raises(StateError):
            Corpus.from_state(other, 2, state)
    with pytest.raises(StateError):
        Corpus.from_state(shape, 3, state)
    assert Corpus.from_state(shape, 2, state).result().whole.sentences == 60


def test_a_damaged_state_is_refused(random_stream: Stream) -> None:
    shape, state = random_stream.shape(), random_stream.corpus().state()
    for name, array in state.items():
        with pytest.raises(StateError):
            Corpus.from_state(shape, 1, {other: of for other, of in state.items() if other != name})
        with pytest.raises(StateError):
            Corpus.from_state(shape, 1, {**state, name: array.astype(np.str_)[..., None]})
        with pytest.raises(StateError):
            Corpus.from_state(shape, 1, {**state, name: np.stack([array, array])})
    with pytest.raises(StateError):
        Corpus.from_state(shape, 1, {**state, "version": np.array(2)})
    with pytest.raises(StateError):
        Corpus.from_state(shape, 1, {})


def test_corpora_of_other_shapes_do_not_merge(random_stream: Stream) -> None:
    shape = random_stream.shape()
    for other in (Corpus(shape, 3), Corpus(dataclasses.replace(shape, seed=9), 2)):
        with pytest.raises(StateError):
            Corpus(shape, 2).merge(other)


def test_many_files_are_one(random_stream: Stream) -> None:
    result = random_stream.corpus(groups=MOST_GROUPS + 1).result()
    assert result.groups == ()
    assert result.whole.sentences == 60


def test_nothing_is_known_of_an_empty_corpus() -> None:
    result = Corpus(Shape(2, 3, NAMES), 2).result()
    assert result.whole.sentences == 0
    assert np.isnan(result.whole.scopes["all"].mean).all()
    assert np.isnan(result.comparisons["all"].correlation).all()
    assert (result.whole.distances["all"].nearest == -1).all()
