"""A model without positions: nothing in it tells in which order its tokens stand."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch

from attnx.encoders.attending import attend
from attnx.encoders.checks import tolerance
from attnx.errors import InputError

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder
    from attnx.encoders.records import Encoding

# How transformers' models name what they know of positions: tables for places in the text, frequencies of rotations
# (without them every rotation is by 0), biases and vectors for distances.
POSITIONS = re.compile(
    r"(^|\.)(position_embeddings?|embed_positions|positions_embed|wpe|\w*inv_freq"
    r"|relative_attention_bias|rel_pos_bias|rel_embeddings)(\.weights?|\.position_embedding)?$"
)
# Rotations from a table of sines and then cosines; to turn by 0, the latter must be 1.
SINES_AND_COSINES = ("roformer",)
# Rotations that some models keep from one text to the next.
KEPT = ("cached_rotary_positional_embedding", "cached_sequence_length")
TRIED_TOKENS = 12
# What another order of additions may change in a weight of a model that computes in float32.
SAME = 2e-5


@contextlib.contextmanager
def positions_off(encoder: Encoder, encoding: Encoding) -> Iterator[None]:
    """Take positions away for the time of a block; the model is afterwards what it was.

    In the block, texts are bags of tokens: tokens in another order get the same weights in that order, in every
    layer. This is tried on the tokens of `encoding`, which should be the longest text that is run, for a window may
    lie outside shorter ones. Raises InputError (``positions_stay``) where it is not so: masks, windows and
    convolutions know places as well.
    """
    tables = [
        tensor
        for name, tensor in [*encoder.model.named_parameters(), *encoder.model.named_buffers()]
        if POSITIONS.search(name)
    ]
    before = [table.data for table in tables]
    try:
        _forget(encoder.model)
        for table in tables:
            table.data = torch.zeros_like(table)
            if encoder.info.type in SINES_AND_COSINES:
                table.data[:, table.shape[1] // 2 :] = 1
        if not (tables and _orderless(encoder, encoding)):
            raise InputError("positions_stay", type=encoder.info.type)
        yield
    finally:
        for table, data in zip(tables, before, strict=True):
            table.data = data
        _forget(encoder.model)


def _forget(model: torch.nn.Module) -> None:
    """Let the model make its rotations anew."""
    for module in model.modules():
        for name in KEPT:
            if hasattr(module, name):
                setattr(module, name, None)


def _orderless(encoder: Encoder, encoding: Encoding) -> bool:
    """Tell whether p(πx) = Π p(x) Πᵀ in every layer, for a permutation π of the text's tokens, at least a few."""
    size = max(len(encoding.ids), min(TRIED_TOKENS, encoder.max_tokens or TRIED_TOKENS))
    ids = (list(encoding.ids) * size)[:size]
    order = torch.randperm(size, generator=torch.Generator().manual_seed(0)).tolist()
    exact = next(encoder.model.parameters()).dtype == torch.float32
    allowed = SAME if exact else tolerance(encoder.model)
    language = encoding.sentence.language
    layers, others = _layers(encoder, ids, language), _layers(encoder, [ids[i] for i in order], language)
    return all(
        torch.allclose(layer[:, :, order][..., order], other, rtol=0, atol=allowed)
        for layer, other in zip(layers, others, strict=True)
    )


def _layers(encoder: Encoder, ids: Sequence[int], language: str) -> list[torch.Tensor]:
    return [layer.float() for layer in attend(encoder.model, encoder.adapter, [ids], [language])]
