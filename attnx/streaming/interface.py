"""The way through transformers' attention interface: the model's own mathematics, in blocks that stay in the cache.

The implementation ``attnx`` is registered once in the process. A model runs it only while `watching`; where nobody
watches, it does what ``eager`` does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import torch
from transformers.masking_utils import AttentionMaskInterface, eager_mask
from transformers.modeling_utils import AttentionInterface

from attnx.encoders.attending import forward
from attnx.encoders.implementation import eager_of, implementation
from attnx.streaming.blocks import Part
from attnx.streaming.reduction import Reduction, Shown

NAME = "attnx"
MATRIX = 4  # dimensions of [batch, heads, query, key]

# Who watches, and whether rows may be cut.
Watch = tuple[Reduction, bool]
_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


def run(reduction: Reduction, *, rows: bool) -> None:
    """Run the model once over the batch of a reduction, in parts; `rows` may be cut or not."""
    encoder, encodings = reduction.encoder, reduction.batch.encodings
    texts, languages = [encoding.ids for encoding in encodings], [encoding.sentence.language for encoding in encodings]
    with watching(encoder.model, reduction, rows=rows):
        forward(encoder.model, encoder.adapter, texts, languages, {})


@contextlib.contextmanager
def watching(model: torch.nn.Module, reduction: Reduction, *, rows: bool) -> Iterator[None]:
    """Let the model run the implementation ``attnx`` for the time of a block."""
    token = _watch.set((reduction, rows))
    try:
        with implementation(model, NAME):
            yield
    finally:
        _watch.reset(token)


def _attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **options: Any,  # noqa: ANN401 - whatever a model gives its attention
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Compute what the module's own eager attention computes, ``[B, T, H, D]``, and show the weights to who watches."""
    eager = eager_of(module)
    watch = _watch.get()
    if watch is None:
        context, weights = eager(module, query, key, value, attention_mask, **options)
        return context, weights
    reduction, rows = watch
    parts = reduction.parts(rows=rows)
    if not parts:
        context, weights = eager(module, query, key, value, attention_mask, **options)
        reduction.take(weights)
        return context, None
    sizes = len(query), query.shape[-2]

    def compute(part: Part) -> tuple[torch.Tensor, Shown]:
        tensors = (tensor[part.sentences] for tensor in (key, value))
        own = {name: _cut(item, part, sizes) for name, item in options.items()}
        mask = _cut(attention_mask, part, sizes)
        context, weights = eager(module, query[part.sentences, :, part.rows], *tensors, mask, **own)
        return context, reduction.measure(part, weights)

    done = [compute(part) for part in parts]
    reduction.put(parts, [piece for _, piece in done])
    return _joined(parts, [context for context, _ in done]), None


def _cut(item: Any, part: Part, sizes: tuple[int, int]) -> Any:  # noqa: ANN401 - whatever a model gives its attention
    """Return what belongs to a part of a mask or bias ``[B or 1, H or 1, T or 1, T]``, and anything else as it is."""
    if not isinstance(item, torch.Tensor) or item.ndim != MATRIX:
        return item
    if len(item) == sizes[0]:
        item = item[part.sentences]
    return item[:, :, part.rows] if item.shape[-2] == sizes[1] else item


def _joined(parts: list[Part], contexts: list[torch.Tensor]) -> torch.Tensor:
    if all(part.rows == parts[0].rows for part in parts):
        return torch.cat(contexts)
    batch, rows = parts[-1].sentences.stop, parts[-1].rows.stop
    first = contexts[0]
    joined = first.new_empty(batch, rows, *first.shape[2:])
    for part, context in zip(parts, contexts, strict=True):
        joined[part.sentences, part.rows] = context
    return joined


AttentionInterface.register(NAME, _attention)
AttentionMaskInterface.register(NAME, eager_mask)
