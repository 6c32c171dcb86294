"""Changes of attention by way of transformers' attention interface: the model's own mathematics, with other numbers.

The implementation ``attnx_changed`` is registered once in the process. A model runs it only while `changing`; where
nobody changes anything, it does what ``eager`` does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers.masking_utils import AttentionMaskInterface, eager_mask
from transformers.modeling_utils import AttentionInterface

from attnx.encoders.implementation import eager_of, implementation
from attnx.encoders.interventions.call import Call
from attnx.encoders.interventions.changes import change_heads, masked, merge, scaled
from attnx.encoders.interventions.records import Variant

NAME = "attnx_changed"


@dataclass
class Running:
    """One forward pass, row i of whose batch runs under variant i, and the weights of the layers that are done.

    `kind` is the model type, which errors name.
    """

    variants: Sequence[Variant]
    kind: str
    layers: list[torch.Tensor] = field(default_factory=list)

    def attend(self, call: Call) -> torch.Tensor:
        """Return the output of the next layer, ``[B, T, H, d]``."""
        rows = [variant.at(len(self.layers)) for variant in self.variants]
        call = scaled(call, rows) if any(row.scale for row in rows) else call
        call = masked(call, rows) if any(row.mask for row in rows) else call
        context, weights = call.run()
        merge(call, context, weights, rows, self.kind)
        change_heads(call, context, weights, rows)
        self.layers.append(weights)
        return context


_running: ContextVar[Running | None] = ContextVar("running", default=None)


@contextlib.contextmanager
def changing(model: torch.nn.Module, kind: str, variants: Sequence[Variant]) -> Iterator[Running]:
    """Let the next forward pass of a model of type `kind` run under variants, one for each row of its batch."""
    running = Running(variants, kind)
    token = _running.set(running)
    try:
        with implementation(model, NAME):
            yield running
    finally:
        _running.reset(token)


def _attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **options: Any,  # noqa: ANN401 - whatever a model gives its attention
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Compute what the module's own eager attention computes, ``[B, T, H, d]``, with what is to be changed in it."""
    eager = eager_of(module)
    call = Call(eager, module, query, key, value, attention_mask, options)
    running = _running.get()
    return call.run() if running is None else (running.attend(call), None)


AttentionInterface.register(NAME, _attention)
AttentionMaskInterface.register(NAME, eager_mask)
