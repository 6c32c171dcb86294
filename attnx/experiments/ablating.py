"""Texts under many changes of heads, and how far each moves the last hidden states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

from attnx.encoders.encoder import Encoder
from attnx.encoders.interventions import edits
from attnx.encoders.interventions.records import Change, HeadEdit, Variant
from attnx.encoders.interventions.run import intervene
from attnx.encoders.records import Encoding
from attnx.experiments.batching import variant_batches
from attnx.experiments.records import Advance, Floats
from attnx.experiments.states import moved

Head = tuple[int, int]


def heads_of(encoder: Encoder) -> list[Head]:
    """Return all heads, layer after layer."""
    return list(product(range(encoder.info.layers), range(encoder.info.heads)))


def moves(encoder: Encoder, encoding: Encoding, variants: Sequence[Variant], advance: Advance) -> Floats:
    """Return how far the states of a text move under each variant, ``[variants]``; see `moved`."""
    before = intervene(encoder, [encoding], [Variant()]).states[0]
    found = []
    for some in variant_batches(encoder, encoding, variants):
        found.append(moved(intervene(encoder, [encoding] * len(some), some).states, before).numpy())
        advance(len(some))
    return np.concatenate(found)


def each_alone(encoder: Encoder, change: Callable[[Head], Change]) -> list[Variant]:
    """Return a variant for each head, in which it alone is changed."""
    return [Variant((HeadEdit(*head, change(head)),)) for head in heads_of(encoder)]


def all_but_one(encoder: Encoder) -> list[Variant]:
    """Return a variant for each head, in which it is the only one of its layer that has an output."""
    heads = range(encoder.info.heads)
    return [
        Variant(tuple(HeadEdit(layer, other, edits.zero) for other in heads if other != head))
        for layer, head in heads_of(encoder)
    ]


def cumulative(order: Sequence[Head], counts: Sequence[int]) -> list[Variant]:
    """Return variants in which the first so many heads of an order have no output."""
    return [Variant(tuple(HeadEdit(*head, edits.zero) for head in order[:count])) for count in counts]


@dataclass(frozen=True, eq=False)
class PlaceMeans:
    """The mean weights of each head by place alone: what is left when a head no longer looks at what stands there.

    Weights ``[L, H, C]`` are means over all rows of some texts in which two places have the same relation: the same
    offset j − i between tokens of the text; from a token of the text to the first, second, ... special token, or
    back; from one special token to another.
    """

    width: int
    specials: int
    weights: torch.Tensor

    def change(self, encoding: Encoding) -> Callable[[Head], Change]:
        """Return the change of a head to its mean map, in which each row is rescaled to sum to 1 over what it sees."""
        classes = relations(encoding, self.width, self.specials)

        def of(head: Head) -> Change:
            own = self.weights[head][classes].clamp(min=torch.finfo(torch.float32).tiny).float()

            def replace(weights: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
                kept = own.to(weights.device) * seen
                return kept / kept.sum(-1, keepdim=True)

            return replace

        return of


def place_means(encoder: Encoder, encodings: Sequence[Encoding]) -> PlaceMeans:
    """Return the mean weights by place of all texts together."""
    width = max(len(encoding.ids) for encoding in encodings)
    specials = max(sum(encoding.special) for encoding in encodings)
    classes = 2 * width + 2 * specials + specials**2
    sums = torch.zeros(encoder.info.layers, encoder.info.heads, classes, dtype=torch.float64)
    counts = torch.zeros(classes, dtype=torch.float64)
    for encoding in encodings:
        places = relations(encoding, width, specials).flatten()
        sums.index_add_(-1, places, encoder.observe(encoding).weights.double().flatten(2))
        counts.index_add_(0, places, torch.ones(len(places), dtype=torch.float64))
    return PlaceMeans(width, specials, sums / counts.clamp(min=1))


def relations(encoding: Encoding, width: int, specials: int) -> torch.Tensor:
    """Return the relation of every query to every key, numbers ``[T, T]``, for texts of at most `width` tokens."""
    special = torch.tensor(encoding.special)
    places = torch.arange(len(special))
    ordinal = special.cumsum(0) - 1
    row, column = ordinal[:, None].expand(-1, len(special)), ordinal.expand(len(special), -1)
    start = 2 * width
    offsets = places - places[:, None] + width
    of_query = torch.where(special, start + 2 * specials + row * specials + column, start + specials + row)
    return torch.where(special[:, None], of_query, torch.where(special, start + column, offsets))


KINDS: Mapping[str, Callable[[PlaceMeans, Encoding], Callable[[Head], Change]]] = {
    "removed": lambda means, encoding: lambda head: edits.zero,
    "uniform": lambda means, encoding: lambda head: edits.uniform,
    "place_mean": lambda means, encoding: means.change(encoding),
    "identity": lambda means, encoding: lambda head: edits.identity,
}
