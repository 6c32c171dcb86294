"""Takes the attention of a batch, layer by layer, and turns it into scores; the maps themselves are not kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import torch

from attnx.encoders.checks import require, tolerance
from attnx.encoders.encoder import Encoder
from attnx.streaming.blocks import Part, block_size, cut_layer, settle
from attnx.streaming.reading import LightEncoding
from attnx.streaming.records import Batch, BatchScores, MapObserver
from attnx.streaming.scorer import Found, Scorer


class ObserverError(Exception):
    """An observer failed, which says nothing about the sentences."""


@dataclass(frozen=True)
class Shown:
    """What a part of a layer gave: what was found, and the maps if an observer waits."""

    found: Mapping[str, Found]
    weights: torch.Tensor | None


class Reduction:
    """One batch on its way through the layers of a model.

    A layer comes whole (`take`), or its `parts` are measured and put together (`measure`, `put`). `block`
    is how many weights are looked at together, by default what suits the device.
    """

    def __init__(
        self,
        encoder: Encoder,
        batch: Batch,
        encodings: Sequence[LightEncoding],
        observers: Sequence[MapObserver],
        block: int | None = None,
    ) -> None:
        self.encoder, self.batch = encoder, batch
        self.device = next(encoder.model.parameters()).device
        self._shape = len(encodings), encoder.info.heads, batch.tokens, batch.tokens
        self._allowed = tolerance(encoder.model)
        self._scorer = Scorer(encoder.info, batch, encodings, self.device, self._allowed)
        asked = [(observer, observer.wanted(batch)) for observer in observers]
        self._watching = [(observer, wanted) for observer, wanted in asked if wanted.any()]
        self._wanted = np.logical_or.reduce([np.zeros(len(encodings), dtype=np.bool_), *(w for _, w in self._watching)])
        self._block = block or block_size(self.device)
        self._layer = 0
        self._pending: list[torch.Tensor] = []

    def parts(self, *, rows: bool) -> list[Part]:
        """Return the parts in which to work on a layer, none where it is small; `rows` may be cut or not."""
        if np.prod(self._shape) < self._block:
            return []
        return cut_layer(self._shape, self._block, rows=rows and not self._scorer.whole_maps)

    def measure(self, part: Part, weights: torch.Tensor) -> Shown:
        """Measure a part of the layer that comes next, ``[b, H, t, T]``."""
        weights = self._settle(weights)
        members = range(len(self.batch.numbers))[part.sentences]
        found = self._scorer.measure(weights, part.rows.start, [self._layer], members)
        return Shown(found, weights if self._wanted[part.sentences].any() else None)

    def put(self, parts: Sequence[Part], pieces: Sequence[Shown]) -> None:
        """Put the parts of a layer together, which come in their order."""
        self._check_layer()
        maps = []
        for start, group in groupby(zip(parts, pieces, strict=True), key=lambda pair: pair[0].sentences.start):
            own = list(group)
            members = range(start, own[0][0].sentences.stop)
            self._scorer.add([self._layer], members, [piece.found for _, piece in own])
            maps.append((members, [piece.weights for _, piece in own if piece.weights is not None]))
        self._show([(members, torch.cat(rows, 2)) for members, rows in maps if rows])
        self._layer += 1

    def take(self, weights: torch.Tensor) -> None:
        """Take a whole layer, ``[B, H, T, T]``; small ones are collected and measured together."""
        self._check_layer()
        require(tuple(weights.shape) == self._shape, "dimensions", self.encoder.info.type)
        weights = self._settle(weights)
        self._show([(range(len(weights)), weights)])
        self._layer += 1
        self._pending.append(weights)
        if sum(layer.numel() for layer in self._pending) >= self._block:
            self._flush()

    def scores(self) -> BatchScores:
        """Return the scores once every layer was there; the observers go on."""
        require(self._layer == self.encoder.info.layers, "calls", self.encoder.info.type)
        self._flush()
        for observer, _ in self._watching:
            observer.finish(self.batch)
        return self._scorer.scores()

    def _settle(self, weights: torch.Tensor) -> torch.Tensor:
        if weights.dtype == torch.float32 and not self.encoder.rescaled:
            return weights
        return settle(weights, self._allowed, rescaled=self.encoder.rescaled)

    def _check_layer(self) -> None:
        require(self._layer < self.encoder.info.layers, "calls", self.encoder.info.type)

    def _show(self, maps: Sequence[tuple[range, torch.Tensor]]) -> None:
        """Show the observers the maps of one layer, of some sentences each, that they want to see."""
        for observer, wanted in self._watching:
            chosen = [
                weights if own.all() else weights[torch.from_numpy(own)]
                for members, weights in maps
                if (own := wanted[members.start : members.stop]).any()
            ]
            shown = chosen[0] if len(chosen) == 1 else torch.cat(chosen)
            try:
                observer.observe(self._layer, shown.cpu(), self.batch)
            except Exception as error:
                raise ObserverError from error

    def _flush(self) -> None:
        """Measure the layers that were collected: some sentences of all of them at a time."""
        pending, self._pending = self._pending, []
        if not pending:
            return
        layers = range(self._layer - len(pending), self._layer)
        stacked = torch.stack(pending) if len(pending) > 1 else pending[0][None]
        count, heads, size, _ = self._shape
        parts = cut_layer((count, heads * len(layers), size, size), self._block, rows=False)

        for part in parts:
            members = range(count)[part.sentences]
            weights = stacked[:, part.sentences].flatten(0, 1)
            self._scorer.add(layers, members, [self._scorer.measure(weights, 0, layers, members)])
