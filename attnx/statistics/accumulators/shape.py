"""What the accumulators know beforehand: the model's shape, the statistics, the seed."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from attnx.encoders.records import Encoding, Reach
from attnx.statistics.view import visible_keys

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Shape:
    """A model's `layers`, `heads` and `reach` (see ModelInfo), the names of the statistics of each scope, the seed."""

    layers: int
    heads: int
    names: Mapping[str, tuple[str, ...]]
    reach: tuple[Reach, ...] = ()
    seed: int = 0

    @property
    def all_heads(self) -> int:
        """The number of heads of all layers."""
        return self.layers * self.heads


def inner_tokens(encoding: Encoding) -> Mask:
    """Return which tokens are no sink tokens, ``[T]``: all but the special ones or, where there are none, the first.

    The special tokens of an encoder (Clark et al. 2019, section 3.2) and the first token of a model without any (Vig &
    Belinkov 2019; Xiao et al. 2023) take what attention a head has to spare, at places that have nothing to do
    with what the head follows.
    """
    inner = ~np.array(encoding.special, dtype=np.bool_)
    if inner.all():
        inner[:1] = False
    return inner


def visible(positions: NDArray[np.int64], shape: Shape) -> NDArray[np.int64]:
    """Return how many of the tokens at `positions` each of them can look at, ``[layers, positions]``."""
    places = torch.from_numpy(positions)
    counts: NDArray[np.int64] = visible_keys((places - places[:, None]).double(), shape.reach, shape.layers).numpy()
    return counts


def even_sinks(inner: Mask, shape: Shape) -> NDArray[np.float64]:
    """Return the weight that each inner token gives to sink tokens if it looks evenly at all it sees.

    float64 ``[layers, inner tokens]``.
    """
    everything = visible(np.arange(len(inner)), shape)[:, inner]
    shares: NDArray[np.float64] = 1 - visible(np.flatnonzero(inner), shape) / everything
    return shares
