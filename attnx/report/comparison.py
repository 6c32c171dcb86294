"""The model beside its twin with random weights: one line a statistic."""

from collections.abc import Iterator

import numpy as np

from attnx.i18n import Catalog
from attnx.report.document import Baseline, SentenceReport
from attnx.report.grids import number
from attnx.report.views import ComparisonView, RowView
from attnx.statistics import REGISTRY
from attnx.statistics.scores import Floats


def comparison_view(sentence: SentenceReport, baseline: Baseline, t: Catalog) -> ComparisonView:
    """Return the comparison of all heads of a sentence with those of the random twin."""
    heads = sentence.scopes["all"].skipped_rows.size
    return ComparisonView(
        intro=t.text("baseline.intro", seed=baseline.seed),
        columns=tuple(t.text(f"baseline.{name}") for name in ("statistic", "model", "twin", "outside")),
        rows=tuple(_rows(sentence, baseline, t)),
        note=t.text("baseline.note", n=heads),
    )


def _rows(sentence: SentenceReport, baseline: Baseline, t: Catalog) -> Iterator[RowView]:
    for name, statistic in REGISTRY.items():
        scope = statistic.scopes[-1]  # without special tokens where that is defined
        own = sentence.scopes[scope].values[name]
        twin = baseline.scopes[scope].values[name]
        if not (np.isfinite(own).any() and np.isfinite(twin).any()):
            continue
        outside = (own < np.nanmin(twin)) | (own > np.nanmax(twin))
        label = t.text(f"statistics.{name}.name")
        yield RowView(
            t.text("baseline.of_all", name=label) if scope == "all" else label,
            (_span(own, statistic.unit, t), _span(twin, statistic.unit, t), t.decimal(int(outside.sum()), 0)),
        )


def _span(values: Floats, unit: str, t: Catalog) -> str:
    """Write the mean of all heads, and from where to where they reach."""
    mean, low, high = (number(float(pick(values)), unit, t) for pick in (np.nanmean, np.nanmin, np.nanmax))
    return t.text("baseline.span", mean=mean, low=low, high=high)
