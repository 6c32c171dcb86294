"""The steps of a head, from the input to the weights, and from the weights to what the head writes.

For a text of T tokens, with X ``[T, D]`` the input of the layer and d the width of a head:

    Q = X W_Q + b_Q, K = X W_K + b_K, V = X W_V + b_V     [T, d]
    P = softmax(Q K^T / √d + M)                           [T, T]
    C = P V, what is written: C W_O                       [T, d], [T, D]

The norm-based weight of Kobayashi et al. 2020 is n_ij = p_ij ‖v_j W_O‖, here with rows that sum to 1: how long a vector
token j adds to token i. A value has its bias, W_O has none.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from attnx.encoders.checks import tolerance
from attnx.encoders.encoder import Encoder
from attnx.encoders.projections import Head, observe_heads
from attnx.encoders.records import Encoding
from attnx.errors import InputError

SAME = 2e-5  # what another order of additions may change in a weight


@dataclass(frozen=True, eq=False)
class Steps:
    """The arrays that a head computes one from the other, float32; see the formulas above.

    `query`, `key`, `value` and `context` are ``[T, d]``, `written` is ``[T, D]``, `lengths` ‖v_j W_O‖ is ``[T]``, the
    others are ``[T, T]``.
    """

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    products: torch.Tensor
    scores: torch.Tensor
    mask: torch.Tensor
    weights: torch.Tensor
    context: torch.Tensor
    written: torch.Tensor
    lengths: torch.Tensor
    norms: torch.Tensor


@dataclass(frozen=True, eq=False)
class Recomputed:
    """A text, its weights ``[L, H, T, T]`` and the same by norms, both float32, and what each head computes from.

    `difference` is the largest between a recomputed weight and the model's own.
    """

    encoding: Encoding
    weights: torch.Tensor
    norms: torch.Tensor
    heads: list[list[Head]]
    difference: float


def follow(head: Head) -> Steps:
    """Compute what a head computes, in plain steps. A text alone has no padding, so its mask hides nothing."""
    query, key, value = head.query(head.input), head.key(head.input), head.value(head.input)
    products = query @ key.T
    scores = products * key.shape[1] ** -0.5
    mask = torch.zeros_like(scores)
    weights = (scores + mask).softmax(-1)
    context = weights @ value
    lengths = (value @ head.output).norm(dim=-1)
    contributions = weights * lengths
    norms = contributions / contributions.sum(-1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)
    return Steps(query, key, value, products, scores, mask, weights, context, context @ head.output, lengths, norms)


def recompute(encoder: Encoder, encoding: Encoding) -> Recomputed:
    """Recompute all heads from one forward pass.

    Raises InputError (``no_projections``) where the layout of the matrices is not known, or where there is more to
    the model's weights than these steps: rotations, or biases for distances.
    """
    attention, layers = observe_heads(encoder, encoding)
    own, norms, difference = attention.weights, torch.empty_like(attention.weights), 0.0
    for layer, heads in enumerate(layers):
        for i, head in enumerate(heads):
            steps = follow(head)
            norms[layer, i] = steps.norms
            difference = max(difference, float((steps.weights - own[layer, i]).abs().max()))
    exact = next(encoder.model.parameters()).dtype == torch.float32
    if difference > (SAME if exact else tolerance(encoder.model)):
        raise InputError("no_projections", type=encoder.info.type)
    return Recomputed(encoding, own, norms, layers, difference)
