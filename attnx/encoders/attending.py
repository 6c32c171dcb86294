"""One forward pass over a batch of unequal texts, and the attention weights that come out of it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from attnx.encoders.adapters import Adapter
from attnx.encoders.quiet import quiet

WEIGHTS_TOO = {"output_attentions": True}


def attend(
    model: torch.nn.Module, adapter: Adapter, texts: Sequence[Sequence[int]], languages: Sequence[str]
) -> list[torch.Tensor]:
    """Return the weights of every layer, ``[batch, heads, query, key]``, for the token ids of each text.

    Texts are padded on the right to the length T of the longest; rows and columns of padding mean nothing. The
    tensors are the model's own, on its device and in its type, and not checked. Raises what the model raises, and
    MemoryError when there is too little memory.
    """
    output = forward(model, adapter, texts, languages, WEIGHTS_TOO)
    return list(adapter.attentions(output, max(map(len, texts))))


def forward(
    model: torch.nn.Module,
    adapter: Adapter,
    texts: Sequence[Sequence[int]],
    languages: Sequence[str],
    options: Mapping[str, Any],
    *,
    gradients: bool = False,
) -> Any:  # noqa: ANN401 - the output of a transformers model
    """Run the model once over the token ids of each text, with further `options` of its own; see `attend`.

    The output can be differentiated if `gradients` are wanted.
    """
    size = max(map(len, texts))
    device = next(model.parameters()).device
    padding = _padding_id(model)
    ids = torch.tensor([[*text, *[padding] * (size - len(text))] for text in texts], device=device)
    mask = torch.tensor([[1] * len(text) + [0] * (size - len(text)) for text in texts], device=device)
    config = getattr(model, "config", None)
    inputs: dict[str, Any] = {
        "input_ids": ids,
        "attention_mask": mask,
        **adapter.inputs(config, ids, languages),
        **options,
        "return_dict": True,
    }
    taken = inspect.signature(model.forward).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values()):
        inputs = {name: value for name, value in inputs.items() if name in taken}
    try:
        with torch.inference_mode(not gradients), quiet():
            return model(**inputs)
    except RuntimeError as error:
        if isinstance(error, torch.OutOfMemoryError) or "allocate" in str(error):
            raise MemoryError from error  # torch has no type of its own for the processor's memory
        raise


def _padding_id(model: torch.nn.Module) -> int:
    """Return the id for padding: RoBERTa-like models count positions by it, to others it is all the same."""
    padding = getattr(getattr(model, "config", None), "pad_token_id", None)
    return padding if isinstance(padding, int) and padding >= 0 else 0
