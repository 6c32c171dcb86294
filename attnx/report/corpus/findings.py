"""What is worth saying of the heads over a corpus, as keys and numbers, and the example sentences that this needs."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from attnx.report.corpus.document import Example, Group, group_of
from attnx.report.corpus.roles import holders, scores_of, sink_class, telling_roles
from attnx.statistics.accumulators.quadrants import QUADRANTS
from attnx.statistics.accumulators.results import CorpusResult
from attnx.statistics.roles import Role

Head = tuple[int, int]
HEADS_LISTED = 8


@dataclass(frozen=True)
class RoleFinding:
    """The head that has a role most clearly, or comes closest to it, and how many have it.

    `value` is the head's macro mean over `n` sentences, `low` to `high` its 95 % interval, NaN where there are too few
    sentences. `heads` are those that have the role, clearest first; of `certain` the whole interval reaches the
    threshold. `sinks` counts the heads of the role ``sink`` by class of tokens, commonest first.
    """

    role: Role
    layer: int
    head: int
    value: float
    low: float
    high: float
    n: int
    heads: tuple[Head, ...]
    certain: int
    sinks: Mapping[str, int]


@dataclass(frozen=True)
class QuadrantFinding:
    """The heads that follow the same thing, clearest first; `name` is one of `QUADRANTS`."""

    name: str
    heads: tuple[Head, ...]


@dataclass(frozen=True)
class Wanted:
    """The sentence that is wanted as an example: one in which the head's score is nearest to `value`, its mean."""

    scope: str
    statistic: str
    layer: int
    head: int
    value: float


def role_findings(group: Group) -> tuple[RoleFinding, ...]:
    """Return a finding for every role; first those that a head has, in their order."""
    found = [_role_finding(group, role) for role in telling_roles(group)]
    return tuple(sorted(found, key=lambda finding: not finding.heads))


def quadrant_findings(group: Group) -> Iterator[QuadrantFinding]:
    """Yield what heads follow, where it is known of any; the heads with the strongest signs first."""
    quadrants = group.quadrants
    if not (quadrants.index >= 0).any():
        return
    for index, name in enumerate(QUADRANTS):
        order = {"sink": -quadrants.sink, "position": -quadrants.peakedness, "broad": quadrants.peakedness}.get(
            name, -quadrants.variability
        )
        heads = [divmod(int(flat), order.shape[1]) for flat in np.argsort(order, axis=None, kind="stable")]
        yield QuadrantFinding(name, tuple(head for head in heads if quadrants.index[head] == index))


def wanted_examples(result: CorpusResult) -> tuple[Wanted, ...]:
    """Return the sentences that a report of this corpus wants as examples: one for each role that a head has."""
    return tuple(
        Wanted(finding.role.scope, finding.role.statistic, finding.layer, finding.head, finding.value)
        for finding in role_findings(group_of(result.whole))
        if finding.heads
    )


def example_of(finding: RoleFinding, examples: tuple[Example, ...]) -> Example | None:
    """Return the example that belongs to a finding, None if there is none."""
    wanted = (finding.role.scope, finding.role.statistic, finding.layer, finding.head)
    found = (e for e in examples if (e.scope, e.statistic, e.layer, e.head) == wanted)
    return next(found, None)


def _role_finding(group: Group, role: Role) -> RoleFinding:
    scores = scores_of(group, role.scope, role.statistic)
    has = holders(group, role)
    order = np.argsort(np.where(np.isnan(scores.mean), np.inf, -scores.mean), axis=None, kind="stable")
    ranked = [divmod(int(flat), scores.mean.shape[1]) for flat in order]
    first = ranked[0]
    heads = tuple(head for head in ranked if has[head])
    sinks = Counter(sink_class(group, *head) for head in heads) if role.name == "sink" else Counter()
    return RoleFinding(
        role=role,
        layer=first[0],
        head=first[1],
        value=float(scores.mean[first]),
        low=float(scores.low[first]),
        high=float(scores.high[first]),
        n=int(scores.n[first]),
        heads=heads,
        certain=int((scores.low >= role.threshold).sum()),
        sinks=dict(sinks.most_common()),
    )
