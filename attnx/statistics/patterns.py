"""The pattern classes of heads, by rule."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnx.encoders.records import Encoding
from attnx.statistics.scores import Floats, HeadScores

PATTERNS = ("vertical", "diagonal", "vertical_diagonal", "heterogeneous")


@dataclass(frozen=True)
class PatternThresholds:
    """From where on a pattern is seen, as shares of the way from chance (0) to a perfect pattern (1).

    `alone`: one pattern makes the class; `together`: both must reach this for the mixed class.
    """

    alone: float = 0.5
    together: float = 0.25


PATTERN_THRESHOLDS = PatternThresholds()


def pattern_class(scores: HeadScores, encoding: Encoding) -> NDArray[np.int64]:
    """Return each head's class as an index into PATTERNS, int64 ``[layers, heads]``; -1 below 3 tokens.

    `scores` are those of the scope ``all``. After the five classes of Kovaleva et al. 2019, section 4.1, who
    trained a network on hand labels; this is a rule, so shares are not comparable with theirs. Their class "block"
    (attention within a segment) needs two segments, which one sentence never has.

    With c the value of a uniform head, a share s is measured as (s - c) / (1 - c):
    *vertical* takes the larger of special_share and sink, *diagonal* the share within one token of the query.
    Both >= 0.25 make vertical_diagonal, else one >= 0.5 makes that class, else the head is heterogeneous.
    """
    vertical, diagonal = vertical_mass(scores, encoding), diagonal_mass(scores)
    both = (vertical >= PATTERN_THRESHOLDS.together) & (diagonal >= PATTERN_THRESHOLDS.together)
    conditions = [
        np.isnan(vertical) | np.isnan(diagonal),
        both,
        vertical >= PATTERN_THRESHOLDS.alone,
        diagonal >= PATTERN_THRESHOLDS.alone,
    ]
    choices = [-1, *(PATTERNS.index(name) for name in ("vertical_diagonal", "vertical", "diagonal"))]
    return np.select(conditions, choices, PATTERNS.index("heterogeneous")).astype(np.int64)


def vertical_mass(scores: HeadScores, encoding: Encoding) -> Floats:
    """Return the larger of special_share and sink, each above chance, ``[layers, heads]``; 1 is perfect."""
    special = sum(token.special for token in encoding.tokens)
    return np.fmax(
        _above_chance(scores.values["special_share"], special, scores.tokens),
        _above_chance(scores.values["sink"], 1, scores.tokens),
    )


def diagonal_mass(scores: HeadScores) -> Floats:
    """Return the share of attention to the token itself and its two neighbors, above chance, ``[layers, heads]``."""
    tokens, values = scores.tokens, scores.values
    # The neighbor shares are means over T - 1 rows, and their sum is taken over T.
    share = values["self_share"] + (values["previous_share"] + values["next_share"]) * (tokens - 1) / max(tokens, 1)
    # A uniform head gives (3T - 2) of its T * T equal weights to the three diagonals.
    return _above_chance(share, 3 * tokens - 2, tokens * tokens)


def _above_chance(share: Floats, part: int, whole: int) -> Floats:
    """Return (share - chance) / (1 - chance) for the chance part / whole; NaN where chance is already perfect."""
    return (share - part / whole) / (1 - part / whole) if part < whole else np.full_like(share, np.nan)
