"""What is changed in one layer's attention: its scores before the call, rows of its result afterwards.

`rows` is what acts in the layer, for each row of the batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import torch

from attnx.encoders.checks import TOLERANCES
from attnx.encoders.interventions.call import Call
from attnx.encoders.interventions.records import Change, Variant
from attnx.errors import InputError

# How much less than a row's sum a weight may differ: what else goes into scores may be small.
STRICTER = 10


def scaled(call: Call, rows: Sequence[Variant]) -> Call:
    """Return the call with queries multiplied, which multiplies their products with the keys."""
    factors = [row.scale.factor if row.scale else 1.0 for row in rows]
    return replace(call, query=call.query * call.query.new_tensor(factors)[:, None, None, None])


def masked(call: Call, rows: Sequence[Variant]) -> Call:
    """Return the call with further masks added to the model's own."""
    size = call.query.shape[2]
    added = call.query.new_zeros(len(rows), 1, size, size)
    for i, row in enumerate(rows):
        if row.mask:
            length = len(row.mask.scores)
            added[i, 0, :length, :length] = row.mask.scores
    return replace(call, mask=added if call.mask is None else call.mask + added)


def merge(call: Call, context: torch.Tensor, weights: torch.Tensor, rows: Sequence[Variant], kind: str) -> None:
    """Put the output and weights of merged heads into a call's results, `context` ``[B, T, H, d]`` and `weights`.

    Raises InputError (``no_merging``), which names the model type `kind`, where scores are more than products of
    queries and keys, and so have no sum that a model with fewer heads would have.
    """
    for i, row in enumerate(rows):
        if row.merge:
            own = slice(i, i + 1)
            mask = call.mask if call.mask is None or len(call.mask) == 1 else call.mask[own]
            one = replace(call, query=call.query[own], key=call.key[own], value=call.value[own], mask=mask)
            if not _only_products(one, weights[own]):
                raise InputError("no_merging", type=kind)
            context[own], weights[own] = _merged(one, row.merge.groups)


def _only_products(call: Call, weights: torch.Tensor) -> bool:
    """Tell whether the weights of a call are those of the heads' own queries and keys and of one mask for all heads."""
    if call.key.shape != call.query.shape or (call.mask is not None and call.mask.shape[1] != 1):
        return False
    expected = _weights(call, call.scaling)
    # torch.allclose takes ten times as long.
    return bool((expected - weights).abs().max() <= TOLERANCES[weights.dtype] / STRICTER)


def _weights(call: Call, scaling: float) -> torch.Tensor:
    scores = call.query @ call.key.transpose(2, 3) * scaling
    scores = scores if call.mask is None else scores + call.mask
    return scores.softmax(-1, dtype=torch.float32).to(scores.dtype)


def _merged(call: Call, groups: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the output ``[1, T, H, d]`` and the weights ``[1, H, T, T]`` of heads merged into groups."""
    members = call.query.shape[1] // groups
    query, key, value = (_wide(tensor, groups) for tensor in (call.query, call.key, call.value))
    weights = _weights(replace(call, query=query, key=key), call.scaling * members**-0.5)
    output = (weights @ value).transpose(1, 2)
    return output.reshape(*output.shape[:2], *call.query.shape[1::2]), weights.repeat_interleave(members, 1)


def _wide(heads: torch.Tensor, groups: int) -> torch.Tensor:
    """Make ``[B, groups, T, m d]`` of m neighboring heads each, ``[B, H, T, d]``."""
    batch, _heads, size, _width = heads.shape
    return heads.transpose(1, 2).reshape(batch, size, groups, -1).transpose(1, 2)


def change_heads(call: Call, context: torch.Tensor, weights: torch.Tensor, rows: Sequence[Variant]) -> None:
    """Give heads other weights, and put these and the outputs that they make into a call's results."""
    places: dict[Change, list[tuple[int, int]]] = defaultdict(list)
    for i, row in enumerate(rows):
        for edit in row.heads:
            places[edit.change].append((i, edit.head))
    if not places:
        return
    seen = call.seen()
    shared = call.query.shape[1] // call.value.shape[1]
    for change, found in places.items():
        batch, heads = torch.tensor(found, device=weights.device).T
        changed = change(weights[batch, heads], seen[batch, heads]).to(weights.dtype)
        weights[batch, heads] = changed
        context[batch, :, heads] = changed @ call.value[batch, heads // shared]
