"""What the statistics of a corpus say of its heads' roles, as macro means."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnx.report.corpus.document import Group
from attnx.statistics.roles import ROLES, Role
from attnx.statistics.scores import Floats

# Which tokens can be a sink, and the statistic of the scope ``all`` that says how much they get.
SINK_CLASSES = {"opening": "cls_share", "closing": "sep_share", "punctuation": "punctuation_share"}
OTHER_SINK = "no_class"
# A class of tokens is named as the sink where it takes at least this share of what the sink takes. Own.
SINK_PART = 0.5


@dataclass(frozen=True)
class Scores:
    """One statistic of a group of sentences: macro mean, its interval, and the number of sentences; ``[L, H]`` each."""

    mean: Floats
    low: Floats
    high: Floats
    n: NDArray[np.int64]


def scores_of(group: Group, scope: str, statistic: str) -> Scores:
    """Return what a group of sentences says of one statistic."""
    summary = group.scopes[scope]
    place = summary.names.index(statistic)
    mean, low, high = (values[..., place] for values in (summary.mean, summary.low, summary.high))
    return Scores(mean, low, high, summary.n[..., place])


def means_of(group: Group) -> dict[str, dict[str, Floats]]:
    """Return the macro means by scope and statistic, ``[L, H]`` each."""
    return {
        scope: {name: summary.mean[..., place] for place, name in enumerate(summary.names)}
        for scope, summary in group.scopes.items()
    }


def telling_roles(group: Group) -> Iterator[Role]:
    """Yield the roles that say something here: not those that a head which looks evenly would half fulfil."""
    even = group.sentences / group.tokens if group.tokens else 1.0
    for role in ROLES:
        defined = np.isfinite(scores_of(group, role.scope, role.statistic).mean).any()
        if defined and role.tells(even):
            yield role


def holders(group: Group, role: Role) -> NDArray[np.bool_]:
    """Return which heads have a role, ``[L, H]``."""
    has: NDArray[np.bool_] = scores_of(group, role.scope, role.statistic).mean >= role.threshold
    return has


def sink_class(group: Group, layer: int, head: int) -> str:
    """Return which tokens a head's sink mostly is, a key of `SINK_CLASSES` or ``no_class``."""
    sink = scores_of(group, "all", "sink").mean[layer, head]
    shares = {
        name: scores_of(group, "all", share).mean[layer, head]
        for name, share in SINK_CLASSES.items()
        if share in group.scopes["all"].names
    }
    shares = {name: share for name, share in shares.items() if np.isfinite(share)}
    best = max(shares, key=lambda name: shares[name], default=OTHER_SINK)
    return best if shares and shares[best] >= SINK_PART * sink else OTHER_SINK
