"""Two texts in one model, or one text in two models, head by head: what ``attnx compare`` runs.

For a statistic with the values a and b of a head in the first and the second:

    change = (b − a) / s

with s the standard deviation over all heads of both, so that statistics in different units can be ranked. ρ is
Spearman's rank correlation of a and b over heads; by chance it is what it becomes when the heads of the second are
mixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attnx.encoders.encoder import Encoder
from attnx.encoders.records import AttentionMap
from attnx.errors import InputError
from attnx.experiments.divergence import between
from attnx.experiments.records import (
    Floats,
    HeadMap,
    Label,
    Options,
    Progress,
    Result,
    Row,
    Table,
    TokenMap,
    TokenMaps,
    Words,
)
from attnx.naming import head_name
from attnx.statistics import REGISTRY, score_heads
from attnx.statistics.accumulators.ranks import spearman
from attnx.texts.sentence import Sentence

DRAWS = 200  # of heads mixed
CERTAIN = 0.95  # of these draws
ALIKE = 0.7  # the median ρ of two that do the same
HEADS_SHOWN = 3
SHOWN = 32  # tokens of the maps that are shown
SAME = 1e-9  # a spread that only rounding makes


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two: its name, its attention, and every statistic that is defined, ``[L, H]``."""

    name: str
    attention: AttentionMap
    scores: Mapping[str, Floats]

    @property
    def tokens(self) -> tuple[str, ...]:
        """The labels of its tokens."""
        return tuple(token.text for token in self.attention.encoding.tokens)


@dataclass(frozen=True, eq=False)
class Change:
    """One statistic in both: `values` is (b − a) / s, ``[L, H]``; `correlation` is ρ, NaN where there is none."""

    statistic: str
    first: Floats
    second: Floats
    values: Floats
    correlation: float

    @property
    def size(self) -> float:
        """The mean size of the change over heads."""
        return float(np.nanmean(np.abs(self.values)))


def run(encoder: Encoder, sentences: Sequence[Sentence], options: Options, progress: Progress) -> Result:
    """Compare the first text with the last, the second of them in the other model if there is one."""
    other = options.other or encoder
    if (encoder.info.layers, encoder.info.heads) != (other.info.layers, other.info.heads):
        raise InputError("compare_shapes", **_sizes(encoder, other))
    progress.expect(2)
    sides = []
    for model, sentence in ((encoder, sentences[0]), (other, sentences[-1])):
        sides.append(observe(model, sentence, options))
        progress.advance(1)
    changes = changes_of(*sides)
    correlations = np.array([change.correlation for change in changes])
    if not np.isfinite(correlations).any():
        raise InputError("experiment_undefined")
    middle, chance = float(np.nanmedian(correlations)), by_chance(changes, options.seed)
    overall = np.nanmean(np.abs([change.values for change in changes]), axis=0)
    top = divmod(int(np.nanargmax(overall)), overall.shape[1])
    return Result(
        verdict_of(middle, chance),
        {
            "n": len(changes),
            "rho": middle,
            "chance": chance,
            "alike": ALIKE,
            "top": head_name(*top),
            "top_change": float(overall[top]),
            "first_tokens": len(sides[0].tokens),
            "second_tokens": len(sides[1].tokens),
        },
        (HeadMap("change", overall, "number"), _table(sides, changes), *_maps(sides, overall)),
        _notes(sides, options),
    )


def observe(encoder: Encoder, sentence: Sentence, options: Options) -> Side:
    """Run a text; its name is the text, or the model's where there are two."""
    attention = encoder.observe(encoder.encode(sentence))
    scopes = score_heads(attention)
    scores = {name: scopes[statistic.scopes[-1]].values[name] for name, statistic in REGISTRY.items()}
    return Side(
        encoder.info.name if options.other else sentence.text,
        attention,
        {name: values for name, values in scores.items() if np.isfinite(values).any()},
    )


