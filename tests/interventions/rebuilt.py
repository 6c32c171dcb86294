"""What changed models are compared with: the model itself, and models that are rebuilt the way they are changed."""

import copy
from dataclasses import replace
from typing import Any

import torch

from attnx.encoders.encoder import Encoder
from attnx.encoders.records import Encoding

SAME = 1e-6
LAYERS, HEADS, WIDTH, SIZE = 2, 4, 16, 13


def close(one: torch.Tensor, other: torch.Tensor, allowed: float = SAME) -> bool:
    return bool((one - other).abs().max() <= allowed)


def states(encoder: Encoder, encoding: Encoding) -> torch.Tensor:
    """Return the last hidden states of the model itself, which nothing of attnx has run."""
    with torch.inference_mode():
        output: torch.Tensor = encoder.model(input_ids=torch.tensor([encoding.ids])).last_hidden_state
    return output


def without_heads(encoder: Encoder, places: list[tuple[int, int]]) -> Encoder:
    """Rebuild a BERT with the columns of the output matrix that belong to these heads at 0."""
    model: Any = copy.deepcopy(encoder.model)
    for layer, head in places:
        columns = slice(head * WIDTH, (head + 1) * WIDTH)
        model.encoder.layer[layer].attention.output.dense.weight.data[:, columns] = 0
    return replace(encoder, model=model)
