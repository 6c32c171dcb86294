"""The statistics that need a head's whole map, or all heads at once.

Each function returns float64 ``[layers, heads]``, NaN where undefined, and its details.
"""

from collections.abc import Mapping

import torch

from attnx.statistics.divergence import may_be_nearest, mean_divergences
from attnx.statistics.reductions import largest
from attnx.statistics.registry import map_statistic
from attnx.statistics.view import ScopeView

# An offset is judged only where it stays in the text for this many rows, and for at least half of all rows.
MINIMUM_ROWS = 3

Details = Mapping[str, torch.Tensor]


@map_statistic("sink", "share", "max_j 1/T Σ_i p_{ij}")
def sink(view: ScopeView) -> tuple[torch.Tensor, Details]:
    """Largest column mean, max over j of the mean over i of p[i, j]; 1/T..1. Gu et al. 2025, section 3.2.

    The detail ``sink_position`` is the position of j in the whole encoding, the lowest of equals. Gu et al. call a
    head a sink above 0.3, in texts of 64 tokens; in a short text the mean is larger by chance.
    """
    # Written out, since torch's nanmean takes ten times as long.
    value, column = largest(view.weights.nansum(-2) / view.valid.sum(-1, keepdim=True))
    return value, {"sink_position": torch.where(column < 0, -1, _take(view.positions, column))}


@map_statistic("positional_rate", "share", "max_{k≠0} 1/T Σ_i [argmax_j p_{ij} = i + k]")
def positional_rate(view: ScopeView) -> tuple[torch.Tensor, Details]:
    """Share of rows whose largest weight is at one and the same offset k = j - i, for the best k but 0; 0..1.

    Voita et al. 2019, section 5.1, call a head positional from 0.9, with k = -1 or +1 in practice; they leave out
    the end-of-sentence token as key, which here only the content scope does. Of equal weights the lowest j counts.
    Rows from which k leads out of scope are not counted, and k is considered only if at least 3 rows, and half of
    the valid rows, are counted. The detail ``positional_offset`` is k, of equals the nearest, then the earlier.
    """
    offset = _take(view.positions, largest(view.weights)[1]) - view.positions
    # In order of preference: -1, +1, -2, +2, ...
    offsets = torch.tensor([sign * size for size in range(1, _span(view)) for sign in (-1, +1)], dtype=torch.int64)
    in_scope = torch.isin(view.positions[:, None] + offsets, view.positions)
    counted = view.valid.double() @ in_scope.double()
    # Rows that do not count, or look at their own token, are gathered in one place more.
    place = torch.where(view.valid & (offset != 0), 2 * (offset.abs() - 1) + (offset > 0), len(offsets))
    hits = torch.zeros(*view.valid.shape[:2], len(offsets) + 1, dtype=torch.float64)
    hits = hits.scatter_add_(-1, place, torch.ones_like(place, dtype=torch.float64))[..., :-1]
    needed = (view.valid.sum(-1, keepdim=True) / 2).clamp(min=MINIMUM_ROWS)
    rate, best = largest(torch.where(counted >= needed, hits / counted, -1))
    undefined = ~(rate >= 0)
    return torch.where(undefined, torch.nan, rate), {
        "positional_offset": torch.where(undefined, 0, _take(offsets, best))
    }


@map_statistic("nearest_head", "nats", "min_{b≠a} 1/T Σ_i JS(p^a_i, p^b_i)")
def nearest_head(view: ScopeView) -> tuple[torch.Tensor, Details]:
    """Mean Jensen–Shannon divergence to the closest other head of the model; 0..ln 2.

    The divergence is that of Clark et al. 2019, section 6. The detail ``nearest_head_index`` is that head's flat
    index, ``within_layer_spread`` ``[layers]`` the mean over the pairs of a layer's heads (own); both are undefined
    where there is no pair.
    """
    layers, heads, size, _ = view.weights.shape
    weights, valid = view.weights.view(layers * heads, size, size), view.valid.view(layers * heads, size)
    of_layer = torch.arange(layers).repeat_interleave(heads)
    needed = may_be_nearest(weights, valid) | (of_layer[:, None] == of_layer)
    pairs = mean_divergences(weights, valid, needed)
    closest, index = (-pairs.nan_to_num(torch.inf)).max(-1)
    undefined = closest.isinf()
    own_layer = torch.arange(layers)
    within = pairs.view(layers, heads, layers, heads)[own_layer, :, own_layer]
    return torch.where(undefined, torch.nan, -closest).view(layers, heads), {
        "nearest_head_index": torch.where(undefined, -1, index).view(layers, heads),
        "within_layer_spread": within.flatten(1).nanmean(-1),
    }


def _take(positions: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """Return the positions of the columns; a column of -1 gives any position, and no tokens give -1."""
    return positions[columns] if len(positions) else columns


def _span(view: ScopeView) -> int:
    """Return the number of places from the first token in scope to the last, both included."""
    return int(view.positions[-1] - view.positions[0]) + 1 if len(view.positions) else 0
