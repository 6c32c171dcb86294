"""The scores of a part, with what each of them rests on, and the scores of several parts together."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from attnx.statistics.registry import REGISTRY, MapStatistic
from attnx.statistics.scores import Floats, HeadScores

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class PartScores:
    """The scores of a part of what is measured, in one scope.

    `rows` maps a statistic's name to int64 ``[layers, heads]``: how many rows its mean is taken over, or, for a
    statistic of the whole map, how many rows of the map count; 0 where the score is not defined.
    """

    scores: HeadScores
    rows: Mapping[str, Counts]


def merge_parts(first: Mapping[str, PartScores], second: Mapping[str, PartScores]) -> dict[str, PartScores]:
    """Return the scores of two parts together, by scope; of many, one is added after the other.

    A row statistic becomes the mean over the rows of both, a map statistic the mean of both weighted by their rows.
    The details, and which map statistics are defined, are those of the first.
    """
    return {scope: _merged(part, second[scope]) for scope, part in first.items()}


def _merged(first: PartScores, second: PartScores) -> PartScores:
    values, rows = {}, {}
    for name, value in first.scores.values.items():
        own, other = first.rows[name], second.rows[name]
        if isinstance(REGISTRY[name], MapStatistic):
            other = np.where(own > 0, other, 0)
        values[name] = _weighted_mean(value, own, second.scores.values[name], other)
        rows[name] = own + other
    skipped = first.scores.skipped_rows + second.scores.skipped_rows
    return PartScores(replace(first.scores, values=values, skipped_rows=skipped), rows)


def _weighted_mean(value: Floats, rows: Counts, other: Floats, other_rows: Counts) -> Floats:
    share = other_rows / np.maximum(rows + other_rows, 1)
    # One mean moves towards the other, so that no sum grows.
    return np.where(other_rows == 0, value, np.where(rows == 0, other, value + (other - value) * share))
