"""The roles a head can have over a corpus: a statistic's macro mean that reaches a threshold."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnx.report.corpus.document import Group
from attnx.statistics.scores import Floats

# Which tokens can be a sink, and the statistic of the scope ``all`` that says how much they get.
SINK_CLASSES = {"opening": "cls_share", "closing": "sep_share", "punctuation": "punctuation_share"}
OTHER_SINK = "no_class"
# A class of tokens is named as the sink where it takes at least this share of what the sink takes. Own.
SINK_PART = 0.5


@dataclass(frozen=True)
class Role:
    """A role: the sign it has in the map of all heads, and the score that makes it.

    `chance` tells that a head that looks evenly gets one over the number of tokens, which in a corpus of very short
    sentences comes close to the threshold.
    """

    name: str
    sign: str
    scope: str
    statistic: str
    threshold: float
    chance: bool = False


ROLES = (
    # Clark et al. 2019, section 3.1: more than half of the attention on one neighbor.
    Role("previous", "←", "all", "previous_share", 0.5, chance=True),
    Role("next", "→", "all", "next_share", 0.5, chance=True),
    Role("self", "●", "all", "self_share", 0.5, chance=True),
    # Voita et al. 2019, section 5.1.
    Role("positional", "↔", "content", "positional_rate", 0.9),
    # Gu et al. 2025, section 3.2, for 64 tokens.
    Role("sink", "▼", "all", "sink", 0.3, chance=True),
    # Own; special tokens, which often take most, are left out.
    Role("punctuation", "¶", "content", "punctuation_share", 0.5),
    # Voita et al. 2019, section 4: their positional heads have a confidence above 80 %.
    Role("sharp", "◆", "content", "confidence", 0.8),
    # Own: nearly the entropy of a head that looks evenly. Clark et al. 2019 use 3.8 nats, 0.78 of ln 128.
    Role("broad", "≡", "content", "normalized_entropy", 0.9),
)


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
        if defined and not (role.chance and 2 * even > role.threshold):
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
