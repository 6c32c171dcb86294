"""Which way a model's attention is had: in blocks through the interface where that gives the same, else whole."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray

from attnx.encoders.attending import attend
from attnx.encoders.checks import tolerance
from attnx.encoders.encoder import Encoder, rows_at_once
from attnx.streaming import interface
from attnx.streaming.reading import LightEncoding
from attnx.streaming.records import Batch
from attnx.streaming.reduction import Reduction

# What the order of additions in a model's matrix products may change in a weight; the built-in model's change by 5e-6.
SAME = 2e-5
TRIED_TOKENS = 4  # of fewer, not every cut would be tried

# Runs the model on the batch of a reduction, which is given every layer.
Route = Callable[[Reduction], None]

_known: WeakKeyDictionary[torch.nn.Module, Route] = WeakKeyDictionary()


def route_for(encoder: Encoder, batch: Batch, encodings: Sequence[LightEncoding]) -> Route:
    """Return the best way for the model, tried on two sentences of a batch, once for a model.

    Cutting is tried in the smallest parts, so that a model that gives its attention something that cannot be cut is
    found out.
    """
    if encoder.model in _known:
        return _known[encoder.model]
    if batch.tokens < TRIED_TOKENS:
        return at_once
    places = [0, 1 % len(encodings)]  # one sentence is tried beside itself
    some = Batch(batch.numbers[places], tuple(batch.encodings[i] for i in places), batch.groups[places])
    ways = (partial(interface.run, rows=True), partial(interface.run, rows=False))
    good = (way for way in ways if _same(way, encoder, some, [encodings[i] for i in places]))
    _known[encoder.model] = next(good, at_once)
    return _known[encoder.model]


def at_once(reduction: Reduction) -> None:
    """Run the eager model and take all layers as it returns them."""
    encoder, encodings = reduction.encoder, reduction.batch.encodings
    languages = [encoding.sentence.language for encoding in encodings]
    for layer in attend(encoder.model, encoder.adapter, [encoding.ids for encoding in encodings], languages):
        reduction.take(layer)


def most_sentences(encoder: Encoder, route: Route, tokens: int) -> int:
    """Return how many sentences of so many tokens a batch may have at most."""
    if route is not at_once:
        return sys.maxsize
    return rows_at_once(encoder, tokens)


class _Maps:
    """Keeps all maps, to compare them."""

    def __init__(self) -> None:
        self.layers: list[torch.Tensor] = []

    def wanted(self, batch: Batch) -> NDArray[np.bool_]:
        return np.ones(len(batch.numbers), dtype=np.bool_)

    def observe(self, layer: int, weights: torch.Tensor, batch: Batch) -> None:
        self.layers.append(weights)

    def finish(self, batch: Batch) -> None:
        pass


def _same(way: Route, encoder: Encoder, batch: Batch, encodings: Sequence[LightEncoding]) -> bool:
    """Tell whether a way gives the weights that the eager model returns, in the smallest possible parts."""
    maps = _Maps()
    try:
        reduction = Reduction(encoder, batch, encodings, [maps], block=1)
        way(reduction)
        reduction.scores()
    except Exception:  # whatever a model does that is not made for this
        return False
    exact = next(encoder.model.parameters()).dtype == torch.float32
    allowed = SAME if exact else tolerance(encoder.model)
    expected = [encoder.observe(encoding).weights for encoding in encodings]
    return all(
        bool(((layer - torch.stack([weights[i] for weights in expected])).abs() <= allowed).all())
        for i, layer in enumerate(maps.layers)
    )
