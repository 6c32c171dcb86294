"""The scores of a batch: blocks of its maps are measured, and at the end what they gave becomes statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from attnx.encoders.records import ModelInfo
from attnx.statistics.scores import SCOPES
from attnx.streaming.frames import Frames
from attnx.streaming.others import other_values
from attnx.streaming.reading import LightEncoding
from attnx.streaming.records import NAMES, Batch, BatchScores
from attnx.streaming.sums import Sums, block_sums, make_block, of_maps, of_rows, row_sums
from attnx.streaming.values import KNOWN, Value, values

# What rounding makes of a row's sum, in a softmax over 512 keys and in a matrix product after it.
ROUNDED = 4e-6
# Offsets of maps whose statistics are computed together, which takes some 50 bytes for each.
AT_ONCE = 1 << 20

# In sorted batches one layout follows the other.
frames_of = lru_cache(2)(Frames)


class BadRowsError(Exception):
    """The weights of some sentences, `members` bool ``[B]``, are not what attention weights are."""

    def __init__(self, members: NDArray[np.bool_]) -> None:
        self.members = members
        super().__init__(members)


@dataclass(frozen=True)
class Found:
    """What a block of maps gave in one scope: sums, and the values of statistics that do not come from sums."""

    sums: Sums
    others: Mapping[str, Value]


@dataclass(frozen=True)
class Piece:
    """What was found for all rows of the maps of some sentences, `members` ``[M]``, each in one of `layers` ``[M]``."""

    members: NDArray[np.int64]
    layers: NDArray[np.int64]
    found: Mapping[str, Found]


class Scorer:
    """Scores a batch of sentences of one layout.

    `allowed` is what rounding may do to the sum of a row.
    """

    def __init__(
        self,
        info: ModelInfo,
        batch: Batch,
        encodings: Sequence[LightEncoding],
        device: torch.device,
        allowed: float,
    ) -> None:
        self._info, self._batch, self._encodings, self._allowed = info, batch, encodings, allowed
        self._reach = info.reach or ((None, None),) * info.layers
        kinds = tuple(dict.fromkeys(self._reach))
        self._kinds = np.array([kinds.index(limits) for limits in self._reach])
        self._frames = frames_of(encodings[0].layout, kinds, device)
        self._others = {scope: [name for name in NAMES[scope] if name not in KNOWN] for scope in SCOPES}
        self._pieces: list[Piece] = []

    @property
    def whole_maps(self) -> bool:
        """Tell whether a statistic needs all rows of a map at once."""
        return any(self._others.values())

    def measure(self, weights: torch.Tensor, start: int, layers: Sequence[int], members: range) -> dict[str, Found]:
        """Return what a block of maps gives in each scope.

        `weights` is float32 ``[G, H, t, T]`` for the sentences `members` in each of `layers`, one layer after the
        other, the t rows from place `start` on. Raises BadRowsError where a weight is negative or undefined or a row
        does not sum to 1.
        """
        smallest = weights.amin().item()
        block = make_block(weights, start, zeros=smallest <= 0)
        sums = row_sums(block, self._frames)
        least, most = (total.item() for total in sums[..., 0].aminmax())
        # A comparison with NaN is false.
        if not (smallest >= 0 and least >= 1 - self._allowed and most <= 1 + self._allowed):
            raise BadRowsError(self._bad(weights, members))
        if least < 1 - ROUNDED or most > 1 + ROUNDED:
            weights = weights / weights.sum(-1, keepdim=True)
            block = make_block(weights, start, zeros=smallest <= 0)
            sums = row_sums(block, self._frames)
        found = block_sums(block, self._frames, sums)
        encodings = [self._encodings[i] for i in members] * len(layers)
        reach = [self._reach[layer] for layer in layers for _ in members]
        return {
            scope: Found(own, other_values(self._others[scope], scope, weights, encodings, reach))
            for scope, own in found.items()
        }

    def _bad(self, weights: torch.Tensor, members: range) -> NDArray[np.bool_]:
        good = ((weights.sum(-1) - 1).abs() <= self._allowed) & (weights >= 0).all(-1)
        bad = np.zeros(len(self._encodings), dtype=np.bool_)
        bad[members.start : members.stop] = ~good.flatten(1).all(-1).view(-1, len(members)).all(0).cpu().numpy()
        return bad

    def add(self, layers: Sequence[int], members: range, parts: Sequence[Mapping[str, Found]]) -> None:
        """Take what was found for some sentences in some layers; `parts` are those of their rows, in order."""
        found = {
            scope: Found(of_rows([part[scope].sums for part in parts]), own.others) for scope, own in parts[0].items()
        }
        self._pieces.append(Piece(np.tile(members, len(layers)), np.repeat(layers, len(members)), found))

    def scores(self) -> BatchScores:
        """Return the scores, once all is there."""
        shape = len(self._encodings), self._info.layers, self._info.heads
        all_values = {scope: np.full((*shape, len(NAMES[scope])), np.nan) for scope in SCOPES}
        all_rows = {scope: np.zeros((*shape, len(NAMES[scope])), dtype=np.int64) for scope in SCOPES}
        for pieces in self._some():
            members = np.concatenate([piece.members for piece in pieces])
            layers = np.concatenate([piece.layers for piece in pieces])
            for scope in pieces[0].found:
                found = self._values(scope, [piece.found[scope] for piece in pieces], members, layers)
                for target, which in ((all_values[scope], 0), (all_rows[scope], 1)):
                    stacked = torch.stack([found[name][which].cpu() for name in NAMES[scope]], -1).numpy()
                    target[members, layers] = stacked.reshape(len(members), self._info.heads, -1)
        return BatchScores(self._batch, all_values, all_rows)

    def _some(self) -> Iterator[list[Piece]]:
        """Yield the pieces, together as many as have AT_ONCE offsets, of which every map has 2T."""
        some: list[Piece] = []
        maps = 0
        for piece in self._pieces:
            some.append(piece)
            maps += len(piece.members) * self._info.heads
            if maps * 2 * self._batch.tokens >= AT_ONCE:
                yield some
                some, maps = [], 0
        if some:
            yield some

    def _values(
        self, scope: str, found: Sequence[Found], members: NDArray[np.int64], layers: NDArray[np.int64]
    ) -> dict[str, Value]:
        frame, heads = self._frames[scope], self._info.heads
        kinds = np.repeat(self._kinds[layers], heads) if self._kinds.any() else self._kinds[:1]
        marks = torch.tensor([self._encodings[i].punctuation for i in members], device=frame.device)
        known = values(
            of_maps([own.sums for own in found]),
            frame,
            self._frames.layout,
            torch.from_numpy(kinds).to(frame.device),
            marks[:, frame.positions].repeat_interleave(heads, 0),
        )
        others = {
            name: (torch.cat([own.others[name][0] for own in found]), torch.cat([own.others[name][1] for own in found]))
            for name in self._others[scope]
        }
        return known | others
