"""How the statistics of a corpus are spread over the heads, and how they depend on the length of the sentences."""

from collections.abc import Iterator

import numpy as np

from attnx.i18n import Catalog
from attnx.naming import head_name
from attnx.report.corpus.document import CorpusDocument
from attnx.report.corpus.figures import histogram_png
from attnx.report.corpus.roles import means_of
from attnx.report.corpus.views import PlainTable, SpreadView
from attnx.report.corpus.wording import span
from attnx.report.figures import data_uri
from attnx.report.grids import SHOWN
from attnx.report.views import RowView
from attnx.statistics import REGISTRY
from attnx.statistics.scores import Floats

QUARTERS = (25, 50, 75)
SPREAD_COLUMNS = ("statistic", "spread", "first_quartile", "median", "third_quartile", "lowest", "highest")


def spreads(document: CorpusDocument, t: Catalog) -> Iterator[SpreadView]:
    """Yield how the macro means of each main statistic are spread over the heads."""
    means = means_of(document.whole)
    for name, scope in SHOWN:
        values = means[scope][name]
        if not np.isfinite(values).any():
            continue
        unit = REGISTRY[name].unit
        lowest, highest = (np.unravel_index(int(pick(values)), values.shape) for pick in (np.nanargmin, np.nanargmax))
        low, high = span([float(values[lowest]), float(values[highest])], unit, t)
        quarters = [float(value) for value in np.nanpercentile(values, QUARTERS)]
        yield SpreadView(
            statistic_name(name, scope, t),
            low,
            data_uri(histogram_png(values)),
            t.text("corpus.spreads.alt", low=low, high=high),
            high,
            (*span(quarters, unit, t), *(head_name(*map(int, at)) for at in (lowest, highest))),
        )


def length_table(document: CorpusDocument, t: Catalog) -> PlainTable:
    """Return the means over all heads for sentences of different lengths, beside macro and micro of all lengths."""
    whole = document.whole
    columns = [t.text("corpus.spreads.statistic"), t.text("corpus.lengths.macro"), t.text("corpus.lengths.micro")]
    columns += [_length_name(stratum.shortest, stratum.longest, t) for stratum in document.lengths]
    counts = ["", "", *(t.decimal(stratum.sentences, 0) for stratum in document.lengths)]
    rows = [RowView(t.text("corpus.lengths.sentences"), tuple(counts))]
    for name, scope in SHOWN:
        summary = whole.scopes[scope]
        place = summary.names.index(name)
        means = [summary.mean, document.details[scope].micro, *(stratum.means[scope] for stratum in document.lengths)]
        if np.isfinite(summary.mean[..., place]).any():
            values = [_mean(mean[..., place]) for mean in means]
            rows.append(RowView(statistic_name(name, scope, t), span(values, REGISTRY[name].unit, t)))
    return PlainTable(t.text("corpus.lengths.caption"), tuple(columns), tuple(rows))


def statistic_name(name: str, scope: str, t: Catalog) -> str:
    """Return the name of a statistic, with the scope where it is that of all tokens."""
    label = t.text(f"statistics.{name}.name")
    return t.text("baseline.of_all", name=label) if scope == "all" else label


def _length_name(shortest: int, longest: int | None, t: Catalog) -> str:
    if longest is None:
        return t.text("corpus.lengths.from", shortest=shortest)
    return t.text("corpus.lengths.range", shortest=shortest, longest=longest)


def _mean(values: Floats) -> float:
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
