"""A layer's attention in blocks, small enough for the processor's cache.

They are worked on one after the other, each by all of torch's threads: threads of our own would wait for those, which
go on spinning after every operation of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

# Weights of a block: few enough for the cache that all cores share, many enough that starting a pass costs little.
AT_ONCE = 1 << 20
# A graphics card has no such cache, but many more cores.
AT_ONCE_ELSEWHERE = 1 << 26


@dataclass(frozen=True)
class Part:
    """A part of a layer: some sentences of a batch, and some rows of each."""

    sentences: slice
    rows: slice


def block_size(device: torch.device) -> int:
    """Return how many weights to look at together."""
    return AT_ONCE if device.type == "cpu" else AT_ONCE_ELSEWHERE


def cut_layer(shape: Sequence[int], size: int, *, rows: bool) -> list[Part]:
    """Cut a layer ``[B, H, T, T]`` into parts of about `size` weights: some sentences or, if allowed, rows of one."""
    count, heads, length, _ = shape
    several = size // max(1, heads * length * length)
    if several or not rows:
        return [Part(sentences, slice(0, length)) for sentences in _slices(count, max(1, several))]
    step = max(1, size // (heads * length))
    return [Part(slice(i, i + 1), some) for i in range(count) for some in _slices(length, step)]


def _slices(length: int, step: int) -> list[slice]:
    """Return slices of at most `step`, all of about one size."""
    count = -(-length // step)
    borders = [length * i // count for i in range(count + 1)]
    return [slice(start, stop) for start, stop in pairwise(borders)]


def settle(weights: torch.Tensor, allowed: float, *, rescaled: bool) -> torch.Tensor:
    """Return weights as float32 rows that sum to 1; a row that is no attention becomes undefined.

    `allowed` is what rounding may do to the sum of a row. The sum is less where the weights are to be `rescaled`,
    because the model has a sink.
    """
    weights = weights.float()
    totals = weights.sum(-1, keepdim=True)
    good = (totals > (0 if rescaled else 1 - allowed)) & (totals <= 1 + allowed)
    return weights / torch.where(good, totals, torch.nan)
