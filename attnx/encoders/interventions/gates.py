"""How fast the last hidden states move as the output of a head is turned down: importance by gradients.

A gate ξ, 1 in the model as it is, multiplies the output of each head before the output matrix. By the chain rule
∂L/∂ξ = Σ_i Att_iᵀ ∂L/∂Att_i, whose absolute value for a task's loss L is the importance of Michel et al. 2019,
section 4.1. An encoder alone has no task. Here L is a projection of the states on a random direction, of which many
are drawn: the root of the mean square of ∂L/∂ξ is then the speed of the states.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import torch
from transformers.masking_utils import AttentionMaskInterface, eager_mask
from transformers.modeling_utils import AttentionInterface

from attnx.encoders.attending import forward
from attnx.encoders.encoder import Encoder, rows_at_once
from attnx.encoders.implementation import eager_of, implementation
from attnx.encoders.records import Encoding

NAME = "attnx_gated"

_gates: ContextVar[Iterator[torch.Tensor]] = ContextVar("gates")


def importances(encoder: Encoder, encoding: Encoding, directions: int, seed: int) -> torch.Tensor:
    """Return √(1/T Σ_i ‖∂ŝ_i/∂ξ_h‖²) of every head, float64 ``[L, H]``, for unit states ŝ_i = s_i / ‖s_i‖.

    It is estimated from so many random `directions`, with a relative error of about 1 / √(2 · directions). The model
    must take interventions, which `intervene` tries.
    """
    chance = torch.Generator().manual_seed(seed)
    size = min(directions, rows_at_once(encoder, len(encoding.ids)))
    starts = range(0, directions, size)
    squares = [_gradients(encoder, encoding, min(size, directions - start), chance).square() for start in starts]
    return torch.cat(squares, 1).mean(1).sqrt()


def _gradients(encoder: Encoder, encoding: Encoding, rows: int, chance: torch.Generator) -> torch.Tensor:
    """Return ∂L/∂ξ for one direction a row, float64 ``[L, rows, H]``, on the processor."""
    device = next(encoder.model.parameters()).device
    gates = torch.ones(encoder.info.layers, rows, encoder.info.heads, device=device, requires_grad=True)
    token = _gates.set(iter(gates))
    try:
        with implementation(encoder.model, NAME):
            texts, languages = [encoding.ids] * rows, [encoding.sentence.language] * rows
            output = forward(encoder.model, encoder.adapter, texts, languages, {}, gradients=True)
    finally:
        _gates.reset(token)
    states = torch.nn.functional.normalize(output.last_hidden_state.float(), dim=-1)
    direction = torch.randn(states.shape, generator=chance).to(device)
    [gradient] = torch.autograd.grad((states * direction).sum() / len(encoding.ids) ** 0.5, gates)
    return gradient.double().cpu()


def _attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **options: Any,  # noqa: ANN401 - whatever a model gives its attention
) -> tuple[torch.Tensor, None]:
    """Compute what the module's own eager attention computes, ``[B, T, H, d]``, times the gates of the next layer."""
    eager = eager_of(module)
    context, _weights = eager(module, query, key, value, attention_mask, **options)
    return context * next(_gates.get()).to(context.dtype)[:, None, :, None], None


AttentionInterface.register(NAME, _attention)
AttentionMaskInterface.register(NAME, eager_mask)
