"""A model whose H heads are merged into g, in place and run again, on one text after the other.

Merged heads have the sum of their members' scores, divided by √m for m = H / g members. As p_h = softmax of the
scores of head h, the merged weights are p ∝ Π_h p_h^(1/√m): so they are known from the model's own weights where the
input of a layer does not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from attnx.encoders.encoder import Encoder, rows_at_once
from attnx.encoders.interventions.records import Merge, Variant
from attnx.encoders.interventions.run import intervene
from attnx.encoders.records import Encoding
from attnx.errors import InputError
from attnx.experiments.records import Advance


@dataclass(frozen=True, eq=False)
class Merged:
    """A text under `groups` heads: weights float32 ``[L, H, T, T]``, equal for the heads of a group, in three ways.

    `again` are those of the model run again with merged heads in all layers, `place` those of each layer with the input
    that it has without a change, and `mean` the mean of the members' own weights. `states` ``[T, D]`` are the last
    hidden states of the model run again. With as many groups as heads all three are the model's own.
    """

    groups: int
    again: torch.Tensor
    place: torch.Tensor
    mean: torch.Tensor
    states: torch.Tensor


def divisors(encoder: Encoder) -> tuple[int, ...]:
    """Return the numbers of heads that H heads can be merged into, H first. Raises InputError for a single head."""
    heads = encoder.info.heads
    if heads == 1:
        raise InputError("one_head", type=encoder.info.type)
    return tuple(groups for groups in range(heads, 0, -1) if heads % groups == 0)


def merge_heads(encoder: Encoder, encoding: Encoding, numbers: Sequence[int], advance: Advance) -> Iterator[Merged]:
    """Yield a text under each of some numbers of heads, the first of which is H. Raises what `intervene` raises."""
    size = rows_at_once(encoder, len(encoding.ids))
    own = None
    for start in range(0, len(numbers), size):
        some = numbers[start : start + size]
        outcome = intervene(encoder, [encoding] * len(some), [_variant(groups, encoder) for groups in some])
        for i, groups in enumerate(some):
            again = torch.stack([layer[i] for layer in outcome.attention])
            own = again if own is None else own
            yield Merged(groups, again, multiplied(own, groups), averaged(own, groups), outcome.states[i])
        advance(len(some))


def _variant(groups: int, encoder: Encoder) -> Variant:
    return Variant(merge=Merge(groups)) if groups < encoder.info.heads else Variant()


def multiplied(weights: torch.Tensor, groups: int) -> torch.Tensor:
    """Return p ∝ Π_h p_h^(1/√m) over the members h of each of some groups, for weights ``[L, H, T, T]``."""
    members = weights.shape[1] // groups
    if members == 1:
        return weights
    merged = []
    for layer in _members(weights, groups):  # one at a time, for they are in float64
        logs = layer.double().log().sum(1) * members**-0.5
        merged.append(logs.softmax(-1).float().repeat_interleave(members, 0))
    return torch.stack(merged)


def averaged(weights: torch.Tensor, groups: int) -> torch.Tensor:
    """Return the mean of the weights ``[L, H, T, T]`` over the members of each of some groups."""
    members = _members(weights, groups)
    return members.mean(2).repeat_interleave(members.shape[2], 1)


def _members(weights: torch.Tensor, groups: int) -> torch.Tensor:
    """Return the weights as ``[L, groups, m, T, T]``."""
    return weights.reshape(len(weights), groups, -1, *weights.shape[2:])
