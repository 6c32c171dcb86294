"""What is kept of a block of attention weights: a few numbers a row and a key, from which the statistics follow.

There are thousands of blocks, and a pass over one takes little longer than the call that starts it: so each pass
serves as many statistics as it can, and both scopes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch

from attnx.statistics.view import MINIMUM_MASS
from attnx.streaming.frames import SUMS, Frame, Frames

# Rows of at most so many weights are short.
SHORT = 32


@dataclass(frozen=True)
class Block:
    """Attention weights of N maps, in the order in memory in which torch is fast.

    `weights` is float32 ``[N, t, T]``, or ``[t, T, N]`` where rows are short: torch goes through a row of 12 weights
    one by one, and through the same place of many maps 16 at a time. `rows` and `keys` are the dimensions of t and T.
    The first row is that of place `start`; `zeros` tells whether any weight is 0.
    """

    weights: torch.Tensor
    start: int
    rows: int
    keys: int
    zeros: bool

    @property
    def stop(self) -> int:
        """The place after that of the last row."""
        return self.start + self.weights.shape[self.rows]

    def by_map(self, values: torch.Tensor) -> torch.Tensor:
        """Return what there is one of for each map and row, or map and key, as ``[N, ...]``."""
        return values if self.rows else values.T

    def along_keys(self, values: torch.Tensor) -> torch.Tensor:
        """Return a value for each key in the shape that goes with the weights."""
        return values if self.rows else values[:, None]


@dataclass(frozen=True)
class Sums:
    """What a block gave in one scope: of N maps, for r rows and R keys in scope, float32.

    A row's `masses` are the sums of its weights in scope, `logs` the sums of p ln p, `tops` the largest p and `places`
    where these are, in keys from the end of the text, the first of equals: all ``[N, r]``, of weights p that are not
    rescaled to the scope. `columns` ``[N, R]`` are the sums over rows of the rescaled weights of each key, `offsets`
    ``[N, K]`` those over rows and keys of the rescaled weights times OF_OFFSETS; in these a row whose mass is below
    MINIMUM_MASS does not count.
    """

    masses: torch.Tensor
    logs: torch.Tensor
    tops: torch.Tensor
    places: torch.Tensor
    columns: torch.Tensor
    offsets: torch.Tensor


def make_block(weights: torch.Tensor, start: int, *, zeros: bool) -> Block:
    """Return the block of weights ``[G, H, t, T]`` whose rows begin at place `start`."""
    flat = weights.flatten(0, 1)
    if weights.shape[-1] > SHORT:
        return Block(flat, start, 1, 2, zeros)
    return Block(flat.permute(1, 2, 0).contiguous(), start, 0, 1, zeros)


def row_sums(block: Block, frames: Frames) -> torch.Tensor:
    """Return what each row's weights sum up to with the factors of `Frames.factors`, ``[t, N, F]``."""
    factors = frames.factors[block.start : block.stop]
    if block.rows:
        return torch.bmm(block.weights.transpose(0, 1), factors)
    return torch.bmm(factors.transpose(1, 2), block.weights).transpose(1, 2)


def block_sums(block: Block, frames: Frames, sums: torch.Tensor) -> dict[str, Sums]:
    """Return what a block of attention gives in each scope that has any token; `sums` are its `row_sums`."""
    smallest = torch.finfo(block.weights.dtype).tiny
    # 0 ln 0 is 0.
    logs = block.weights.clamp(min=smallest).log_() if block.zeros else block.weights.log()
    logs.mul_(block.weights)
    # Of the keys in the content scope and of the special ones: the largest of all is one of the two.
    largest = [_largest(block, frame) for frame in (frames.content, frames.special) if frame.places]
    found = {"all": _all_sums(block, sums, logs, largest)}
    if frames.content.places:
        found["content"] = _content_sums(block, frames.content, sums, logs, largest[0])
    return found


Largest = tuple[torch.Tensor, torch.Tensor]


def _largest(block: Block, frame: Frame) -> Largest:
    """Return each row's largest weight among the keys of a frame and where it is, from the end, the first of equals."""
    weights = frame.take(block.weights, block.keys)
    tops = weights.amax(block.keys, keepdim=True)
    # torch.max finds the places too, but takes three times as long.
    equal = torch.eq(weights, tops, out=torch.empty_like(weights))
    places = equal.mul_(block.along_keys(frame.from_end)).amax(block.keys)
    return block.by_map(tops.squeeze(block.keys)), block.by_map(places)


def _all_sums(block: Block, sums: torch.Tensor, logs: torch.Tensor, largest: Sequence[Largest]) -> Sums:
    (tops, places), *others = largest
    for other, elsewhere in others:
        places = torch.maximum(places * (tops >= other), elsewhere * (other >= tops))
        tops = torch.maximum(tops, other)
    return Sums(
        sums[..., 0].T,
        block.by_map(logs.sum(block.keys)),
        tops,
        places,
        block.by_map(block.weights.sum(block.rows)),
        sums[..., 1:SUMS].sum(0),
    )


def _content_sums(block: Block, frame: Frame, sums: torch.Tensor, logs: torch.Tensor, largest: Largest) -> Sums:
    rows = frame.within(block.start, block.stop)
    sums = rows.take(sums, 0)[..., SUMS:]
    masses = sums[..., 0]
    scales = torch.where(masses >= MINIMUM_MASS, 1 / masses, 0)
    weights = rows.take(frame.take(block.weights, block.keys), block.rows)
    columns = torch.bmm(scales.T[:, None], weights)[:, 0] if block.rows else (weights * scales[:, None]).sum(0).T
    tops, places = largest
    return Sums(
        masses.T,
        block.by_map(rows.take(frame.take(logs, block.keys), block.rows).sum(block.keys)),
        rows.take(tops, 1),
        rows.take(places, 1),
        columns,
        (sums[..., 1:] * scales[..., None]).sum(0),
    )


def of_rows(parts: Sequence[Sums]) -> Sums:
    """Put together what was found for the rows of the same maps."""
    if len(parts) == 1:
        return parts[0]
    gathered = {field.name: [getattr(part, field.name) for part in parts] for field in fields(Sums)}
    added = {name: torch.stack(gathered.pop(name)).sum(0, dtype=torch.float64) for name in ("columns", "offsets")}
    return Sums(**{name: torch.cat(own, 1) for name, own in gathered.items()}, **added)


def of_maps(parts: Sequence[Sums]) -> Sums:
    """Put what was found for different maps one after the other."""
    return Sums(*(torch.cat([getattr(part, field.name) for part in parts]) for field in fields(Sums)))
