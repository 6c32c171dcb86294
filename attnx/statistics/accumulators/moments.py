"""Means over sentences and over rows, with their spread, by length."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from attnx.statistics.accumulators.chance import BAG, DRAW, hashes, poisson_weights
from attnx.statistics.accumulators.parts import Parts, empty, merged, parts_of
from attnx.statistics.accumulators.results import Floats, Stratum, Summary
from attnx.statistics.accumulators.shape import Shape
from attnx.statistics.accumulators.state import Arrays, taken
from attnx.streaming.records import BatchScores

# The longest texts of each stratum, in tokens; the last has no limit.
STRATA = (8, 16, 32, 64, 128)
# Of sentences, put together by chance; the bootstrap draws bags.
BAGS = 200
# For larger models fewer bags, so that their sums stay below about 100 MB in a scope.
MOST_SUMS = 200 * 1000
FEWEST_BAGS = 50
REPLICATES = 1000
# Below this many sentences an interval would say more than is known.
FEWEST_SENTENCES = 10
INTERVAL = (2.5, 97.5)
# Values of sentences that are looked at together, so that what is computed of them stays in the processor's cache.
VALUES_AT_ONCE = 1 << 16


class Moments:
    """The moments of every statistic of one scope, for each stratum of lengths, and the bootstrap of the means.

    The parts are arrays ``[strata, C]`` with C = layers * heads * S, of which a batch changes one row. For the
    bootstrap there are sums of 200 bags, ``[bags, C]``, into which the hash of its number puts each sentence: bags are
    drawn with replacement once all sentences are known. Up to some 200 sentences that is nearly the ordinary bootstrap;
    with more, a bag stands for many sentences, and the width of the interval is known to about 5 %.
    """

    def __init__(self, shape: Shape, scope: str) -> None:
        self.shape, self.scope = shape, scope
        columns = shape.all_heads * len(shape.names[scope])
        bags = max(FEWEST_BAGS, min(BAGS, MOST_SUMS // max(1, shape.all_heads)))
        self.parts = empty(len(STRATA) + 1, columns)
        self.bag_sums = np.zeros((bags, columns))
        self.bag_counts = np.zeros((bags, columns))

    def update(self, scores: BatchScores) -> None:
        """Add the sentences of a batch, all of one length."""
        numbers = scores.batch.numbers
        values = scores.values[self.scope].reshape(len(numbers), -1)
        rows = scores.rows[self.scope].reshape(values.shape)
        if (np.diff(numbers) < 0).any():
            order = np.argsort(numbers)
            numbers, values, rows = numbers[order], values[order], rows[order]
        place = int(np.searchsorted(STRATA, scores.batch.tokens))
        total = {name: part[place : place + 1] for name, part in self.parts.items()}
        step = max(1, VALUES_AT_ONCE // values.shape[1])
        for start in range(0, len(numbers), step):
            some = slice(start, start + step)
            total = merged(total, self._of_some(values[some], rows[some], numbers[some]))
        for name, part in total.items():
            self.parts[name][place] = part[0]

    def _of_some(self, values: Floats, rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> Parts:
        """Put the sentences into their bags and return their parts, ``[1, C]`` each; the numbers ascend."""
        defined = ~np.isnan(values)
        filled = values if defined.all() else np.where(defined, values, 0)
        bags = hashes(self.shape.seed, BAG, numbers) % np.uint64(len(self.bag_sums))
        for i, bag in enumerate(bags.tolist()):
            self.bag_sums[bag] += filled[i]
            self.bag_counts[bag] += 1 if filled is values else defined[i]
        return parts_of(filled, defined, rows, numbers)

    def merge(self, other: "Moments") -> None:
        """Add what another has seen of other sentences."""
        self.parts = merged(self.parts, other.parts)
        self.bag_sums += other.bag_sums
        self.bag_counts += other.bag_counts

    def state(self) -> Parts:
        """Return the arrays to save."""
        return {**self.parts, "bag_sums": self.bag_sums, "bag_counts": self.bag_counts}

    @classmethod
    def from_state(cls, shape: Shape, scope: str, state: Arrays) -> "Moments":
        """Return what was saved; raises StateError where it does not fit."""
        moments = cls(shape, scope)
        moments.parts = {name: taken(state, name, part.shape, part.dtype) for name, part in moments.parts.items()}
        moments.bag_sums = taken(state, "bag_sums", moments.bag_sums.shape, np.float64)
        moments.bag_counts = taken(state, "bag_counts", moments.bag_counts.shape, np.float64)
        return moments

    def result(self) -> Summary:
        """Return the summary over all lengths, with intervals."""
        total = {name: part[:1] for name, part in self.parts.items()}
        for i in range(1, len(STRATA) + 1):
            total = merged(total, {name: part[i : i + 1] for name, part in self.parts.items()})
        ends = self._interval(total["mean"][0], total["n"][0] >= FEWEST_SENTENCES)
        return self._summary({name: part[0] for name, part in total.items()}, ends)

    def _interval(self, mean: Floats, enough: NDArray[np.bool_]) -> Floats:
        """Return the ends of the interval of each mean, ``[2, C]``, NaN in the columns where there is not enough."""
        ends = np.full((2, len(enough)), np.nan)
        if enough.any():
            draws = poisson_weights(self.shape.seed, DRAW, np.arange(len(self.bag_sums)), REPLICATES)
            sums, counts = draws @ self.bag_sums[:, enough], draws @ self.bag_counts[:, enough]
            # A draw of no sentence, one in 20,000 with 10 sentences, says nothing else than the mean.
            means = np.where(counts > 0, sums / np.maximum(counts, 1), mean[enough])
            ends[:, enough] = np.percentile(means, INTERVAL, axis=0)
        return ends

    def strata(self) -> list[Summary]:
        """Return the summary of each stratum, without intervals."""
        undefined = np.full((2, self.bag_sums.shape[1]), np.nan)
        rows = range(len(STRATA) + 1)
        return [self._summary({name: part[i] for name, part in self.parts.items()}, undefined) for i in rows]

    def _summary(self, part: Arrays, ends: Floats) -> Summary:
        shape, names = self.shape, self.shape.names[self.scope]
        n, rows, none = part["n"], part["rows"], part["n"] == 0
        arrays = {
            "n": n,
            "mean": np.where(none, np.nan, part["mean"]),
            "sd": np.where(n > 1, np.sqrt(part["squares"] / np.maximum(n - 1, 1)), np.nan),
            "low": ends[0],
            "high": ends[1],
            "micro": np.where(rows > 0, part["micro"], np.nan),
            "rows": rows,
            "minimum": np.where(none, np.nan, part["minimum"]),
            "maximum": np.where(none, np.nan, part["maximum"]),
            "example": np.where(none, -1, part["example"]),
        }
        full = (shape.layers, shape.heads, len(names))
        return Summary(names, **{name: array.reshape(full) for name, array in arrays.items()})


class Lengths:
    """How many sentences and tokens each stratum has."""

    def __init__(self) -> None:
        self.counts = np.zeros((len(STRATA) + 1, 2), dtype=np.int64)

    def update(self, tokens: int, sentences: int) -> None:
        """Add sentences of one length."""
        self.counts[np.searchsorted(STRATA, tokens)] += sentences, tokens * sentences

    def merge(self, other: "Lengths") -> None:
        """Add what another has seen of other sentences."""
        self.counts += other.counts

    @classmethod
    def from_state(cls, state: Arrays) -> "Lengths":
        """Return what was saved; raises StateError where it does not fit."""
        lengths = cls()
        lengths.counts = taken(state, "lengths", lengths.counts.shape, np.int64)
        return lengths

    def strata(self, scopes: Mapping[str, list[Summary]]) -> tuple[Stratum, ...]:
        """Return the strata with their summaries, which `scopes` maps a scope to; those without a sentence too."""
        shortest, longest = (1, *(limit + 1 for limit in STRATA)), (*STRATA, None)
        return tuple(
            Stratum(shortest[i], longest[i], int(n), int(tokens), {name: of[i] for name, of in scopes.items()})
            for i, (n, tokens) in enumerate(self.counts)
        )
