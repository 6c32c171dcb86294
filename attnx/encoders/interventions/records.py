"""What is changed in a model's attention, and what comes out.

Layers and heads are counted from 0, T is the length of the longest text of a batch and t that of a text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import torch

# Given the weights of n heads and which keys each row can see, bool, both [n, T, T]: the weights to use instead.
Change = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
# The layers where something is changed, None for all.
Layers = frozenset[int] | None


@dataclass(frozen=True)
class HeadEdit:
    """Other weights for one head, before they meet the values; `attnx.encoders.interventions.edits` has some."""

    layer: int
    head: int
    change: Change


@dataclass(frozen=True)
class Scale:
    """Multiply the products of queries and keys by `factor`: √d of a head's width d takes the division by it away.

    Position biases, masks and learned sinks, which a model adds to the products, stay as they are.
    """

    factor: float
    layers: Layers = None


@dataclass(frozen=True, eq=False)
class Mask:
    """Add `scores` ``[t, t]`` to the scores of all heads, on top of the model's own mask."""

    scores: torch.Tensor
    layers: Layers = None


@dataclass(frozen=True)
class Merge:
    """Make `groups` wide heads of H: the H / groups heads of a group, which are neighbors, share their weights.

    The scores of a group of m heads are the sum of the heads' own, divided by √m, for the group's queries and keys
    are m times as wide. This is the model rebuilt with ``num_attention_heads = groups`` and the same parameters where
    it divides scores by √d; not under rotary positions, which a rebuilt model would spread over the wider heads.
    """

    groups: int
    layers: Layers = None


T = TypeVar("T", Scale, Mask, Merge)


@dataclass(frozen=True)
class Variant:
    """All that is changed in one run of a text; without arguments, nothing.

    Scores are scaled first, then masked and merged, and at last heads get other weights.
    """

    heads: tuple[HeadEdit, ...] = ()
    scale: Scale | None = None
    mask: Mask | None = None
    merge: Merge | None = None

    def at(self, layer: int) -> Variant:
        """Return what of it acts in a layer."""
        return Variant(
            tuple(edit for edit in self.heads if edit.layer == layer),
            _acting(self.scale, layer),
            _acting(self.mask, layer),
            _acting(self.merge, layer),
        )


def _acting(change: T | None, layer: int) -> T | None:
    return change if change is not None and (change.layers is None or layer in change.layers) else None


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a batch of B texts, padded on the right, became.

    `attention` has float32 ``[B, H, T, T]`` for each layer: the weights that met the values, all 0 for a head whose
    output is taken away. `states` are the last hidden states, float32 ``[B, T, D]``. Rows and columns of padding mean
    nothing.
    """

    attention: tuple[torch.Tensor, ...]
    states: torch.Tensor
