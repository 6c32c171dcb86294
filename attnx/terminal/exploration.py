"""What the terminal shows of one sentence: its attention, every head's statistics, and a head's map as it is viewed."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from attnx.encoders.encoder import Encoder
from attnx.encoders.records import AttentionMap, Token
from attnx.errors import InputError, printable
from attnx.findings import Evidence, Finding, find
from attnx.statistics import REGISTRY, HeadScores, even_scores, scope_view, score_heads
from attnx.statistics.divergence import mean_divergences
from attnx.statistics.reshaping import Weights, by_word, scale_top, without_special, word_ranges
from attnx.statistics.scores import Floats
from attnx.texts.labels import visible
from attnx.texts.sentence import Sentence

Head = tuple[int, int]  # layer and head, counted from 0


@dataclass(frozen=True)
class View:
    """How a head's map is looked at: by tokens or words, with or without special tokens, on which color scale."""

    words: bool = False
    special: bool = True
    scale: str = "linear"


@dataclass(frozen=True)
class HeadMap:
    """A head's map in a view: R labels and as many numbers (from 1), and the weights ``[R, R]``."""

    labels: tuple[str, ...]
    numbers: tuple[int, ...]
    weights: Weights


@dataclass(frozen=True)
class Exploration:
    """A sentence as it was measured: `scores` by scope, `findings` strongest first."""

    attention: AttentionMap
    scores: Mapping[str, HeadScores]
    findings: tuple[Finding, ...]

    @cached_property
    def weights(self) -> Weights:
        """The weights of all heads, float32 ``[layers, heads, query, key]``."""
        weights: NDArray[np.float32] = self.attention.weights.numpy()
        return weights

    @cached_property
    def top(self) -> float:
        """The weight at which the linear color scale ends, the same for all heads."""
        return scale_top(self.weights)

    @property
    def shape(self) -> Head:
        """How many layers there are, and heads in each."""
        return self.weights.shape[0], self.weights.shape[1]

    def head_map(self, head: Head, view: View) -> HeadMap:
        """Return the map of a head; without special tokens its rows sum to 1 again."""
        tokens = self.attention.encoding.tokens
        kept = [position for position, token in enumerate(tokens) if view.special or not token.special]
        weights = self.weights[head]
        if not view.special:
            weights = without_special(weights, [token.special for token in tokens])
        if not view.words:
            labels = [printable(tokens[position].text) for position in kept]
            return HeadMap(tuple(labels), tuple(position + 1 for position in kept), weights)
        shown = [tokens[position] for position in kept]
        words = word_ranges(shown)
        labels = [printable(self._word([shown[position] for position in word])) for word in words]
        return HeadMap(tuple(labels), tuple(range(1, len(words) + 1)), by_word(weights, words))

    def _word(self, tokens: list[Token]) -> str:
        """Return the label of a word: its part of the sentence, or the name of a special token."""
        first, last = tokens[0], tokens[-1]
        return first.text if first.special else visible(self.attention.encoding.sentence.text[first.start : last.end])

    def ranking(self, statistic: str, scope: str) -> list[Head]:
        """Return the heads that have a value of a statistic, the largest first, equal ones in their order."""
        values = self.scores[scope].values[statistic].ravel()
        order = np.argsort(-values, kind="stable")[: int(np.isfinite(values).sum())]
        return [self._head(index) for index in order]

    def rank(self, head: Head, statistic: str, scope: str) -> tuple[int, int]:
        """Return a head's place by a statistic, 1 for the largest value, and how many heads have one."""
        values: Floats = self.scores[scope].values[statistic]
        return int((values > values[head]).sum()) + 1, int(np.isfinite(values).sum())

    def neighbors(self, head: Head, scope: str) -> list[tuple[Head, float]]:
        """Return the other heads with their mean Jensen–Shannon divergence from a head, in nats, the nearest first."""
        view = scope_view(self.attention, scope)
        layers, heads = self.shape
        own = head[0] * heads + head[1]
        needed = torch.zeros(layers * heads, layers * heads, dtype=torch.bool)
        needed[own] = needed[:, own] = True
        needed[own, own] = False
        distances = mean_divergences(view.weights.flatten(0, 1), view.valid.flatten(0, 1), needed)[own].numpy()
        nearest = [int(index) for index in np.argsort(distances, kind="stable") if np.isfinite(distances[index])]
        return [(self._head(index), float(distances[index])) for index in nearest]

    def _head(self, index: int) -> Head:
        layer, head = divmod(int(index), self.shape[1])
        return layer, head


def explored(sentence: Sentence, encoder: Encoder) -> Exploration:
    """Return a sentence measured, cut where it is longer than the model takes."""
    encoding = encoder.encode(sentence)
    attention = encoder.observe(encoding)
    scores = score_heads(attention)
    even = even_scores(encoding, encoder.info.reach, encoder.info.layers)
    return Exploration(attention, scores, find(Evidence(encoding, scores, even)))


def best_scope(statistic: str, scope: str | None) -> str:
    """Return the scope to show a statistic in: the one asked for, else the content where it is defined there.

    Raises InputError for a scope in which the statistic is not defined.
    """
    defined = REGISTRY[statistic].scopes
    if scope and scope not in defined:
        raise InputError("statistic_scope", name=statistic, scope=scope)
    return scope or defined[-1]
