"""Every head changed alone, all of a layer but one removed, and heads removed one after the other."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attnx.encoders.encoder import Encoder
from attnx.encoders.interventions.records import Variant
from attnx.encoders.records import Encoding
from attnx.experiments.ablating import KINDS, all_but_one, cumulative, each_alone, heads_of, place_means
from attnx.experiments.records import Floats

CLOSER = 3  # texts on which everything but removing is tried
DRAWS = 3  # random orders
PARTS = 10  # steps in which all heads are removed
ORDERS = ("by_gradient", "by_removal", "at_random")

# What variants do to a text, [variants]: how far they move its states, or by how much its loss rises.
Effect = Callable[[Encoding, Sequence[Variant]], Floats]


@dataclass(frozen=True)
class Found:
    """One effect of everything: `kinds` has ``[texts, L, H]`` for each way to change a head.

    `alone` is that of all others of the layer removed, `pruned` the effects by how many heads are gone,
    ``[ORDERS, PARTS + 1]``.
    """

    kinds: Mapping[str, Floats]
    alone: Floats
    pruned: Floats

    @property
    def removed(self) -> Floats:
        """The mean effect over texts of removing each head ``[L, H]``."""
        return np.asarray(self.kinds["removed"].mean(0), np.float64)


def passes(encoder: Encoder, texts: int, *, losses: bool) -> int:
    """Return how many forward passes an experiment on so many texts makes."""
    heads, closer = encoder.info.layers * encoder.info.heads, min(CLOSER, texts)
    # The other kinds and all but one, the orders of pruning; the twin.
    effect = texts * heads + closer * (len(KINDS) * heads + (len(ORDERS) - 1 + DRAWS) * (PARTS + 1))
    return effect * (1 + losses) + closer * heads


def measure(encoder: Encoder, encodings: Sequence[Encoding], effect: Effect, gradients: Floats, seed: int) -> Found:
    """Measure one effect of everything; see `Found`. `gradients` ``[L, H]`` give the first order of pruning."""
    first = encodings[:CLOSER]
    kinds = {kind: of_each(encoder, encodings if kind == "removed" else first, effect, kind) for kind in KINDS}
    alone = np.array([effect(text, all_but_one(encoder)) for text in first]).reshape(kinds["uniform"].shape)
    return Found(kinds, alone, prune(encoder, first, effect, (gradients, kinds["removed"].mean(0)), seed))


def of_each(encoder: Encoder, encodings: Sequence[Encoding], effect: Effect, kind: str) -> Floats:
    """Return the effect of changing each head alone in one way, ``[texts, L, H]``."""
    means = place_means(encoder, encodings[:CLOSER])
    found = [effect(text, each_alone(encoder, KINDS[kind](means, text))) for text in encodings]
    return np.array(found).reshape(-1, encoder.info.layers, encoder.info.heads)


def prune(
    encoder: Encoder, encodings: Sequence[Encoding], effect: Effect, scores: Sequence[Floats], seed: int
) -> Floats:
    """Return the mean effect by how many heads are gone ``[len(scores) + 1, PARTS + 1]``, at random in the last row."""
    heads, chance = heads_of(encoder), random.Random(seed)
    orders = [[heads[i] for i in np.argsort(score, axis=None, kind="stable")] for score in scores]
    orders += [chance.sample(heads, len(heads)) for _ in range(DRAWS)]
    counts = [round(part * len(heads) / PARTS) for part in range(PARTS + 1)]
    variants = [variant for order in orders for variant in cumulative(order, counts)]
    found = np.mean([effect(text, variants) for text in encodings], 0).reshape(len(orders), -1)
    return np.vstack([found[: len(scores)], found[len(scores) :].mean(0)])
