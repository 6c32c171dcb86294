"""Which role each head has over the texts of an experiment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnx.experiments.intervals import mean_of
from attnx.statistics.roles import ROLES
from attnx.streaming.records import NAMES, BatchScores

NO_ROLE = ""


def roles_of(batches: Sequence[BatchScores]) -> tuple[tuple[str, ...], ...]:
    """Return the name of the role of every head ``[L][H]``, empty for none.

    It is the first of `ROLES` whose statistic reaches its threshold as a mean over texts, and that says something in
    texts so short.
    """
    texts = sum(len(scores.batch.numbers) for scores in batches)
    even = texts / sum(len(scores.batch.numbers) * scores.batch.tokens for scores in batches)
    layers, heads = next(iter(batches[0].values.values())).shape[1:3]
    found = np.full((layers, heads), NO_ROLE, dtype=object)
    for role in reversed([role for role in ROLES if role.tells(even)]):
        place = NAMES[role.scope].index(role.statistic)
        means = mean_of(np.concatenate([scores.values[role.scope][..., place] for scores in batches]))
        found[means >= role.threshold] = role.name
    return tuple(tuple(row) for row in found)