def changes_of(first: Side, second: Side) -> list[Change]:
    """Return every statistic that both have and that is not the same for all heads of both, most changed first."""
    found = []
    for name in first.scores.keys() & second.scores.keys():
        a, b = first.scores[name], second.scores[name]
        spread = float(np.nanstd(np.stack([a, b])))
        if spread > SAME and np.isfinite(b - a).any():
            found.append(Change(name, a, b, (b - a) / spread, spearman(a.ravel(), b.ravel())))
    return sorted(found, key=lambda change: (-change.size, change.statistic))


def by_chance(changes: Sequence[Change], seed: int) -> float:
    """Return what the median ρ stays below in 95 of 100 draws, each with the heads of the second in another order."""
    generator = np.random.default_rng(seed)
    middles = []
    for _ in range(DRAWS):
        order = generator.permutation(changes[0].first.size)
        middles.append(np.nanmedian([spearman(one.first.ravel(), one.second.ravel()[order]) for one in changes]))
    return float(np.quantile(middles, CERTAIN))


def verdict_of(correlation: float, chance: float) -> str:
    """Return whether the heads do the same in both."""
    if correlation <= chance:
        return "fails"
    return "holds" if correlation >= ALIKE else "mixed"


def aligned(first: Side, second: Side) -> bool:
    """Tell whether maps can be subtracted: as many tokens in both, the special ones at the same places."""
    return first.attention.encoding.special == second.attention.encoding.special


def _table(sides: Sequence[Side], changes: Sequence[Change]) -> Table:
    rows = []
    for change in changes:
        unit = REGISTRY[change.statistic].unit
        means = (Words(unit, {"value": float(np.nanmean(values))}) for values in (change.first, change.second))
        top = divmod(int(np.nanargmax(np.abs(change.values))), change.values.shape[1])
        rows.append(Row(Words(change.statistic), (*means, change.size, change.correlation, head_name(*top))))
    columns: tuple[Label, ...] = (sides[0].name, sides[1].name, Words("size"), Words("rho"), Words("top"))
    return Table("statistics", columns, ("number",) * len(columns), tuple(rows))


def _maps(sides: Sequence[Side], overall: Floats) -> list[HeadMap | TokenMaps]:
    """Return the divergence and the difference of maps where there are any, and the maps of the heads most changed."""
    exhibits: list[HeadMap | TokenMaps] = []
    first, second = (side.attention.weights.double() for side in sides)
    order, subtracted = overall, aligned(*sides)
    if subtracted:
        order = between(first, second).numpy()
        exhibits.append(HeadMap("divergence", order, "nats"))
    if max(len(side.tokens) for side in sides) > SHOWN:
        return exhibits
    ranked = np.argsort(-np.nan_to_num(order), axis=None, kind="stable")[:HEADS_SHOWN]
    heads = [divmod(int(flat), order.shape[1]) for flat in ranked]
    if subtracted:
        tokens = tuple(a if a == b else f"{a}/{b}" for a, b in zip(sides[0].tokens, sides[1].tokens, strict=True))
        differences = (TokenMap(head_name(*head), (second[head] - first[head]).numpy(), tokens) for head in heads)
        exhibits.append(TokenMaps("differences", tuple(differences), signed=True))
    own = (
        TokenMap(Words(label, {"head": head_name(*head)}), side.attention.weights[head].double().numpy(), side.tokens)
        for label, side in zip(("first_map", "second_map"), sides, strict=True)
        for head in heads
    )
    exhibits.append(TokenMaps("maps", tuple(own)))
    return exhibits


def _notes(sides: Sequence[Side], options: Options) -> tuple[Words, ...]:
    """Return what could mislead."""
    sizes = [len(side.tokens) for side in sides]
    notes = {
        "other_model": options.other is not None,
        "lengths": sizes[0] != sizes[1],
        "not_aligned": not aligned(*sides),
        "no_maps": max(sizes) > SHOWN,
        "cut": any(side.attention.encoding.truncated_from is not None for side in sides),
        "one_pair": True,
    }
    return tuple(Words(key) for key, here in notes.items() if here)


def _sizes(first: Encoder, second: Encoder) -> dict[str, str | int]:
    return {
        "first": first.info.name,
        "first_layers": first.info.layers,
        "first_heads": first.info.heads,
        "second": second.info.name,
        "second_layers": second.info.layers,
        "second_heads": second.info.heads,
    }
