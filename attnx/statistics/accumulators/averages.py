"""The observer that adds maps up, for the mean maps and the profiles."""

import numpy as np
import torch
from numpy.typing import NDArray

from attnx.statistics.accumulators import mean_maps, profiles
from attnx.statistics.accumulators.chance import PROFILES, uniforms
from attnx.statistics.accumulators.folding import Pattern, fold, patterns, select
from attnx.statistics.accumulators.mean_maps import MeanMaps, Sums
from attnx.statistics.accumulators.profiles import Profiles
from attnx.statistics.accumulators.results import Floats
from attnx.statistics.accumulators.shape import Shape
from attnx.streaming.records import Batch

# Of texts of more than 32 tokens a share of 16 / T is looked at, each for T / 16 of them: a map has T * T weights.
ALWAYS = 32
SHARE = 16
# Weights that are worth the calls it takes to add them up.
ENOUGH = 1 << 20


class Averages:
    """Looks at the maps of all short texts and of some long ones; a MapObserver.

    Nothing is added before `finish`, so that a batch that fails halfway leaves no trace.
    """

    def __init__(self, shape: Shape, maps: MeanMaps, profile: Profiles) -> None:
        self.shape, self.maps, self.profile = shape, maps, profile
        self._patterns: list[Pattern] = []
        self._layers: list[torch.Tensor] = []
        self._done = 0
        self._sums: Sums | None = None
        self._profile: dict[str, Floats] = {}

    def wanted(self, batch: Batch) -> NDArray[np.bool_]:
        """Return all sentences of a short length, some of a long one."""
        wanted = uniforms(self.shape.seed, PROFILES, batch.numbers) < 1 / stands_for(batch.tokens)
        self._patterns = patterns([batch.encodings[i] for i in np.flatnonzero(wanted)])
        self._layers, self._done = [], 0
        self._profile = profiles.empty_profile(self.shape)
        self._sums = None
        if batch.tokens <= self.maps.longest:
            self._sums = mean_maps.empty_sums(self.shape, batch.tokens)
            for pattern in self._patterns:
                mean_maps.add_pattern(self._sums, pattern, self.shape)
        return wanted

    def observe(self, layer: int, weights: torch.Tensor, batch: Batch) -> None:
        """Take the maps of one layer; those of small layers are added up together."""
        # A copy, since the maps are gone afterwards.
        self._layers.append(weights.clone())
        if len(self._layers) * weights.numel() >= ENOUGH:
            self._add_up(batch)

    def finish(self, batch: Batch) -> None:
        """Take over what was added up."""
        self._add_up(batch)
        self.profile.add(self._profile)
        if self._sums is not None:
            self.maps.add(batch.tokens, self._sums)

    def _add_up(self, batch: Batch) -> None:
        if not self._layers:
            return
        layers = slice(self._done, self._done + len(self._layers))
        weights = torch.cat(self._layers, 1)
        weight = stands_for(batch.tokens)
        for pattern in self._patterns:
            folded = fold(select(weights, pattern.members), pattern.inner)
            profiles.add_fold(self._profile, layers, folded, pattern.inner, weight)
            if self._sums is not None:
                mean_maps.add_fold(self._sums, layers, folded)
        self._layers, self._done = [], layers.stop


def stands_for(tokens: int) -> float:
    """Return for how many texts of a length one that is looked at stands."""
    return 1.0 if tokens <= ALWAYS else tokens / SHARE
