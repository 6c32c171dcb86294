"""How much the first part of the maps varies from sentence to sentence."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from attnx.statistics.accumulators.chance import VARIABILITY
from attnx.statistics.accumulators.folding import Pattern, patterns
from attnx.statistics.accumulators.position import mean_over, row_entropies
from attnx.statistics.accumulators.results import Floats, VariabilityResult
from attnx.statistics.accumulators.sample import Sample
from attnx.statistics.accumulators.shape import Shape, even_sinks, inner_tokens, visible
from attnx.statistics.accumulators.state import Arrays, taken, taken_numbers
from attnx.statistics.view import MINIMUM_MASS
from attnx.streaming.records import Batch

POSITIONS = 10
# V of n sentences is at most 1 - 1 / n, and short of what it is for many by about as large a part.
FEWEST_SENTENCES = 50
SENTENCES = 500
# For larger models fewer sentences, so that a sample stays below this many numbers (64 MB).
MOST_NUMBERS = 16_000_000

Singles = NDArray[np.float32]


@dataclass(frozen=True)
class Part:
    """The part of a sentence's maps between its first N inner tokens.

    `weights` is float32 ``[L, H, N, N]``, the rows rescaled so that all inner tokens together get 1, NaN where the row
    does not count. `sink` ``[L, H]`` and `even_sink` ``[L]`` are what these tokens, and those of an even head, give
    to sink tokens.
    """

    weights: Singles
    sink: Singles
    even_sink: Floats


class Variability:
    """Position variability V (Vig & Belinkov 2019) on a sample of sentences; a MapObserver.

    V = Σ_x Σ_{i,j≤N} |p_ij(x) - p̄_ij| / 2 Σ_x Σ_{i,j≤N} p_ij(x), with the first N = 10 inner tokens of every sentence
    that has so many; rows are rescaled to the inner tokens, of which there may be more than N. They leave out the
    first token as a key, and so what inner tokens are is the same idea. 0: the head looks at the same places in every
    sentence; near 1: no two are alike. The mean p̄ has to be known before the differences, so the maps are kept.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        most = MOST_NUMBERS // max(1, shape.all_heads * POSITIONS**2)
        self.sample: Sample[Part] = Sample(max(FEWEST_SENTENCES, min(SENTENCES, most)), shape.seed, VARIABILITY)
        self._numbers = np.zeros(0, dtype=np.int64)
        self._patterns: list[Pattern] = []
        self._layers: list[tuple[Singles, Singles]] = []

    def wanted(self, batch: Batch) -> NDArray[np.bool_]:
        """Return the sentences of the sample that are long enough."""
        long = np.array([inner_tokens(encoding).sum() >= POSITIONS for encoding in batch.encodings], dtype=np.bool_)
        wanted = self.sample.accepts(batch.numbers, long)
        self._patterns = patterns([batch.encodings[i] for i in np.flatnonzero(wanted)])
        self._layers = []
        self._numbers = batch.numbers[wanted]
        return wanted

    def observe(self, layer: int, weights: torch.Tensor, batch: Batch) -> None:
        """Keep the part of one layer."""
        parts = np.zeros((*weights.shape[:2], POSITIONS, POSITIONS), dtype=np.float32)
        sinks = np.zeros(weights.shape[:2], dtype=np.float32)
        for pattern in self._patterns:
            inner = np.flatnonzero(pattern.inner)
            first, heads = inner[:POSITIONS], np.arange(weights.shape[1])
            rows = weights.numpy()[np.ix_(pattern.members, heads, first)].astype(np.float64)
            mass = rows[..., inner].sum(-1, keepdims=True)
            counts = mass >= MINIMUM_MASS
            parts[pattern.members] = np.where(counts, rows[..., first] / np.where(counts, mass, 1), np.nan)
            sinks[pattern.members] = 1 - mass[..., 0].mean(-1)
        self._layers.append((parts, sinks))

    def finish(self, batch: Batch) -> None:
        """Take over the parts of all layers."""
        weights = np.stack([weights for weights, _ in self._layers], 1)
        sinks = np.stack([sinks for _, sinks in self._layers], 1)
        for pattern in self._patterns:
            even = even_sinks(pattern.inner, self.shape)[:, :POSITIONS].mean(-1)
            for i in pattern.members.tolist():
                # Copies: a view would keep the whole batch.
                self.sample.add(int(self._numbers[i]), Part(weights[i].copy(), sinks[i].copy(), even))
        self.sample.trim()
        self._layers = []

    def merge(self, other: "Variability") -> None:
        """Add what another has seen of other sentences."""
        self.sample.merge(other.sample)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to save."""
        return {"numbers": self.sample.numbers(), **self._stacked()}

    @classmethod
    def from_state(cls, shape: Shape, state: Arrays) -> "Variability":
        """Return what was saved; raises StateError where it does not fit."""
        variability = cls(shape)
        numbers = taken_numbers(state)
        n, heads = len(numbers), (shape.layers, shape.heads)
        weights = taken(state, "weights", (n, *heads, POSITIONS, POSITIONS), np.float32)
        sinks = taken(state, "sink", (n, *heads), np.float32)
        even = taken(state, "even_sink", (n, shape.layers), np.float64)
        for i, number in enumerate(numbers.tolist()):
            variability.sample.add(number, Part(weights[i].copy(), sinks[i], even[i]))
        return variability

    def result(self) -> VariabilityResult:
        """Return V, and what else is known of the sample; NaN below 50 sentences."""
        shape, n = self.shape, len(self.sample)
        heads = (shape.layers, shape.heads)
        if n < FEWEST_SENTENCES:
            undefined = np.full(heads, np.nan)
            nothing = np.full((*heads, POSITIONS, POSITIONS), np.nan)
            return VariabilityResult(
                n, POSITIONS, undefined, undefined, nothing, undefined, np.full(shape.layers, np.nan)
            )
        stacked = self._stacked()
        # A layer at a time, since the differences are as large as the sample.
        layers = [_mean_and_variability(stacked["weights"][:, layer]) for layer in range(shape.layers)]
        mean = np.stack([mean for mean, _ in layers])
        return VariabilityResult(
            n,
            POSITIONS,
            np.stack([value for _, value in layers]),
            _peakedness(mean, visible(np.arange(POSITIONS), shape)),
            mean,
            stacked["sink"].mean(0, dtype=np.float64),
            stacked["even_sink"].mean(0),
        )

    def _stacked(self) -> dict[str, NDArray[Any]]:
        parts = [part for _, part in self.sample]
        heads = (self.shape.layers, self.shape.heads)
        # In its final size at once; a list of 500 parts would be copied twice.
        weights = np.zeros((len(parts), *heads, POSITIONS, POSITIONS), dtype=np.float32)
        sinks, even = np.zeros((len(parts), *heads), dtype=np.float32), np.zeros((len(parts), self.shape.layers))
        for i, part in enumerate(parts):
            weights[i], sinks[i], even[i] = part.weights, part.sink, part.even_sink
        return {"weights": weights, "sink": sinks, "even_sink": even}


def _mean_and_variability(weights: Singles) -> tuple[Floats, Floats]:
    """Return the mean map ``[H, N, N]`` and V ``[H]`` of maps ``[n, H, N, N]``; rows that are NaN do not count."""
    counts = ~np.isnan(weights)
    filled = np.where(counts, weights, 0).astype(np.float64)
    mean = filled.sum(0) / np.maximum(counts.sum(0), 1)
    differences = np.where(counts, np.abs(filled - mean), 0).sum((0, -2, -1))
    total = filled.sum((0, -2, -1))
    return mean, np.where(total > 0, differences / np.where(total > 0, 2 * total, 1), np.nan)


def _peakedness(mean: Floats, keys: NDArray[np.int64]) -> Floats:
    """Return 1 - H / ln(keys), the mean over rows of a mean map that see two of its tokens or more; rows sum to 1."""
    mass = mean.sum(-1, keepdims=True)
    rows = np.where(mass >= MINIMUM_MASS, mean / np.maximum(mass, MINIMUM_MASS), 0)
    judged = (mass[..., 0] >= MINIMUM_MASS) & (keys[:, None] > 1)
    return mean_over(1 - row_entropies(rows) / np.log(np.where(keys > 1, keys, 2))[:, None], judged)
