"""What all sentences of a batch have in common: which tokens are in a scope, and what each weight counts for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from attnx.encoders.records import Reach
from attnx.statistics.rows import WINDOW
from attnx.statistics.view import visible_keys

# The statistics that are sums of weights, each times a number that depends on its offset j - i alone.
OF_OFFSETS: Mapping[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "self_share": lambda offsets: offsets == 0,
    "previous_share": lambda offsets: offsets == -1,
    "next_share": lambda offsets: offsets == 1,
    "local_share": lambda offsets: offsets.abs() <= WINDOW,
    "distance": lambda offsets: offsets.abs(),
    "signed_distance": lambda offsets: offsets,
    "right_share": lambda offsets: offsets > 0,
}
# Those for which only rows count that have a weight to look at.
OF_NEIGHBORS = ("previous_share", "next_share")
# A row's sums: in each scope, its weights, and its weights times OF_OFFSETS.
SUMS = 1 + len(OF_OFFSETS)


@dataclass(frozen=True)
class Layout:
    """The places of the special tokens in T tokens; sentences of a batch have one layout. `special` is ``[T]``."""

    special: tuple[bool, ...]
    cls: tuple[int, ...]
    sep: tuple[int, ...]


@dataclass(frozen=True)
class Places:
    """Some of the places of a dimension, ascending; a run without a gap is looked at where it is."""

    places: tuple[int, ...]
    device: torch.device

    def take(self, values: torch.Tensor, dim: int) -> torch.Tensor:
        """Return the values at these places of the dimension."""
        if not self.places:
            return values.narrow(dim, 0, 0)
        if self.places[-1] - self.places[0] == len(self.places) - 1:
            return values.narrow(dim, self.places[0], len(self.places))
        return values.index_select(dim, self.positions)

    @cached_property
    def positions(self) -> torch.Tensor:
        """The places as a tensor, int64 ``[R]``."""
        return torch.tensor(self.places, dtype=torch.int64, device=self.device)


@dataclass(frozen=True)
class Frame(Places):
    """Some of T tokens, for layers of certain kinds; `reach` has one entry a kind of layer."""

    size: int
    reach: tuple[Reach, ...]

    def within(self, start: int, stop: int) -> Places:
        """Return those from place `start` up to `stop`, counted from there."""
        own = self.places[bisect_left(self.places, start) : bisect_left(self.places, stop)]
        return Places(tuple(place - start for place in own), self.device)

    def mask(self, members: Iterable[int]) -> torch.Tensor:
        """Return which of the places are among the members, float64 ``[R]``."""
        chosen = set(members)
        return torch.tensor([place in chosen for place in self.places], dtype=torch.float64, device=self.device)

    @cached_property
    def from_end(self) -> torch.Tensor:
        """The places counted from the end of the text, T to 1, float32 ``[R]``."""
        return (self.size - self.positions).float()

    @cached_property
    def offsets(self) -> torch.Tensor:
        """Key position minus query position, float32 ``[R, R]``."""
        return (self.positions - self.positions[:, None]).float()

    @cached_property
    def scales(self) -> torch.Tensor:
        """1 / ln of the number of keys that a row can see, 0 where that is one; float64 ``[kinds, R]``."""
        return torch.where(self._visible > 1, 1 / self._visible.double().log(), 0)

    @cached_property
    def counts(self) -> torch.Tensor:
        """What a row counts for, float64 ``[kinds, R, 1 + K + 1 + (2T - 1)]``.

        For itself, for each of OF_OFFSETS, for the normalized entropy, and for every offset -T < k < T that leads to
        a token in scope.
        """
        kinds = len(self._visible)
        of_offsets = [
            (function(self.offsets) != 0).any(1) | (name not in OF_NEIGHBORS) for name, function in OF_OFFSETS.items()
        ]
        of_all = torch.stack([torch.ones_like(of_offsets[0]), *of_offsets], -1).double()
        inside = torch.zeros(3 * self.size - 2, dtype=torch.float64, device=self.device)
        inside[self.positions + self.size - 1] = 1
        leads = inside.unfold(0, 2 * self.size - 1, 1)[self.positions]
        several = (self._visible > 1).double()[..., None]
        return torch.cat([of_all.expand(kinds, -1, -1), several, leads.expand(kinds, -1, -1)], -1)

    @cached_property
    def totals(self) -> torch.Tensor:
        """What all rows together count for, float64 ``[kinds, ...]`` as in `counts`."""
        return self.counts.sum(1)

    @cached_property
    def _visible(self) -> torch.Tensor:
        return visible_keys(self.offsets, self.reach, 1)


class Frames:
    """The frames of both scopes, ``all`` and ``content``, and of the special tokens."""

    def __init__(self, layout: Layout, reach: Sequence[Reach], device: torch.device) -> None:
        self.layout = layout
        size = len(layout.special)

        def frame(places: Iterable[int]) -> Frame:
            return Frame(tuple(places), device, size, tuple(reach))

        self.all = frame(range(size))
        self.content = frame(place for place in range(size) if not layout.special[place])
        self.special = frame(place for place in range(size) if layout.special[place])

    def __getitem__(self, scope: str) -> Frame:
        return {"all": self.all, "content": self.content}[scope]

    @cached_property
    def factors(self) -> torch.Tensor:
        """What a weight counts for, float32 ``[T, T, 2 SUMS]``: 1 and OF_OFFSETS in one scope, and in the other."""
        offsets = self.all.offsets
        of_all = torch.stack([torch.ones_like(offsets), *(own(offsets).float() for own in OF_OFFSETS.values())], -1)
        return torch.cat([of_all, of_all * self.all.mask(self.content.places).float()[:, None]], -1)
