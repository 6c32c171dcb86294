"""What is known of the heads after a corpus: plain arrays, NaN where not defined.

L layers, H heads, S the statistics of a scope in the order of their names. Two sets of tokens recur: ``all``, and
``inner``, which leaves out the sink tokens as rows and as columns and rescales each row to sum to 1. Sink tokens are
the special tokens or, in a text without any, its first token: in texts with special tokens ``inner`` is the scope
``content``.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

SETS = ("all", "inner")


@dataclass(frozen=True)
class Summary:
    """Every statistic of one scope over sentences; each array is ``[L, H, S]``.

    `n` sentences have a defined value; `mean` is theirs (macro), `sd` their sample standard deviation (from 2 on),
    `low` to `high` the 95 % bootstrap interval of the mean (from 10 on, and of all lengths together only). `micro` is
    the mean weighted by `rows`, the number of rows behind it. `example` is the running number of the sentence with
    the `maximum`, the lowest of equals, -1 where there is none.
    """

    names: tuple[str, ...]
    n: Integers
    mean: Floats
    sd: Floats
    low: Floats
    high: Floats
    micro: Floats
    rows: Integers
    minimum: Floats
    maximum: Floats
    example: Integers


@dataclass(frozen=True)
class Stratum:
    """The sentences of `shortest` to `longest` tokens (None: no limit), special tokens included; scope -> Summary."""

    shortest: int
    longest: int | None
    sentences: int
    tokens: int
    scopes: Mapping[str, Summary]


@dataclass(frozen=True)
class MeanMap:
    """The mean map of the sentences of one length T.

    `weights` ``[L, H, T, T]``: the mean of each row over the sentences in which it counts, 0 where there is none.
    `peakedness`, `information`, `relative_information` and `ratio` are ``[L, H]``, means over the rows that can see
    two tokens or more; see `attnx.statistics.accumulators.mean_maps`.
    """

    weights: Floats
    peakedness: Floats
    information: Floats
    relative_information: Floats
    ratio: Floats


@dataclass(frozen=True)
class LengthMaps:
    """The mean maps of the `sentences` of `tokens` tokens, by set of tokens (``all``, ``inner``)."""

    tokens: int
    sentences: int
    sets: Mapping[str, MeanMap]


@dataclass(frozen=True)
class MeanMapResult:
    """The mean maps of every length with enough sentences, and what they say together.

    `sentences` are those of these lengths. The other fields map a set to ``[L, H]``: means over the lengths, weighted
    by their sentences. `sink` ``[L, H]`` is the mean weight that the other tokens give to sink tokens, `even_sink`
    ``[L]`` what those of a head that looks evenly at all it can see give them.
    """

    lengths: tuple[LengthMaps, ...]
    sentences: int
    peakedness: Mapping[str, Floats]
    information: Mapping[str, Floats]
    relative_information: Mapping[str, Floats]
    ratio: Mapping[str, Floats]
    sink: Floats
    even_sink: Floats


@dataclass(frozen=True)
class VariabilityResult:
    """How much the maps of a sample of `n` sentences differ, in the first `positions` tokens of the set ``inner``.

    `value` ``[L, H]`` is V, 0..1 - 1/n; `weights` ``[L, H, N, N]`` the mean of these parts of the maps, whose rows sum
    to at most 1, and `peakedness` ``[L, H]`` that of its rows rescaled to sum to 1. `sink` and `even_sink` are as in
    `MeanMapResult`, of these tokens. All is NaN below 50 sentences.
    """

    n: int
    positions: int
    value: Floats
    peakedness: Floats
    weights: Floats
    sink: Floats
    even_sink: Floats


@dataclass(frozen=True)
class ProfileResult:
    """The mean weight at each relative position: `offsets` ``[K]`` are key minus query, -16..16.

    `values` maps a set of tokens to ``[L, H, K]``, `rows` to the number of rows with a token there, float64 alike.
    """

    offsets: Integers
    values: Mapping[str, Floats]
    rows: Mapping[str, Floats]


@dataclass(frozen=True)
class DistanceResult:
    """How far apart the heads are over a sample of `n` sentences, in nats, in one set of tokens.

    `mean` and `micro` ``[L * H, L * H]`` are mean Jensen–Shannon divergences, over sentences and over rows, NaN on the
    diagonal. `layers` ``[L, L]`` is the mean of `mean` between the heads of two layers, on the diagonal the spread
    within a layer; `within` and `between` are the means over all pairs of heads of one and of different layers.
    `nearest` ``[L, H]`` is the flat index of the nearest head, -1 where undefined, at `nearest_distance`. `trend` is
    the rank correlation of a layer's spread with its depth, `trend_low` to `trend_high` its 95 % bootstrap interval.
    """

    n: int
    mean: Floats
    micro: Floats
    layers: Floats
    within: float
    between: float
    nearest: Integers
    nearest_distance: Floats
    trend: float
    trend_low: float
    trend_high: float


@dataclass(frozen=True)
class QuadrantResult:
    """What each head follows: `index` ``[L, H]`` into QUADRANTS, -1 where undefined, and what it was decided from.

    `peakedness`, `variability` and `sink` (above chance) are ``[L, H]``. `measure` names what `variability` is:
    ``variability``, or ``relative_information`` where too few sentences are long enough for it.
    """

    index: Integers
    peakedness: Floats
    variability: Floats
    sink: Floats
    measure: str


@dataclass(frozen=True)
class GroupResult:
    """All that is known of the sentences of one input file, or of all files together."""

    sentences: int
    tokens: int
    scopes: Mapping[str, Summary]
    strata: tuple[Stratum, ...]
    mean_maps: MeanMapResult
    variability: VariabilityResult
    profiles: ProfileResult
    distances: Mapping[str, DistanceResult]
    quadrants: QuadrantResult


@dataclass(frozen=True)
class GroupComparison:
    """How alike the heads of G groups rank in every statistic of one scope.

    `correlation` ``[S, G, G]`` is Spearman's rank correlation of the macro means over the heads that both define;
    `overlap` ``[S, G, G]`` the share of the `top` heads with the largest means that two groups have in common.
    """

    names: tuple[str, ...]
    correlation: Floats
    overlap: Floats
    top: int


@dataclass(frozen=True)
class CorpusResult:
    """A corpus: `whole` is all sentences, `groups` those of each input file, by its index.

    `groups` and `comparisons` (scope -> GroupComparison) are empty for a single file and for more than 8.
    """

    whole: GroupResult
    groups: tuple[GroupResult, ...]
    comparisons: Mapping[str, GroupComparison]
