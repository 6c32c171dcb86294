"""Heads that follow one thing only, fed as a corpus: each lands in its quadrant."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from attnx.encoders.records import Encoding
from attnx.statistics.accumulators import QUADRANTS, Corpus, Shape
from attnx.statistics.accumulators.results import QuadrantResult
from attnx.streaming.records import NAMES
from tests.accumulators.made_up import Stream, encoding, framed

Logits = Callable[[np.ndarray, np.ndarray], np.ndarray]


def offsets(ids: np.ndarray) -> np.ndarray:
    return np.arange(len(ids)) - np.arange(len(ids))[:, None]


def previous(ids: np.ndarray, special: np.ndarray) -> np.ndarray:
    """Position alone: the previous token, softly."""
    return -3.0 * (offsets(ids) + 1) ** 2


def similar(ids: np.ndarray, special: np.ndarray) -> np.ndarray:
    """Content alone: how much a token weighs depends on its id."""
    return np.broadcast_to(5 * np.sin(ids * 12.9898), (len(ids), len(ids)))


def sink(ids: np.ndarray, special: np.ndarray) -> np.ndarray:
    """The special tokens, or the first where there are none; a little content in the rest."""
    return similar(ids, special) / 5 + 6.0 * (special if special.any() else np.arange(len(ids)) == 0)


def even(ids: np.ndarray, special: np.ndarray) -> np.ndarray:
    """Everything alike."""
    return np.zeros((len(ids), len(ids)))


def near_or_similar(ids: np.ndarray, special: np.ndarray) -> np.ndarray:
    """Position and content: the previous token or the one before, by their ids."""
    return np.where(np.isin(offsets(ids), (-1, -2)), 6.0, 0.0) + similar(ids, special)


def previous_or_sink(ids: np.ndarray, special: np.ndarray) -> np.ndarray:
    """The previous token, and in part a special one: still a head that follows position."""
    return previous(ids, special) + np.where(special, 30.0, 0) * (np.abs(offsets(ids)) > 3)


HEADS = {
    previous: "position",
    similar: "content",
    sink: "sink",
    even: "broad",
    near_or_similar: "mixed",
    previous_or_sink: "position",
}


def maps(sentence: Encoding) -> torch.Tensor:
    ids, special = np.array(sentence.ids), np.array([token.special for token in sentence.tokens])
    return torch.from_numpy(np.stack([head(ids, special) for head in HEADS])[None]).softmax(-1).float()


def decide(sentences: list[Encoding]) -> QuadrantResult:
    return Stream([(i, 0, of, maps(of)) for i, of in enumerate(sentences)]).corpus(50).result().whole.quadrants


def check(result: QuadrantResult, measure: str) -> None:
    assert result.measure == measure
    assert [QUADRANTS[i] for i in result.index[0]] == list(HEADS.values())


def test_each_head_lands_in_its_quadrant() -> None:
    rng = np.random.default_rng(0)
    check(decide([framed(rng, size) for size in (12, 14, 20) for _ in range(60)]), "variability")


def test_texts_too_short_for_variability_are_decided_by_information() -> None:
    rng = np.random.default_rng(0)
    check(decide([framed(rng, size) for size in (9, 10) for _ in range(100)]), "relative_information")


def test_texts_too_long_for_mean_maps_are_decided_by_the_sample() -> None:
    rng = np.random.default_rng(0)
    check(decide([framed(rng, int(size)) for size in rng.integers(33, 40, 80)]), "variability")


def test_without_special_tokens_the_first_token_is_the_sink() -> None:
    rng = np.random.default_rng(0)
    result = decide([encoding(rng.integers(0, 1000, 14).tolist()) for _ in range(120)])
    expected = [*list(HEADS.values())[:-1], "position"]
    assert [QUADRANTS[i] for i in result.index[0]] == expected


@pytest.mark.parametrize("n", [0, 49])
def test_too_few_sentences_decide_nothing(n: int) -> None:
    rng = np.random.default_rng(0)
    if n:
        assert (decide([framed(rng, 12) for _ in range(n)]).index == -1).all()
    else:
        assert (Corpus(Shape(2, 3, NAMES)).result().whole.quadrants.index == -1).all()
