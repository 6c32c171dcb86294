"""The accumulators of one set of sentences."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnx.statistics.accumulators.averages import Averages
from attnx.statistics.accumulators.distances import Distances
from attnx.statistics.accumulators.mean_maps import MeanMaps
from attnx.statistics.accumulators.moments import Lengths, Moments
from attnx.statistics.accumulators.profiles import Profiles
from attnx.statistics.accumulators.quadrants import quadrants
from attnx.statistics.accumulators.results import GroupResult
from attnx.statistics.accumulators.shape import Shape
from attnx.statistics.accumulators.state import Arrays, below, prefixed
from attnx.statistics.accumulators.variability import Variability
from attnx.streaming.records import BatchScores, MapObserver


class Group:
    """All accumulators of the sentences of one input file, or of all files."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.lengths = Lengths()
        self.moments = {scope: Moments(shape, scope) for scope in shape.names}
        self.mean_maps, self.profiles = MeanMaps(shape), Profiles(shape)
        self.variability, self.distances = Variability(shape), Distances(shape)

    def observers(self) -> Sequence[MapObserver]:
        """Return what has to see the maps."""
        return Averages(self.shape, self.mean_maps, self.profiles), self.variability, self.distances

    def update(self, scores: BatchScores) -> None:
        """Add the scores of a batch."""
        self.lengths.update(scores.batch.tokens, len(scores.batch.numbers))
        for moments in self.moments.values():
            moments.update(scores)

    def merge(self, other: "Group") -> None:
        """Add what another has seen of other sentences."""
        self.lengths.merge(other.lengths)
        for scope, moments in self.moments.items():
            moments.merge(other.moments[scope])
        self.mean_maps.merge(other.mean_maps)
        self.profiles.merge(other.profiles)
        self.variability.merge(other.variability)
        self.distances.merge(other.distances)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save."""
        return {
            "lengths": self.lengths.counts,
            **prefixed("mean_maps", self.mean_maps.state()),
            **prefixed("profiles", self.profiles.state()),
            **prefixed("variability", self.variability.state()),
            **prefixed("distances", self.distances.state()),
            **{
                name: array
                for scope, moments in self.moments.items()
                for name, array in prefixed(f"moments/{scope}", moments.state()).items()
            },
        }

    @classmethod
    def from_state(cls, shape: Shape, state: Arrays) -> "Group":
        """Return what was saved; raises StateError where it does not fit."""
        group = cls(shape)
        group.lengths = Lengths.from_state(state)
        group.mean_maps = MeanMaps.from_state(shape, below("mean_maps", state))
        group.profiles = Profiles.from_state(shape, below("profiles", state))
        group.variability = Variability.from_state(shape, below("variability", state))
        group.distances = Distances.from_state(shape, below("distances", state))
        group.moments = {
            scope: Moments.from_state(shape, scope, below(f"moments/{scope}", state)) for scope in shape.names
        }
        return group

    def result(self) -> GroupResult:
        """Return all that is known of these sentences."""
        sentences, tokens = np.sum(self.lengths.counts, 0).tolist()
        maps, sample = self.mean_maps.result(), self.variability.result()
        return GroupResult(
            sentences,
            tokens,
            {scope: moments.result() for scope, moments in self.moments.items()},
            self.lengths.strata({scope: moments.strata() for scope, moments in self.moments.items()}),
            maps,
            sample,
            self.profiles.result(),
            self.distances.result(),
            quadrants(maps, sample),
        )
