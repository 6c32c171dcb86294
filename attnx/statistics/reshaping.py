"""One head's map in another form, for looking at: without special tokens, by words, on another scale. numpy only.

The statistics are not computed from these; they see tokens (`attnx.statistics.view`).
"""

from collections.abc import Sequence
from itertools import groupby
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnx.encoders.records import Token
from attnx.statistics.view import MINIMUM_MASS

Weights = NDArray[np.floating[Any]]

SCALES = ("linear", "log", "row")
FAINTEST = 1e-3  # the weight at which the logarithmic scale begins
# The linear scale ends at nearly the largest of all weights, rounded up; the few above it share the darkest color.
TOP_QUANTILE = 0.995
TOP_STEP = 0.05


def without_special(weights: Weights, special: Sequence[bool]) -> Weights:
    """Return ``[..., query, key]`` without the special tokens' rows and columns, every row summing to 1 again.

    A row that has (almost) all of its attention on special tokens is NaN.
    """
    kept = ~np.asarray(special, dtype=bool)
    left = weights[..., kept, :][..., kept].astype(np.float64)
    mass = left.sum(-1, keepdims=True)
    shares: Weights = np.divide(left, mass, out=np.full_like(left, np.nan), where=mass >= MINIMUM_MASS)
    return shares


def word_ranges(tokens: Sequence[Token]) -> tuple[range, ...]:
    """Return the positions of every word's tokens in order; a special token is a word by itself."""
    keys = [(token.word, position if token.word is None else -1) for position, token in enumerate(tokens)]
    words = [[position for position, _key in word] for _, word in groupby(enumerate(keys), lambda item: item[1])]
    return tuple(range(word[0], word[-1] + 1) for word in words)


def by_word(weights: Weights, words: Sequence[range]) -> Weights:
    """Return ``[..., word, word]`` for ``[..., query, key]``, whose rows still sum to 1.

    Attention to a word is the sum over its tokens, attention from it their mean (Clark et al. 2019, section 4.1).
    """
    starts = [word.start for word in words]
    lengths = np.array([len(word) for word in words])
    summed = np.add.reduceat(weights, starts, axis=-1)
    merged: Weights = np.add.reduceat(summed, starts, axis=-2) / lengths[:, None]
    return merged


def scale_top(weights: Weights) -> float:
    """Return the weight at which the linear scale of a sentence ends, for all its heads ``[layers, heads, T, T]``."""
    top = float(np.quantile(weights, TOP_QUANTILE))
    return min(1.0, max(TOP_STEP, ceil(round(top / TOP_STEP, 9)) * TOP_STEP))


def scaled(weights: Weights, scale: str, top: float) -> Weights:
    """Return how far each weight ``[query, key]`` is along a color scale, 0..1; NaN stays NaN.

    ``linear``: from 0 to `top`; ``log``: from 0.1 % or less to 1, by the logarithm; ``row``: from 0 to the largest
    weight of its row.
    """
    shares: Weights
    if scale == "log":
        shares = 1 - np.log(np.clip(weights, FAINTEST, 1)) / np.log(FAINTEST)
    elif scale == "row":
        shares = weights / weights.max(-1, keepdims=True)
    else:
        shares = np.clip(weights / top, 0, 1)
    return shares
