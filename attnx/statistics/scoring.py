"""All statistics of all heads over one sentence."""

import numpy as np
import torch

from attnx.encoders.records import AttentionMap

# The import registers the statistics, and its order is the display order.
from attnx.statistics import rows  # noqa: F401 - registers

# isort: split
from attnx.statistics import maps  # noqa: F401 - registers
from attnx.statistics.registry import REGISTRY, RowStatistic
from attnx.statistics.scores import SCOPES, HeadScores
from attnx.statistics.view import ScopeView, scope_view

WEIGHTS_AT_ONCE = 1 << 20


def score_heads(attention: AttentionMap) -> dict[str, HeadScores]:
    """Return the scores of every head of one sentence in the scopes ``all`` and ``content``.

    Raises AttnxError when a row of the map does not sum to 1 (± 1e-4) or holds a negative or undefined weight.
    """
    return {scope: _score(scope_view(attention, scope), scope) for scope in SCOPES}


def _score(view: ScopeView, scope: str) -> HeadScores:
    values: dict[str, torch.Tensor] = {}
    details: dict[str, torch.Tensor] = {}
    for name, statistic in REGISTRY.items():
        if scope not in statistic.scopes:
            continue
        if isinstance(statistic, RowStatistic):
            values[name] = mean_rows(view, statistic)
        else:
            values[name], more = statistic.function(view)
            details |= more
    return HeadScores(
        scope,
        {name: value.numpy() for name, value in values.items()},
        {name: detail.numpy() for name, detail in details.items()},
        tokens=len(view.positions),
        skipped_rows=(~view.valid).sum(-1).numpy().astype(np.int64),
    )


def mean_rows(view: ScopeView, statistic: RowStatistic) -> torch.Tensor:
    """Return the mean over the rows that count, float64 ``[layers, heads]``, NaN where none does.

    A few layers at a time, so that the intermediate results of a long text fit in memory.
    """
    layer_weights = max(1, view.weights[0].numel())
    parts = view.layers(max(1, WEIGHTS_AT_ONCE // layer_weights))
    return torch.cat([statistic.function(part).nanmean(-1) for part in parts])
