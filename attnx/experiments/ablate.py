"""Which heads can go: experiment E7.

Each head alone is changed in four ways, all heads of a layer but one are removed, and heads are removed one after the
other, the least important first. What counts is how far the last hidden states move: a model without a task has no
loss that could tell.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attnx.encoders.baseline import random_twin
from attnx.encoders.encoder import Encoder
from attnx.encoders.interventions.gates import importances
from attnx.encoders.records import Encoding
from attnx.errors import InputError
from attnx.experiments.ablating import KINDS, all_but_one, cumulative, each_alone, heads_of, moves, place_means
from attnx.experiments.records import (
    Advance,
    Curve,
    Curves,
    Floats,
    HeadMap,
    Options,
    Points,
    Progress,
    Result,
    Row,
    Table,
    Words,
)
from attnx.naming import head_name
from attnx.statistics.accumulators.ranks import spearman
from attnx.texts.sentence import Sentence

SLIGHT = 0.05  # of the distance between two tokens
MOST, SOME = 0.75, 0.25  # of all heads
CLOSER = 3  # texts on which everything but removing is tried
DIRECTIONS = 16
DRAWS = 3  # random orders
PARTS = 10  # steps in which all heads are removed
LEAST_TOKENS = 2
FEW = 10  # texts
ORDERS = ("by_gradient", "by_removal", "at_random")


@dataclass(frozen=True)
class Found:
    """What was measured, how far states moved: `kinds` has ``[texts, L, H]`` for each way to change a head.

    `alone` is that of all others of the layer removed. `gradients` are importances ``[L, H]``, `pruned` the moves by
    how many heads are gone, ``[ORDERS, PARTS + 1]``, and `chance` those of single heads of the random twin.
    """

    kinds: Mapping[str, Floats]
    alone: Floats
    gradients: Floats
    pruned: Floats
    chance: Floats


def run(encoder: Encoder, sentences: Sequence[Sentence], options: Options, progress: Progress) -> Result:
    """Remove every head from every text; all else on the first texts only, and on the twin with random weights."""
    encodings = [encoder.encode(sentence) for sentence in sentences]
    for encoding in encodings:
        if encoding.special.count(False) < LEAST_TOKENS:
            raise InputError("experiment_short", text=encoding.sentence.text, least=LEAST_TOKENS)
    progress.expect(passes(encoder, len(encodings)))
    found = measure(encoder, encodings, options.seed, progress.advance)
    removed = found.kinds["removed"].mean(0)
    closer = min(CLOSER, len(encodings))
    return Result(
        verdict_of(removed),
        _numbers(found, len(encodings)),
        (
            HeadMap("removed", 100 * removed, "number"),
            _curves(found),
            _table(found, removed.shape),
            HeadMap("gradient", found.gradients, "number"),
            Points("agreement", (Words("gradient_axis"), Words("moved_axis")), found.gradients, removed),
        ),
        (
            Words("closer", {"n": closer}),
            *((Words("small", {"n": len(encodings)}),) if len(encodings) < FEW else ()),
        ),
    )


def passes(encoder: Encoder, texts: int) -> int:
    """Return how many forward passes `measure` makes for so many texts."""
    heads, closer = encoder.info.layers * encoder.info.heads, min(CLOSER, texts)
    # The other kinds, all but one, and the twin; the orders of pruning.
    return texts * heads + closer * ((len(KINDS) + 1) * heads + (len(ORDERS) - 1 + DRAWS) * (PARTS + 1))


def measure(encoder: Encoder, encodings: Sequence[Encoding], seed: int, advance: Advance) -> Found:
    """Measure everything; see `Found`."""
    shape = (-1, encoder.info.layers, encoder.info.heads)
    first = encodings[:CLOSER]
    means = place_means(encoder, first)

    def of_heads(one: Encoder, kind: str, texts: Sequence[Encoding]) -> Floats:
        found = [moves(one, text, each_alone(one, KINDS[kind](means, text)), advance) for text in texts]
        return np.array(found).reshape(shape)

    kinds = {kind: of_heads(encoder, kind, encodings if kind == "removed" else first) for kind in KINDS}
    gradients = np.mean([importances(encoder, text, DIRECTIONS, seed).numpy() for text in first], 0)
    return Found(
        kinds,
        np.array([moves(encoder, text, all_but_one(encoder), advance) for text in first]).reshape(shape),
        gradients,
        prune(encoder, first, (gradients, kinds["removed"].mean(0)), seed, advance),
        of_heads(random_twin(encoder, seed), "removed", first).mean(0),
    )


def prune(
    encoder: Encoder, encodings: Sequence[Encoding], scores: Sequence[Floats], seed: int, advance: Advance
) -> Floats:
    """Return the mean move by how many heads are gone ``[len(scores) + 1, PARTS + 1]``, at random in the last row."""
    heads, chance = heads_of(encoder), random.Random(seed)
    orders = [[heads[i] for i in np.argsort(score, axis=None, kind="stable")] for score in scores]
    orders += [chance.sample(heads, len(heads)) for _ in range(DRAWS)]
    counts = [round(part * len(heads) / PARTS) for part in range(PARTS + 1)]
    variants = [variant for order in orders for variant in cumulative(order, counts)]
    found = np.mean([moves(encoder, text, variants, advance) for text in encodings], 0).reshape(len(orders), -1)
    return np.vstack([found[: len(scores)], found[len(scores) :].mean(0)])


def verdict_of(removed: Floats) -> str:
    """Return whether most heads can go, each alone: their removal hardly moves the states."""
    share = (removed < SLIGHT).mean()
    return "holds" if share >= MOST else "mixed" if share >= SOME else "fails"


def _numbers(found: Found, texts: int) -> dict[str, float | int | str]:
    removed = found.kinds["removed"].mean(0)
    top = divmod(int(removed.argmax()), removed.shape[1])
    half = PARTS // 2
    return {
        "n": texts,
        "heads": removed.size,
        "free": int((removed < SLIGHT).sum()),
        "slight": SLIGHT,
        "median": float(np.median(removed)),
        "top": head_name(*top),
        "top_moved": float(removed[top]),
        "half_least": float(found.pruned[0, half]),
        "half_random": float(found.pruned[-1, half]),
        "chance_free": int((found.chance < SLIGHT).sum()),
        "chance_median": float(np.median(found.chance)),
    }


def _curves(found: Found) -> Curves:
    x = np.linspace(0, 1, PARTS + 1)
    curves = [Curve(Words(name), x, y) for name, y in zip(ORDERS, found.pruned, strict=True)]
    return Curves("pruning", (Words("removed_axis"), Words("moved_axis")), tuple(curves))


def _table(found: Found, shape: tuple[int, ...]) -> Table:
    """Return for each way to change a head what it does to the first texts, and whether gradients foretell it."""
    rows = []
    closer = len(found.alone)
    for name, values in {**found.kinds, "alone": found.alone}.items():
        moved = values[:closer].mean(0)
        top = divmod(int(moved.argmax()), shape[1])
        numbers = (float((moved < SLIGHT).sum()), float(np.median(moved)), float(moved.max()))
        agreement = spearman(moved.ravel(), found.gradients.ravel())
        rows.append(Row(Words(name), (*numbers, head_name(*top), agreement)))
    columns = tuple(map(Words, ("free", "median", "largest", "head", "correlation")))
    return Table("change", columns, ("count", "share", "share", "count", "number"), tuple(rows))
