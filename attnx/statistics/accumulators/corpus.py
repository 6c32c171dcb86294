"""All accumulators together: of each input file, and of all of them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from attnx.statistics.accumulators.comparison import compare
from attnx.statistics.accumulators.group import Group
from attnx.statistics.accumulators.results import CorpusResult
from attnx.statistics.accumulators.shape import Shape
from attnx.statistics.accumulators.state import Arrays, StateError, below, prefixed, taken
from attnx.streaming.records import Batch, BatchScores, MapObserver

VERSION = 1
# Each file takes some 60 MB with 144 heads, so beyond this many all are one.
MOST_GROUPS = 8


class Corpus:
    """What is known of a corpus so far.

    Results do not depend on batches, on order, or on how a corpus is split among accumulators that are merged, up to
    rounding; chance goes by the seed and the sentences' numbers.
    """

    def __init__(self, shape: Shape, groups: int = 1) -> None:
        self.shape = shape
        self.apart = 1 < groups <= MOST_GROUPS
        self.groups = [Group(shape) for _ in range(groups if self.apart else 1)]

    def observers(self) -> Sequence[MapObserver]:
        """Return what has to see the maps of a stream; to be called once."""
        return [_Split(of, self._members) for of in zip(*(group.observers() for group in self.groups), strict=True)]

    def update(self, scores: BatchScores) -> None:
        """Add the scores of a batch."""
        for group, members in self._members(scores.batch):
            self.groups[group].update(_part(scores, members))

    def merge(self, other: "Corpus") -> None:
        """Add what another has seen of other sentences of the same files; raises StateError for another shape."""
        if (other.shape, len(other.groups)) != (self.shape, len(self.groups)):
            raise StateError("another shape or other groups")
        for own, more in zip(self.groups, other.groups, strict=True):
            own.merge(more)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save, between two batches; none needs pickling."""
        state: dict[str, NDArray[Any]] = dict(self._key())
        for i, group in enumerate(self.groups):
            state |= prefixed(str(i), group.state())
        return state

    @classmethod
    def from_state(cls, shape: Shape, groups: int, state: Arrays) -> "Corpus":
        """Return what was saved; raises StateError unless it belongs to this shape, these groups and this version."""
        corpus = cls(shape, groups)
        for name, expected in corpus._key().items():
            if not np.array_equal(taken(state, name, expected.shape, expected.dtype), expected):
                raise StateError(f"another {name}")
        corpus.groups = [Group.from_state(shape, below(str(i), state)) for i in range(len(corpus.groups))]
        return corpus

    def result(self) -> CorpusResult:
        """Return all that is known."""
        if not self.apart:
            return CorpusResult(self.groups[0].result(), (), {})
        whole = Group(self.shape)
        for group in self.groups:
            whole.merge(group)
        groups = tuple(group.result() for group in self.groups)
        comparisons = {scope: compare([group.scopes[scope] for group in groups]) for scope in self.shape.names}
        return CorpusResult(whole.result(), groups, comparisons)

    def _key(self) -> dict[str, NDArray[Any]]:
        """Return what a saved state must agree with."""
        shape = self.shape
        names = [f"{scope}:{name}" for scope, names in shape.names.items() for name in names]
        reach = [[-1 if limit is None else limit for limit in limits] for limits in shape.reach]
        return {
            "version": np.array(VERSION),
            "shape": np.array([shape.layers, shape.heads, shape.seed, len(self.groups)]),
            "names": np.array("\n".join(names)),
            "reach": np.array(reach, dtype=np.int64).reshape(-1, 2),
        }

    def _members(self, batch: Batch) -> list[tuple[int, NDArray[np.int64]]]:
        """Return the groups of a batch, and which sentences are theirs."""
        if not self.apart:
            return [(0, np.arange(len(batch.numbers)))]
        return [(int(group), np.flatnonzero(batch.groups == group)) for group in np.unique(batch.groups)]


Members = Callable[[Batch], list[tuple[int, NDArray[np.int64]]]]


class _Split:
    """An observer that shows each group's observer the sentences of that group."""

    def __init__(self, observers: Sequence[MapObserver], members: Members) -> None:
        self.observers, self.members = observers, members
        self._views: list[tuple[MapObserver, Batch, NDArray[np.int64]]] = []

    def wanted(self, batch: Batch) -> NDArray[np.bool_]:
        """Return what any group wants of its sentences."""
        wanted = np.zeros(len(batch.numbers), dtype=np.bool_)
        asked = []
        for group, members in self.members(batch):
            part = _batch(batch, members)
            own = self.observers[group].wanted(part)
            wanted[members] = own
            asked.append((self.observers[group], part, members[own]))
        place = np.cumsum(wanted) - 1
        self._views = [(observer, part, place[seen]) for observer, part, seen in asked if len(seen)]
        return wanted

    def observe(self, layer: int, weights: torch.Tensor, batch: Batch) -> None:
        """Show each group its maps."""
        for observer, part, seen in self._views:
            observer.observe(layer, weights if len(seen) == len(weights) else weights[torch.from_numpy(seen)], part)

    def finish(self, batch: Batch) -> None:
        """Finish each group that wanted any sentence."""
        for observer, part, _ in self._views:
            observer.finish(part)
        self._views = []


def _batch(batch: Batch, members: NDArray[np.int64]) -> Batch:
    """Return some sentences of a batch."""
    if len(members) == len(batch.numbers):
        return batch
    return Batch(batch.numbers[members], tuple(batch.encodings[i] for i in members), batch.groups[members])


def _part(scores: BatchScores, members: NDArray[np.int64]) -> BatchScores:
    """Return the scores of some sentences of a batch."""
    if len(members) == len(scores.batch.numbers):
        return scores
    values = {scope: of[members] for scope, of in scores.values.items()}
    rows = {scope: of[members] for scope, of in scores.rows.items()}
    return BatchScores(_batch(scores.batch, members), values, rows)
