"""What passes through a stream: batches of sentences, the scores of their heads, sentences that were refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from attnx.encoders.records import Encoding
from attnx.statistics import REGISTRY, SCOPES

if TYPE_CHECKING:
    import torch

# The nearest head of one sentence compares every head with every other; a corpus does so on a sample.
SAMPLED = "nearest_head"

# The statistics of each scope, in the order of their registration.
NAMES: Mapping[str, tuple[str, ...]] = {
    scope: tuple(name for name, statistic in REGISTRY.items() if scope in statistic.scopes and name != SAMPLED)
    for scope in SCOPES
}


@dataclass(frozen=True)
class Batch:
    """B sentences of one token count T.

    `numbers` ``[B]`` are their running numbers, int64; `groups` ``[B]`` the index of the input file that each is from.
    """

    numbers: NDArray[np.int64]
    encodings: tuple[Encoding, ...]
    groups: NDArray[np.int64]

    @property
    def tokens(self) -> int:
        """The token count T that all have."""
        return len(self.encodings[0].ids)


@dataclass(frozen=True)
class BatchScores:
    """The scores of every head on each sentence of a batch.

    `values` maps a scope to float64 ``[B, layers, heads, S]``, the statistics as `NAMES` has them, NaN where not
    defined. `rows` maps it to int64 of the same shape: how many rows a row statistic is the mean of, or, for a
    statistic of the whole map, how many rows the map has; 0 where the score is not defined.
    """

    batch: Batch
    values: Mapping[str, NDArray[np.float64]]
    rows: Mapping[str, NDArray[np.int64]]


@dataclass(frozen=True)
class Refused:
    """A sentence that cannot be measured: its running number, and the error's key under ``errors`` and values."""

    number: int
    key: str
    values: Mapping[str, object]


class MapObserver(Protocol):
    """Looks at the maps themselves, which are gone afterwards."""

    def wanted(self, batch: Batch) -> NDArray[np.bool_]:
        """Return which sentences' maps it wants to see, ``[B]``; asked once a batch, before the forward pass."""

    def observe(self, layer: int, weights: torch.Tensor, batch: Batch) -> None:
        """See the maps of one layer, float32 ``[b, heads, T, T]``, of the b sentences it wanted, in their order."""

    def finish(self, batch: Batch) -> None:
        """Go on after the last layer of a batch of which it wanted any sentence."""
