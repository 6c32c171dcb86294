"""What is worth saying about a sentence's heads: rules from scores to findings, which are keys and numbers.

The words are in ``locales/*.yaml`` under ``findings``. To add one, write one decorated rule, and its words.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from attnx.encoders.records import Encoding
from attnx.statistics.patterns import PATTERN_THRESHOLDS, PATTERNS, pattern_class
from attnx.statistics.scores import Floats, HeadScores

# Clark et al. 2019, section 3.1: heads that put more than half of their attention on one neighbor.
MAJORITY = 0.5
# Voita et al. 2019, section 5.1: the same offset in at least 90 % of rows makes a positional head.
POSITIONAL = 0.9
# Gu et al. 2025, section 3.2: a token that gets more than this from the average query is a sink.
SINK = 0.3
# Own, in nats, of at most ln 2 = 0.69: the two heatmaps look the same.
NEAR_DUPLICATE = 0.005


@dataclass(frozen=True)
class Finding:
    """One thing worth saying: a message key and its numbers.

    `layer` and `head` count from 0 and name the strongest head, or the layer, or nothing. `value` is that head's
    score, `threshold` what the rule asks for (None if the rule compares heads only). `details` holds what else the
    message names; ``n`` is how many heads pass, ``heads`` how many there are. A key that ends in ``_none`` says that
    no head passes, and then names the one that comes closest.
    """

    key: str
    layer: int | None
    head: int | None
    value: float
    threshold: float | None
    details: Mapping[str, int | float | str]


@dataclass(frozen=True)
class Evidence:
    """What a rule looks at: a sentence as tokens, its scores by scope, and what an even head would score.

    `even` is that of `even_scores`: by scope and statistic, ``[layers, 1]``.
    """

    encoding: Encoding
    scores: Mapping[str, HeadScores]
    even: Mapping[str, Mapping[str, Floats]]


Rule = Callable[[Evidence], Finding | None]
RULES: list[Rule] = []


def rule(function: Rule) -> Rule:
    """Register the decorated rule; a rule returns None where its statistic is not defined or says nothing."""
    RULES.append(function)
    return function


def find(evidence: Evidence) -> tuple[Finding, ...]:
    """Return the findings about one sentence, strongest first.

    First come the rules that a head passes, by how far it is beyond
    the threshold; then those without a threshold, in their order; last those that no head passes.
    """
    findings = [finding for rule in RULES if (finding := rule(evidence)) is not None]
    return tuple(sorted(findings, key=strength, reverse=True))


def strength(finding: Finding) -> float:
    """Return how far a finding is beyond its threshold, 0..1; 0 if it only compares heads, below 0 if none passes."""
    if finding.key.endswith("_none"):
        return -1.0
    if finding.threshold is None or finding.head is None:
        return 0.0
    bound = 0.0 if finding.value < finding.threshold else 1.0  # a divergence passes below, a share above
    return (finding.value - finding.threshold) / (bound - finding.threshold)


@rule
def next_heads(evidence: Evidence) -> Finding | None:
    """More than half of the attention is on the next token; nothing is said where no head can look at it."""
    if not evidence.scores["all"].values["next_share"].any():
        return None
    return _majority("next_heads", evidence, "next_share", MAJORITY)


@rule
def previous_heads(evidence: Evidence) -> Finding | None:
    """More than half of the attention is on the previous token."""
    return _majority("previous_heads", evidence, "previous_share", MAJORITY)


@rule
def self_heads(evidence: Evidence) -> Finding | None:
    """More than half of the attention is on the token itself."""
    return _majority("self_heads", evidence, "self_share", MAJORITY)


@rule
def positional_heads(evidence: Evidence) -> Finding | None:
    """In at least 90 % of rows the largest weight is at one offset; ``offset`` is the strongest head's.

    Over the content tokens, for Voita et al. leave out the end-of-sentence token.
    """
    rates = evidence.scores["content"].values["positional_rate"]
    finding = _strongest("positional_heads", rates, rates >= POSITIONAL, POSITIONAL)
    offsets = evidence.scores["content"].details["positional_offset"]
    return finding and _with(finding, offset=int(offsets[finding.layer, finding.head]))


@rule
def sink_heads(evidence: Evidence) -> Finding | None:
    """One token takes more than 30 % of all attention.

    ``position`` and ``token`` are the strongest head's sink; ``common_position``, ``common_token`` and ``common_n``
    the token that is the sink of most heads, where any head passes.
    """
    finding = _majority("sink_heads", evidence, "sink", SINK)
    if finding is None:
        return None
    positions = evidence.scores["all"].details["sink_position"]
    position = int(positions[finding.layer, finding.head])
    finding = _with(finding, position=position, token=evidence.encoding.tokens[position].text)
    sinks = Counter(positions[evidence.scores["all"].values["sink"] > SINK].tolist())
    if not sinks:
        return finding
    common, count = min(sinks.items(), key=lambda item: (-item[1], item[0]))
    return _with(finding, common_position=common, common_token=evidence.encoding.tokens[common].text, common_n=count)


@rule
def pattern_classes(evidence: Evidence) -> Finding | None:
    """How many heads are of each pattern class; `value` is the largest share of one class."""
    classes = pattern_class(evidence.scores["all"], evidence.encoding)
    if (classes < 0).any():
        return None
    counts = {name: int((classes == i).sum()) for i, name in enumerate(PATTERNS)}
    details = {**counts, "heads": classes.size, "together": PATTERN_THRESHOLDS.together}
    return Finding(
        "pattern_classes", None, None, max(counts.values()) / classes.size, PATTERN_THRESHOLDS.alone, details
    )


@rule
def near_duplicates(evidence: Evidence) -> Finding | None:
    """Two heads' maps are all but the same; ``partner_layer`` and ``partner_head`` are the closest head's partner."""
    divergences = evidence.scores["all"].values["nearest_head"]
    finding = _strongest("near_duplicates", -divergences, divergences < NEAR_DUPLICATE, NEAR_DUPLICATE)
    if finding is None:
        return None
    partner = int(evidence.scores["all"].details["nearest_head_index"][finding.layer, finding.head])
    layer, head = divmod(partner, divergences.shape[1])
    return _with(replace(finding, value=-finding.value), partner_layer=layer, partner_head=head)


@rule
def broadest_head(evidence: Evidence) -> Finding | None:
    """Find the head that spreads its attention most evenly over the content tokens, by normalized entropy."""
    return _strongest("broadest_head", evidence.scores["content"].values["normalized_entropy"])


@rule
def sharpest_head(evidence: Evidence) -> Finding | None:
    """Find the head that concentrates its attention on the fewest content tokens, by normalized entropy."""
    finding = _strongest("sharpest_head", -evidence.scores["content"].values["normalized_entropy"])
    return finding and replace(finding, value=-finding.value)


@rule
def self_layer(evidence: Evidence) -> Finding | None:
    """Find the layer whose heads attend most to the token itself, among content tokens; ``average`` is of all heads."""
    return _strongest_layer("self_layer", evidence.scores["content"].values["self_share"])


@rule
def distance_layer(evidence: Evidence) -> Finding | None:
    """Find the layer whose heads look farthest, among content tokens; ``average`` is of all heads."""
    return _strongest_layer("distance_layer", evidence.scores["content"].values["distance"])


def _majority(key: str, evidence: Evidence, statistic: str, threshold: float) -> Finding | None:
    """Return the strongest head by a share, where a head that looks evenly stays below the threshold in every layer."""
    if not (evidence.even["all"][statistic] < threshold).all():
        return None
    shares = evidence.scores["all"].values[statistic]
    return _strongest(key, shares, shares > threshold, threshold)


def _strongest(
    key: str, values: Floats, passing: NDArray[np.bool_] | None = None, threshold: float | None = None
) -> Finding | None:
    """Return the head of the largest value, the first of equals; None where no head has a value."""
    if np.isnan(values).all():
        return None
    layer, head = divmod(int(np.nanargmax(values)), values.shape[1])
    value = float(values[layer, head])
    if passing is None:
        return Finding(key, layer, head, value, threshold, {"heads": values.size})
    n = int(passing.sum())
    return Finding(key if n else f"{key}_none", layer, head, value, threshold, {"n": n, "heads": values.size})


def _strongest_layer(key: str, values: Floats) -> Finding | None:
    """Return the layer of the largest mean over heads; None where a layer has no value, or no layer stands out."""
    means = values.mean(1)
    if not np.ptp(means) > 0:  # also where it is NaN
        return None
    layer = int(means.argmax())
    return Finding(key, layer, None, float(means[layer]), None, {"layers": len(means), "average": float(means.mean())})


def _with(finding: Finding, **details: int | str) -> Finding:
    return replace(finding, details={**finding.details, **details})
