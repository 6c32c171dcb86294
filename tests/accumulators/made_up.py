"""Made-up sentences and heads, and a stream of them as the engine would give it."""

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import torch

from attnx.encoders.records import AttentionMap, Encoding, Reach, Token
from attnx.statistics import PartScores, score_part
from attnx.statistics.accumulators import Corpus, Shape
from attnx.streaming.records import NAMES, Batch, BatchScores, MapObserver
from attnx.texts.sentence import Sentence

# Number, group, encoding, maps [L, H, T, T].
Made = tuple[int, int, Encoding, torch.Tensor]


def encoding(ids: Sequence[int], special: Sequence[int] = ()) -> Encoding:
    """An encoding of one letter a token; those at the places in `special` are special."""
    letters = [chr(ord("a") + i % 26) for i in ids]
    tokens = tuple(Token(letter, i, i + 1, i in special, i) for i, letter in enumerate(letters))
    return Encoding(Sentence("".join(letters), "en"), tuple(ids), tokens, (), (), None)


def framed(rng: np.random.Generator, size: int) -> Encoding:
    """A random encoding of `size` tokens, of which the first and the last are special."""
    return encoding([0, *rng.integers(1, 1000, size - 2).tolist(), 1], (0, size - 1))


def random_maps(rng: np.random.Generator, layers: int, heads: int, size: int) -> torch.Tensor:
    """Random maps, float32 [layers, heads, T, T]."""
    logits = torch.from_numpy(rng.normal(0, 2, (layers, heads, size, size)))
    return logits.softmax(-1).float()


class Stream:
    """Sentences with their maps, in batches of one length, as the engine gives them."""

    def __init__(self, sentences: Sequence[Made], reach: tuple[Reach, ...] = ()) -> None:
        self.sentences, self.reach = list(sentences), reach

    def shape(self, seed: int = 0) -> Shape:
        layers, heads = self.sentences[0][3].shape[:2]
        return Shape(layers, heads, NAMES, self.reach, seed)

    def part(self, members: Sequence[int]) -> "Stream":
        return Stream([self.sentences[i] for i in members], self.reach)

    def batches(self, size: int) -> Iterator[tuple[Batch, tuple[torch.Tensor, ...]]]:
        """Up to `size` sentences of one length with their maps [L, H, T, T], the shortest first."""
        for length in sorted({len(of[2].ids) for of in self.sentences}):
            same = [of for of in self.sentences if len(of[2].ids) == length]
            for start in range(0, len(same), size):
                numbers, groups, encodings, maps = zip(*same[start : start + size], strict=True)
                yield Batch(np.array(numbers), encodings, np.array(groups)), maps

    def show(self, observers: Sequence[MapObserver], size: int = 7) -> None:
        """Show observers all the maps they want."""
        for batch, maps in self.batches(size):
            show(observers, batch, maps)

    def corpus(self, size: int = 7, groups: int = 1, seed: int = 0) -> Corpus:
        return self.feed(Corpus(self.shape(seed), groups), size)

    def feed(self, corpus: Corpus, size: int = 7) -> Corpus:
        """Show a corpus everything."""
        observers = corpus.observers()
        for batch, maps in self.batches(size):
            show(observers, batch, maps)
            corpus.update(scores(batch, maps, self.reach))
        return corpus


def show(observers: Sequence[MapObserver], batch: Batch, maps: Sequence[torch.Tensor]) -> None:
    """Show observers what they want of a batch, as the engine does."""
    asked = [(observer, observer.wanted(batch)) for observer in observers]
    for layer in range(len(maps[0])):
        weights = torch.stack([of[layer] for of in maps])
        for observer, wanted in asked:
            if wanted.any():
                observer.observe(layer, weights[torch.from_numpy(wanted)], batch)
    for observer, wanted in asked:
        if wanted.any():
            observer.finish(batch)


def scores(batch: Batch, maps: Sequence[torch.Tensor], reach: tuple[Reach, ...]) -> BatchScores:
    """The scores of every sentence by the one-sentence code."""
    parts = [score(encoding, own, reach) for encoding, own in zip(batch.encodings, maps, strict=True)]
    values, rows = {}, {}
    for scope, names in NAMES.items():
        values[scope] = np.stack([np.stack([part[scope].scores.values[n] for n in names], -1) for part in parts])
        rows[scope] = np.stack([np.stack([part[scope].rows[n] for n in names], -1) for part in parts])
    return BatchScores(batch, values, rows)


@cache
def score(encoding: Encoding, maps: torch.Tensor, reach: tuple[Reach, ...]) -> dict[str, PartScores]:
    """Score one sentence, once."""
    return score_part(AttentionMap(encoding, maps, reach))
