"""What the report of a corpus shows, as records: the statistics over sentences without what no report needs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from attnx.encoders.records import ModelInfo, Token
from attnx.i18n import DEFAULT_LANGUAGE
from attnx.report.document import DECIMALS, Maps, Provenance, quantize
from attnx.statistics.accumulators.results import (
    SETS,
    CorpusResult,
    DistanceResult,
    Floats,
    GroupComparison,
    GroupResult,
    Integers,
    LengthMaps,
    QuadrantResult,
    Stratum,
)
from attnx.statistics.scores import SCOPES

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")

# Decimals of what is only drawn, or averaged over heads.
ROUGH_DECIMALS = 4
VARIABILITY = "variability"  # the measure that needs the most of a sentence
LENGTHS_SHOWN = 1  # of the mean maps: the lengths that most sentences have


@dataclass(frozen=True)
class CorpusFile:
    """One input: its name as the user gave it, and how many sentences of it were measured, refused and cut.

    `shortest` and `longest` are the token counts of the measured ones, special tokens included; 0 if there are none.
    """

    name: str
    sentences: int
    refused: int
    shortest: int
    longest: int
    cut: int


@dataclass(frozen=True)
class CorpusSettings:
    """The options that change the numbers: what is done with long texts, which sentences are taken, the seed."""

    long: str
    limit: int | None
    sample: int | None
    seed: int


@dataclass(frozen=True)
class Example:
    """A sentence that shows what one head does: its score there, its tokens, and the head's map of it.

    `value` is the head's `statistic` in `scope`; `number` the running number of the sentence, from line `line` of the
    file with the index `file`; `weights` uint8 ``[query, key]``, a weight p stored as round(255 p).
    """

    scope: str
    statistic: str
    layer: int
    head: int
    value: float
    number: int
    file: int
    line: int
    id: str
    text: str
    language: str
    tokens: tuple[Token, ...]
    weights: Maps


@dataclass(frozen=True)
class Means:
    """The macro means of one scope, ``[L, H, S]``: over `n` sentences, with the 95 % interval `low` to `high`."""

    names: tuple[str, ...]
    n: Integers
    mean: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Details:
    """The rest on one scope, ``[L, H, S]``: standard deviation over sentences, the mean over `rows` (micro)."""

    sd: Floats
    micro: Floats
    rows: Integers


@dataclass(frozen=True)
class Group:
    """The sentences of one file, or of all: how many sentences and tokens, every mean, what each head follows."""

    sentences: int
    tokens: int
    scopes: Mapping[str, Means]
    quadrants: QuadrantResult


@dataclass(frozen=True)
class LengthMeans:
    """The macro means of the sentences of `shortest` to `longest` tokens (None: no limit), by scope ``[L, H, S]``."""

    shortest: int
    longest: int | None
    sentences: int
    means: Mapping[str, Floats]


@dataclass(frozen=True)
class MeanMaps:
    """The mean maps of the `sentences` that have `tokens` tokens, uint8 ``[L, H, T, T]``, all tokens."""

    tokens: int
    sentences: int
    weights: Maps


@dataclass(frozen=True)
class Profiles:
    """The mean weight ``[L, H, K]`` at each of K relative positions (key minus query), special tokens left out."""

    offsets: NDArray[np.int64]
    values: Floats


@dataclass(frozen=True)
class Distances:
    """How far apart heads are in one scope, as in `DistanceResult`: `n` sentences, the matrix, its summaries."""

    n: int
    mean: Floats
    spread: Floats
    within: float
    between: float
    trend: float
    trend_low: float
    trend_high: float


@dataclass(frozen=True)
class CorpusDocument:
    """The report of a corpus before it is put into words.

    `whole` is all sentences, with their `details` by scope, `groups` those of each file in order, empty for one file
    and for very many. `varied` is how many sentences the variability was measured on.
    """

    model: ModelInfo
    provenance: Provenance
    files: tuple[CorpusFile, ...]
    settings: CorpusSettings
    whole: Group
    details: Mapping[str, Details]
    groups: tuple[Group, ...]
    comparisons: Mapping[str, GroupComparison]
    lengths: tuple[LengthMeans, ...]
    maps: tuple[MeanMaps, ...]
    varied: int
    profiles: Profiles
    distances: Mapping[str, Distances]
    examples: tuple[Example, ...]

    @property
    def name(self) -> str:
        """What a file of the report is called after, unless it is given a name."""
        return "corpus"

    @property
    def language(self) -> str:
        """The language of the report, unless another is asked for: that of most examples."""
        languages = Counter(example.language for example in self.examples)
        return languages.most_common(1)[0][0] if languages else DEFAULT_LANGUAGE


def corpus_document(
    model: ModelInfo,
    provenance: Provenance,
    files: tuple[CorpusFile, ...],
    settings: CorpusSettings,
    result: CorpusResult,
    examples: tuple[Example, ...],
) -> CorpusDocument:
    """Return what a report shows of a corpus: of the mean maps, those of the commonest lengths.

    Numbers are rounded as the JSON of the report has them, so that a report that was saved looks the same.
    """
    whole = result.whole
    common = sorted(whole.mean_maps.lengths, key=lambda maps: (-maps.sentences, maps.tokens))[:LENGTHS_SHOWN]
    return CorpusDocument(
        model,
        provenance,
        files,
        settings,
        group_of(whole),
        {scope: _rounded(Details(of.sd, of.micro, of.rows)) for scope, of in whole.scopes.items()},
        tuple(group_of(group) for group in result.groups),
        {scope: _rounded(comparison) for scope, comparison in result.comparisons.items()},
        tuple(_length_means(stratum) for stratum in whole.strata if stratum.sentences),
        tuple(_mean_maps(maps) for maps in common),
        whole.variability.n if whole.quadrants.measure == VARIABILITY else whole.mean_maps.sentences,
        _rounded(Profiles(whole.profiles.offsets, whole.profiles.values["inner"]), ROUGH_DECIMALS),
        {scope: _distances(whole.distances[name]) for scope, name in zip(SCOPES, SETS, strict=True)},
        tuple(_rounded(example) for example in examples),
    )


def group_of(result: GroupResult) -> Group:
    """Return what a report shows of a group of sentences."""
    means = {scope: _rounded(Means(of.names, of.n, of.mean, of.low, of.high)) for scope, of in result.scopes.items()}
    return Group(result.sentences, result.tokens, means, _rounded(result.quadrants))


def _length_means(stratum: Stratum) -> LengthMeans:
    means = {scope: summary.mean.round(ROUGH_DECIMALS) for scope, summary in stratum.scopes.items()}
    return LengthMeans(stratum.shortest, stratum.longest, stratum.sentences, means)


def _mean_maps(maps: LengthMaps) -> MeanMaps:
    return MeanMaps(maps.tokens, maps.sentences, quantize(maps.sets["all"].weights.astype(np.float32)))


def _distances(result: DistanceResult) -> Distances:
    spread = np.diagonal(result.layers)
    scalars = (result.within, result.between, result.trend, result.trend_low, result.trend_high)
    distances = Distances(result.n, result.mean.round(ROUGH_DECIMALS), spread, *scalars)
    return _rounded(distances)


def _rounded(record: Record, decimals: int = DECIMALS) -> Record:
    """Return a record with all that is not whole rounded."""
    changed = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f"):
            changed[field.name] = np.round(value, decimals)
    return replace(record, **changed)
