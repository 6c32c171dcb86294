"""All statistics of all heads over one sentence."""

from collections.abc import Sequence

import numpy as np
import torch

from attnx.encoders.records import AttentionMap

# The import registers the statistics, and its order is the display order.
from attnx.statistics import rows  # noqa: F401 - registers

# isort: split
from attnx.statistics import maps  # noqa: F401 - registers
from attnx.statistics.merging import PartScores
from attnx.statistics.registry import REGISTRY, MapStatistic, RowStatistic
from attnx.statistics.scores import SCOPES, HeadScores
from attnx.statistics.threads import side_by_side
from attnx.statistics.view import ScopeView, check_rows, scope_view

# Of the heads that are looked at together: a long text's intermediate results then fit in the processor's cache.
WEIGHTS_AT_ONCE = 1 << 18

# A statistic's values and on how many rows each rests: float64 and int64 [layers, heads].
Measured = tuple[torch.Tensor, torch.Tensor]


def score_heads(attention: AttentionMap) -> dict[str, HeadScores]:
    """Return the scores of every head of one sentence in the scopes ``all`` and ``content``.

    Raises AttnxError when a row of the map does not sum to 1 (± 1e-4) or holds a negative or undefined weight.
    """
    return {scope: part.scores for scope, part in score_part(attention).items()}


def score_part(attention: AttentionMap, counted: Sequence[bool] | None = None) -> dict[str, PartScores]:
    """Return the scores of one map, a part of a longer text or of a corpus, in both scopes; see `score_heads`.

    `counted` ``[T]`` tells the tokens whose rows the row statistics are means over; None counts all. The statistics
    of the whole map are those of all its rows.
    """
    check_rows(attention.weights)
    mask = torch.ones(len(attention.encoding.ids), dtype=torch.bool) if counted is None else torch.tensor(counted)
    return {scope: _score(scope_view(attention, scope), scope, mask) for scope in SCOPES}


def row_means(view: ScopeView, counted: torch.Tensor, scope: str) -> dict[str, Measured]:
    """Return the mean of every row statistic over the rows that count, NaN where there is none, and their number.

    `counted` is bool ``[R]``. A few heads at a time, and all statistics of them, so that a long text fits in memory
    and what several statistics need is computed once.
    """
    statistics = {
        name: statistic
        for name, statistic in REGISTRY.items()
        if isinstance(statistic, RowStatistic) and scope in statistic.scopes
    }

    def of_part(part: ScopeView) -> dict[str, Measured]:
        found = {name: statistic.function(part)[..., counted] for name, statistic in statistics.items()}
        return {name: (values.nanmean(-1), (~values.isnan()).sum(-1)) for name, values in found.items()}

    size = max(1, WEIGHTS_AT_ONCE // max(1, view.weights[0, 0].numel()))
    parts = side_by_side(of_part, list(view.parts(size)))
    layers, heads = view.valid.shape[:2]

    def joined(name: str, which: int) -> torch.Tensor:
        return torch.cat([part[name][which] for part in parts], 1).view(layers, heads)

    return {name: (joined(name, 0), joined(name, 1)) for name in statistics}


def _score(view: ScopeView, scope: str, counted: torch.Tensor) -> PartScores:
    here = counted[view.positions]
    measured = row_means(view, here, scope)
    details: dict[str, torch.Tensor] = {}
    for name, statistic in REGISTRY.items():
        if isinstance(statistic, MapStatistic) and scope in statistic.scopes:
            values, more = statistic.function(view)
            measured[name] = values, here.sum() * ~values.isnan()
            details |= more
    scores = HeadScores(
        scope,
        {name: measured[name][0].numpy() for name in REGISTRY if name in measured},
        {name: detail.numpy() for name, detail in details.items()},
        tokens=len(view.positions),
        skipped_rows=(~view.valid[..., here]).sum(-1).numpy().astype(np.int64),
    )
    return PartScores(scores, {name: number.numpy() for name, (_, number) in measured.items()})
