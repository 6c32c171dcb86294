"""What is said beside the maps: a head's statistics with their ranks, the heads nearest to it, findings."""

from collections.abc import Iterator

import numpy as np

from attnx.errors import printable
from attnx.i18n import Catalog
from attnx.naming import head_name
from attnx.report.grids import number
from attnx.report.wording import statement
from attnx.statistics import REGISTRY, SCOPES
from attnx.terminal.exploration import Exploration, Head

NEIGHBORS = 3
FINDINGS = 3


def statistics_rows(exploration: Exploration, head: Head, t: Catalog) -> Iterator[tuple[str, ...]]:
    """Yield a row a statistic: its name, and for both scopes the head's value and its rank among all heads."""
    for name in REGISTRY:
        cells = [part for scope in SCOPES for part in _value(exploration, head, name, scope, t)]
        if any(cells):
            yield t.text(f"statistics.{name}.name"), *cells


def statistic_title(statistic: str, scope: str, t: Catalog) -> str:
    """Return what a map shows: the statistic, its unit, its scope."""
    name, unit = t.text(f"statistics.{statistic}.name"), t.text(f"units.{REGISTRY[statistic].unit}")
    return f"{t.text('show.with_unit', name=name, unit=unit) if unit else name} · {t.text(f'scopes.{scope}')}"


def written_value(exploration: Exploration, head: Head, name: str, scope: str, t: Catalog) -> str:
    """Return a head's value of a statistic, a share with its percent sign."""
    value, unit = float(exploration.scores[scope].values[name][head]), REGISTRY[name].unit
    return t.percent(value) if unit == "share" and not np.isnan(value) else number(value, unit, t)


def written_rank(exploration: Exploration, head: Head, name: str, scope: str, t: Catalog) -> str:
    """Return a head's rank by a statistic, 1 for the largest value; empty where the value of all heads is the same."""
    values = exploration.scores[scope].values[name]
    if np.isnan(values[head]) or np.nanmin(values) == np.nanmax(values):
        return ""
    rank, count = exploration.rank(head, name, scope)
    return t.text("show.rank", rank=rank, count=count)


def neighbors_line(exploration: Exploration, head: Head, scope: str, t: Catalog) -> str:
    """Return the heads that are nearest to a head, with their divergence in nats; empty where there is none."""
    names = [neighbor(other, distance, t) for other, distance in exploration.neighbors(head, scope)[:NEIGHBORS]]
    return t.text("show.neighbors", scope=t.text(f"scopes.{scope}"), heads=" · ".join(names)) if names else ""


def neighbor(head: Head, distance: float, t: Catalog) -> str:
    """Return the name of a head that is near to another, with the divergence in nats."""
    return t.text("show.neighbor", head=head_name(*head), distance=distance)


def finding_lines(exploration: Exploration, t: Catalog) -> Iterator[str]:
    """Yield the strongest findings in words."""
    for finding in exploration.findings[:FINDINGS]:
        yield printable(f"• {statement(finding, t)}")


def length_line(exploration: Exploration, t: Catalog) -> str:
    """Return how much of a text was left out that is longer than the model takes; empty where nothing was."""
    encoding = exploration.attention.encoding
    if encoding.truncated_from is None:
        return ""
    return t.text("notices.truncated", total=encoding.truncated_from, kept=len(encoding.tokens))


def _value(exploration: Exploration, head: Head, name: str, scope: str, t: Catalog) -> tuple[str, str]:
    values = exploration.scores[scope].values
    if name not in values or np.isnan(values[name][head]):
        return "", ""
    return written_value(exploration, head, name, scope, t), written_rank(exploration, head, name, scope, t)
