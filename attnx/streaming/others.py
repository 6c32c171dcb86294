"""Statistics that were registered by others: computed sentence by sentence by their own functions."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from attnx.encoders.records import AttentionMap, Encoding, Reach
from attnx.statistics.registry import REGISTRY, MapStatistic, RowStatistic
from attnx.statistics.view import ScopeView, scope_view
from attnx.streaming.values import Value


def other_values(
    names: Sequence[str], scope: str, weights: torch.Tensor, encodings: Sequence[Encoding], reach: Sequence[Reach]
) -> dict[str, Value]:
    """Return the values of the statistics `names` for maps ``[G, H, T, T]``, float64 ``[G * H]``, and their rows.

    `encodings` and `reach` have one entry a map. A statistic of the whole map sees one layer at a time.
    """
    if not names:
        return {}
    views = [
        scope_view(AttentionMap(encoding, some[None].cpu(), (limits,)), scope)
        for some, encoding, limits in zip(weights, encodings, reach, strict=True)
    ]
    return {name: _stacked([_value(REGISTRY[name], view) for view in views]) for name in names}


def _value(statistic: RowStatistic | MapStatistic, view: ScopeView) -> Value:
    if isinstance(statistic, MapStatistic):
        value, _details = statistic.function(view)
        return value[0], len(view.positions) * (~value[0].isnan()).double()
    rows = statistic.function(view)[0]
    return rows.nanmean(-1), (~rows.isnan()).sum(-1).double()


def _stacked(found: Sequence[Value]) -> Value:
    return torch.cat([value for value, _ in found]), torch.cat([rows for _, rows in found])
