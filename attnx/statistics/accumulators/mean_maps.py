"""The mean map of every length, and how much of the attention depends on the position alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnx.statistics.accumulators.folding import Fold, Pattern
from attnx.statistics.accumulators.position import position_measures
from attnx.statistics.accumulators.results import SETS, Floats, LengthMaps, MeanMap, MeanMapResult
from attnx.statistics.accumulators.shape import Mask, Shape, even_sinks, visible
from attnx.statistics.accumulators.state import Arrays, below, prefixed, taken

LONGEST = 32
# For larger models only shorter texts, so that the sums of all lengths stay below this many numbers (48 MB).
MOST_NUMBERS = 6_000_000
# Of fewer maps the mean is too peaked: M is short of about (T - 1) / 2n nats.
FEWEST_SENTENCES = 50

Sums = dict[str, NDArray[np.float64]]


class MeanMaps:
    """For each token count T up to `longest`: sums of the maps, of the rows that count, and of their entropies.

    What is summed up is float64 and simply adds. `places` ``[T]`` counts the sentences in which a token is an inner
    one; see `attnx.statistics.accumulators.results` for the two sets of tokens.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.longest = longest(shape)
        self.lengths: dict[int, Sums] = {}

    def add(self, tokens: int, sums: Sums) -> None:
        """Add the sums of some sentences of one length, as `empty_sums` and `add_fold` make them."""
        if tokens in self.lengths:
            for name, values in sums.items():
                self.lengths[tokens][name] += values
        else:
            self.lengths[tokens] = sums

    def merge(self, other: "MeanMaps") -> None:
        """Add what another has seen of other sentences."""
        for tokens, sums in other.lengths.items():
            self.add(tokens, {name: values.copy() for name, values in sums.items()})

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save."""
        state: dict[str, NDArray[Any]] = {}
        for tokens, sums in self.lengths.items():
            state |= prefixed(str(tokens), sums)
        return state

    @classmethod
    def from_state(cls, shape: Shape, state: Arrays) -> "MeanMaps":
        """Return what was saved; raises StateError where it does not fit."""
        maps = cls(shape)
        for tokens in sorted({int(name.split("/")[0]) for name in state}):
            saved = below(str(tokens), state)
            expected = empty_sums(shape, tokens)
            maps.lengths[tokens] = {name: taken(saved, name, of.shape, of.dtype) for name, of in expected.items()}
        return maps

    def result(self) -> MeanMapResult:
        """Return the mean maps of the lengths with at least 50 sentences, the shortest first."""
        enough = {n: sums for n, sums in sorted(self.lengths.items()) if sums["sentences"] >= FEWEST_SENTENCES}
        lengths = tuple(self._of_length(tokens, sums) for tokens, sums in enough.items())
        weights = [length.sentences for length in lengths]

        def together(values: Sequence[Floats]) -> Floats:
            return _weighted_mean(values, weights, (self.shape.layers, self.shape.heads))

        def of_sets(name: str) -> dict[str, Floats]:
            return {which: together([getattr(length.sets[which], name) for length in lengths]) for which in SETS}

        # A length at which no sentence has inner tokens has no sink either.
        sinks = [np.where(sums["places"].any(), sums["sink"] / sums["sentences"], np.nan) for sums in enough.values()]
        even = [
            np.where(sums["places"].any(), sums["even_sink"] / sums["sentences"], np.nan) for sums in enough.values()
        ]
        return MeanMapResult(
            lengths,
            sum(weights),
            of_sets("peakedness"),
            of_sets("information"),
            of_sets("relative_information"),
            of_sets("ratio"),
            together(sinks),
            _weighted_mean(even, weights, (self.shape.layers,)),
        )

    def _of_length(self, tokens: int, sums: Sums) -> LengthMaps:
        sentences = int(sums["sentences"])
        present = {"all": np.ones(tokens, dtype=np.bool_), "inner": sums["places"] > 0}
        sets = {name: self._mean_map(sums, name, places) for name, places in present.items()}
        return LengthMaps(tokens, sentences, sets)

    def _mean_map(self, sums: Sums, name: str, places: Mask) -> MeanMap:
        rows = sums[f"rows/{name}"]
        counted = np.maximum(rows, 1)
        weights = sums[f"maps/{name}"] / counted[..., None]
        keys = np.zeros((self.shape.layers, len(places)), dtype=np.int64)
        keys[:, places] = visible(np.flatnonzero(places), self.shape)
        return MeanMap(weights, *position_measures(weights, sums[f"entropies/{name}"] / counted, rows, keys))


def longest(shape: Shape) -> int:
    """Return the token count up to which mean maps are kept."""
    limit = LONGEST
    while limit > 1 and 2 * shape.all_heads * sum(size * size for size in range(1, limit + 1)) > MOST_NUMBERS:
        limit -= 1
    return limit


def empty_sums(shape: Shape, tokens: int) -> Sums:
    """Return the sums of no sentences of a length."""
    heads = (shape.layers, shape.heads)
    sums = {"sentences": np.zeros(()), "places": np.zeros(tokens)}
    sums |= {"sink": np.zeros(heads), "even_sink": np.zeros(shape.layers)}
    for name in SETS:
        sums[f"maps/{name}"] = np.zeros((*heads, tokens, tokens))
        sums[f"rows/{name}"] = np.zeros((*heads, tokens))
        sums[f"entropies/{name}"] = np.zeros((*heads, tokens))
    return sums


def add_pattern(sums: Sums, pattern: Pattern, shape: Shape) -> None:
    """Add what is known of the sentences of a pattern without their maps."""
    sentences = len(pattern.members)
    sums["sentences"] += sentences
    sums["places"] += sentences * pattern.inner
    if pattern.inner.any():
        sums["even_sink"] += sentences * even_sinks(pattern.inner, shape).mean(-1)


def add_fold(sums: Sums, layers: slice, folded: Fold) -> None:
    """Add the sums of some layers."""
    parts = {"sink": folded.sink}
    for name in SETS:
        parts |= {f"maps/{name}": folded.sums[name], f"rows/{name}": folded.rows[name]}
        parts[f"entropies/{name}"] = folded.entropies[name]
    for name, values in parts.items():
        own = sums[name][layers]
        own += values.reshape(own.shape)


def _weighted_mean(values: Sequence[Floats], weights: Sequence[int], shape: tuple[int, ...]) -> Floats:
    """Return the mean over the lengths that define a value, NaN where none does."""
    total, weight = np.zeros(shape), np.zeros(shape)
    for value, own in zip(values, weights, strict=True):
        defined = ~np.isnan(value)
        total += np.where(defined, value, 0) * own
        weight += defined * own
    return np.where(weight > 0, total / np.maximum(weight, 1), np.nan)
