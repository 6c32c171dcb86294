"""How far apart the heads are, on a sample of sentences."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from attnx.statistics.accumulators.chance import DISTANCES, DRAW, poisson_weights
from attnx.statistics.accumulators.ranks import spearman
from attnx.statistics.accumulators.results import SETS, DistanceResult, Floats
from attnx.statistics.accumulators.rows import Rows, kept_rows
from attnx.statistics.accumulators.sample import Sample
from attnx.statistics.accumulators.shape import Shape, inner_tokens
from attnx.statistics.accumulators.state import Arrays, StateError, taken, taken_numbers
from attnx.statistics.threads import side_by_side
from attnx.streaming.records import Batch

SENTENCES = 64
# For larger models fewer sentences, so that no more pairs of heads are compared than with 144 heads; at least 16.
MOST_COMPARISONS = SENTENCES * 144**2
FEWEST_SAMPLED = 16
FEWEST_SENTENCES = 10
REPLICATES = 1000
INTERVAL = (2.5, 97.5)


class Distances:
    """The maps of a small sample of sentences, from which the divergences of all pairs of heads follow.

    A MapObserver. The divergence is that of Clark et al. 2019, section 6, without smoothing, and a mean over rows.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        most = MOST_COMPARISONS // max(1, shape.all_heads**2)
        self.sample: Sample[Rows] = Sample(max(FEWEST_SAMPLED, min(SENTENCES, most)), shape.seed, DISTANCES)
        self._wanted = np.zeros(0, dtype=np.int64)
        self._layers: list[torch.Tensor] = []

    def wanted(self, batch: Batch) -> NDArray[np.bool_]:
        """Return the sentences of the sample."""
        wanted = self.sample.accepts(batch.numbers, np.ones(len(batch.numbers), dtype=np.bool_))
        self._wanted = np.flatnonzero(wanted)
        self._layers = []
        return wanted

    def observe(self, layer: int, weights: torch.Tensor, batch: Batch) -> None:
        """Keep the rows of one layer."""
        self._layers.append(weights[:, :, torch.from_numpy(kept_rows(batch.tokens))])

    def finish(self, batch: Batch) -> None:
        """Take over the rows of all layers."""
        weights, queries = torch.stack(self._layers, 1), kept_rows(batch.tokens)
        for i, where in enumerate(self._wanted.tolist()):
            rows = Rows(weights[i].clone(), queries, inner_tokens(batch.encodings[where]))
            self.sample.add(int(batch.numbers[where]), rows)
        self.sample.trim()
        self._layers = []

    def merge(self, other: "Distances") -> None:
        """Add what another has seen of other sentences."""
        self.sample.merge(other.sample)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save: the sentences one after the other."""
        rows = [rows for _, rows in self.sample]
        flat = [of.weights.numpy().ravel() for of in rows]
        return {
            "numbers": self.sample.numbers(),
            "tokens": np.array([len(of.inner) for of in rows], dtype=np.int64),
            "inner": np.concatenate([of.inner for of in rows] or [np.zeros(0, dtype=np.bool_)]),
            "weights": np.concatenate(flat or [np.zeros(0, dtype=np.float32)]),
        }

    @classmethod
    def from_state(cls, shape: Shape, state: Arrays) -> "Distances":
        """Return what was saved; raises StateError where it does not fit."""
        distances = cls(shape)
        numbers = taken_numbers(state)
        tokens = taken(state, "tokens", numbers.shape, np.int64)
        if (tokens < 1).any():
            raise StateError("a sentence without tokens")
        sizes = [shape.all_heads * len(kept_rows(size)) * size for size in tokens.tolist()]
        inner = np.split(taken(state, "inner", (int(tokens.sum()),), np.bool_), np.cumsum(tokens))
        weights = np.split(taken(state, "weights", (sum(sizes),), np.float32), np.cumsum(sizes))
        for i, number in enumerate(numbers.tolist()):
            queries = kept_rows(int(tokens[i]))
            own = torch.from_numpy(weights[i].reshape(shape.layers, shape.heads, len(queries), -1).copy())
            distances.sample.add(number, Rows(own, queries, inner[i].copy()))
        return distances

    def result(self) -> dict[str, DistanceResult]:
        """Return the distances in both sets of tokens."""
        # Many small steps each; a sentence a thread is many times as fast as all threads on one.
        side_by_side(lambda rows: rows.divergences(), [rows for _, rows in self.sample])
        return {name: self._result(name) for name in SETS}

    def _result(self, name: str) -> DistanceResult:
        shape, heads = self.shape, self.shape.all_heads
        sums, rows = _Mean(heads), _Mean(heads)
        spreads = []
        for _, sentence in self.sample:
            values = sentence.divergences()[name]
            sums.add(values, 1)
            rows.add(values, sentence.number(name))
            spreads.append(_between_layers(values, shape).diagonal())
        mean = sums.result()
        layers = _between_layers(mean, shape)
        closest = np.where(np.isnan(mean), np.inf, mean)
        distance = closest.min(-1, initial=np.inf).reshape(shape.layers, shape.heads)
        nearest = closest.argmin(-1).reshape(distance.shape)
        return DistanceResult(
            len(self.sample),
            mean,
            rows.result(),
            layers,
            *_within_and_between(mean, shape),
            np.where(np.isinf(distance), -1, nearest),
            np.where(np.isinf(distance), np.nan, distance),
            spearman(np.arange(shape.layers, dtype=np.float64), layers.diagonal()),
            *self._trend_interval(np.array(spreads).reshape(-1, shape.layers)),
        )

    def _trend_interval(self, spreads: Floats) -> tuple[float, float]:
        """Return the interval of the rank correlation of spread and depth, from the spreads of sentences ``[n, L]``."""
        if len(spreads) < FEWEST_SENTENCES:
            return float("nan"), float("nan")
        draws = poisson_weights(self.shape.seed, DRAW, self.sample.numbers(), REPLICATES)
        defined = ~np.isnan(spreads)
        with np.errstate(invalid="ignore"):
            means = (draws @ np.where(defined, spreads, 0)) / (draws @ defined)
        depth = np.arange(spreads.shape[1], dtype=np.float64)
        trends = np.array([spearman(depth, mean) for mean in means])
        if np.isnan(trends).all():
            return float("nan"), float("nan")
        low, high = np.nanpercentile(trends, INTERVAL).tolist()
        return low, high


class _Mean:
    """A weighted mean of matrices, each entry over where it is defined."""

    def __init__(self, size: int) -> None:
        self.sum, self.weight = np.zeros((size, size)), np.zeros((size, size))

    def add(self, values: Floats, weight: float) -> None:
        defined = ~np.isnan(values)
        self.sum += np.where(defined, values, 0) * weight
        self.weight += defined * weight

    def result(self) -> Floats:
        return np.where(self.weight > 0, self.sum / np.where(self.weight > 0, self.weight, 1), np.nan)


def _between_layers(values: Floats, shape: Shape) -> Floats:
    """Return the mean over the pairs of heads of two layers, ``[L, L]``; NaN where none is defined."""
    blocks = values.reshape(shape.layers, shape.heads, shape.layers, shape.heads)
    defined = ~np.isnan(blocks)
    n = defined.sum((1, 3))
    return np.where(n > 0, np.where(defined, blocks, 0).sum((1, 3)) / np.maximum(n, 1), np.nan)


def _within_and_between(values: Floats, shape: Shape) -> tuple[float, float]:
    """Return the mean over all pairs of heads of one layer, and over those of different layers."""
    layer = np.arange(shape.all_heads) // shape.heads
    same = layer[:, None] == layer
    return _mean(values[same]), _mean(values[~same])


def _mean(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")
