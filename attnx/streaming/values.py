"""From what is kept of the rows to the statistics: the one place that ties their names to it."""

from __future__ import annotations

import torch

from attnx.statistics.maps import MINIMUM_ROWS
from attnx.statistics.view import MINIMUM_MASS
from attnx.streaming.frames import OF_OFFSETS, Frame, Layout
from attnx.streaming.sums import Sums

# A statistic's values and on how many rows each rests, float64 [N].
Value = tuple[torch.Tensor, torch.Tensor]

OF_CLASSES = ("cls_share", "sep_share", "special_share")
OTHERS = (
    "punctuation_share",
    "entropy",
    "normalized_entropy",
    "effective_tokens",
    "confidence",
    "sink",
    "positional_rate",
)
KNOWN = frozenset({*OF_OFFSETS, *OF_CLASSES, *OTHERS})


def values(
    sums: Sums, frame: Frame, layout: Layout, kinds: torch.Tensor, punctuation: torch.Tensor
) -> dict[str, Value]:
    """Return every statistic that is known here, of N maps, all rows of which are there.

    `kinds` ``[N]``, or ``[1]`` where all are of one, are indices into the frame's kinds of layers; `punctuation` ``[N,
    R]`` marks the tokens of each map's sentence. A value that is not defined is NaN, and rests on 0 rows.
    """
    valid = sums.masses >= MINIMUM_MASS
    counts = _counts(valid, frame, kinds)
    rows = counts[:, 0]
    columns, offsets = sums.columns.double(), sums.offsets.double()
    found = {name: _mean(offsets[:, i], counts[:, 1 + i]) for i, name in enumerate(OF_OFFSETS)}
    special = [place for place, is_special in enumerate(layout.special) if is_special]
    for name, members in zip(OF_CLASSES, (layout.cls, layout.sep, special), strict=True):
        found[name] = _mean(columns @ frame.mask(members), rows * bool(members))
    found["punctuation_share"] = _mean((columns * punctuation).sum(-1), rows)
    masses = torch.where(valid, sums.masses, 1).double()
    # The row p / m has the entropy ln m - (Σ p ln p) / m.
    entropies = torch.where(valid, masses.log() - sums.logs / masses, 0).clamp_(min=0)
    found["entropy"] = _mean(entropies.sum(-1), rows)
    found["normalized_entropy"] = _mean((entropies * frame.scales[kinds]).sum(-1), counts[:, 1 + len(OF_OFFSETS)])
    found["effective_tokens"] = _mean((entropies.exp_() * valid).sum(-1), rows)
    found["confidence"] = _mean((sums.tops / masses * valid).sum(-1), rows)
    size = len(frame.places)
    found["sink"] = _of_map(_mean(columns.amax(-1), rows)[0], size)
    found["positional_rate"] = _of_map(_positional_rate(sums.places, valid, counts, frame), size)
    return found


def _counts(valid: torch.Tensor, frame: Frame, kinds: torch.Tensor) -> torch.Tensor:
    """Return how many rows of each map count for what, as `Frame.counts` has them."""
    counts = frame.totals[kinds].expand(len(valid), -1)
    if valid.all():
        return counts
    counts, kinds = counts.clone(), kinds.expand(len(valid))
    for kind, table in enumerate(frame.counts):
        counts[kinds == kind] = valid[kinds == kind].double() @ table
    return counts


def _mean(total: torch.Tensor, count: torch.Tensor) -> Value:
    return torch.where(count > 0, total / count, torch.nan), count


def _of_map(value: torch.Tensor, size: int) -> Value:
    return value, size * (~value.isnan()).double()


def _positional_rate(from_end: torch.Tensor, valid: torch.Tensor, counts: torch.Tensor, frame: Frame) -> torch.Tensor:
    """Return the share of rows whose largest weight is at one and the same offset, for the best offset but 0."""
    maps, places = len(valid), 2 * frame.size
    # The place of offset k is k + T - 1; the last one takes the rows that do not count.
    place = torch.where(valid, 2 * frame.size - 1 - frame.positions - from_end.long(), places - 1)
    place = place + places * torch.arange(maps, device=place.device)[:, None]
    hits = torch.bincount(place.flatten(), minlength=maps * places).view(maps, places)[:, :-1]
    needed = (counts[:, :1] / 2).clamp(min=MINIMUM_ROWS)
    counted = counts[:, 2 + len(OF_OFFSETS) :]
    rates = torch.where(counted >= needed, hits / counted, -1)
    rates[:, frame.size - 1] = -1
    best = rates.amax(-1)
    return torch.where(best >= 0, best, torch.nan)
