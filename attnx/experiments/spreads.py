"""How far apart the heads are, and the spread of each layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnx.encoders.encoder import Encoder
from attnx.experiments.casting import roles_of
from attnx.experiments.measuring import measured, shape_of
from attnx.experiments.records import Advance, Floats
from attnx.statistics.accumulators.chance import DRAW, poisson_weights
from attnx.statistics.accumulators.distances import FEWEST_SENTENCES, INTERVAL, REPLICATES, Distances
from attnx.statistics.accumulators.results import DistanceResult
from attnx.texts.sentence import Sentence

CLEAR = 0.5  # of the rank correlation
PART = 3  # the first and the last third of the layers are compared
# The two scopes by what the accumulators call them.
SCOPES = {"content": "inner", "all": "all"}


@dataclass(frozen=True)
class Measured:
    """The distances by scope, and the role of every head ``[L][H]``."""

    scopes: dict[str, Spreads]
    roles: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Spreads:
    """The distances in one scope; `low` to `high` ``[L]`` is the 95 % bootstrap interval of each layer's spread."""

    found: DistanceResult
    low: Floats | None
    high: Floats | None

    @property
    def by_depth(self) -> Floats:
        """The spread of each layer ``[L]``, in nats."""
        return self.found.layers.diagonal()

    @property
    def trend(self) -> float:
        """The rank correlation of spread and depth; 0 where all layers have one spread."""
        return 0.0 if np.ptp(self.by_depth) == 0 else self.found.trend

    @property
    def rest(self) -> float:
        """The mean spread of the last third of the layers over that of the first; 1 where there is none."""
        third = len(self.by_depth) // PART
        first, last = self.by_depth[:third].mean(), self.by_depth[-third:].mean()
        return float(last / first) if first > 0 else 1.0

    @property
    def falls(self) -> bool:
        """Tell whether spread clearly falls with depth: the correlation is far below 0, and all of its interval is."""
        return self.trend <= -CLEAR and self.found.trend_high < 0


def measure(encoder: Encoder, sentences: Sequence[Sentence], seed: int, advance: Advance) -> Measured:
    """Return the distances in both scopes, and the roles."""
    distances = Distances(shape_of(encoder, seed))
    batches = list(measured(encoder, sentences, [distances], advance))
    scopes = {scope: Spreads(found, *_interval(distances, name)) for scope, name, found in _results(distances)}
    return Measured(scopes, roles_of(batches))


def _results(distances: Distances) -> list[tuple[str, str, DistanceResult]]:
    results = distances.result()
    return [(scope, name, results[name]) for scope, name in SCOPES.items()]


def _interval(distances: Distances, name: str) -> tuple[Floats | None, Floats | None]:
    """Return the bootstrap interval of each layer's spread over the sentences of the sample."""
    numbers = distances.sample.numbers()
    if len(numbers) < FEWEST_SENTENCES:
        return None, None
    shape = distances.shape
    spreads = np.array([spread_of(rows.divergences()[name], shape.layers) for _, rows in distances.sample])
    draws = poisson_weights(shape.seed, DRAW, numbers, REPLICATES)
    defined = ~np.isnan(spreads)
    drawn = draws @ defined
    means = np.where(drawn > 0, (draws @ np.where(defined, spreads, 0)) / np.maximum(drawn, 1), np.nan)
    low, high = np.nanpercentile(means, INTERVAL, axis=0)
    return low, high


def spread_of(divergences: Floats, layers: int) -> Floats:
    """Return the mean over the pairs of heads of each layer ``[L]``, of ``[L * H, L * H]`` with a diagonal of NaN."""
    blocks = divergences.reshape(layers, len(divergences) // layers, layers, -1)
    own = [blocks[layer, :, layer] for layer in range(layers)]
    return np.array([np.nan if np.isnan(block).all() else np.nanmean(block) for block in own])
