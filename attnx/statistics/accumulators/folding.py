"""The maps of many sentences, of one length and with the same sink tokens, added up; and the patterns of a batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from attnx.encoders.records import Encoding
from attnx.statistics.accumulators.results import Floats
from attnx.statistics.accumulators.shape import Mask, inner_tokens
from attnx.statistics.threads import side_by_side
from attnx.statistics.view import MINIMUM_MASS

# Weights that are looked at together, so that what is computed of them stays in the processor's cache.
WEIGHTS_AT_ONCE = 1 << 17


@dataclass(frozen=True)
class Pattern:
    """The sentences of a batch that have their sink tokens at the same places.

    `members` are their indices among the sentences that were given, `inner` ``[T]`` tells which tokens are no sinks.
    """

    members: NDArray[np.int64]
    inner: Mask


@dataclass(frozen=True)
class Fold:
    """Sums over n sentences of the maps of K heads, float64, by set of tokens (``all``, ``inner``).

    `sums` are those of the maps ``[K, T, T]``, `rows` ``[K, T]`` the number of sentences in which a row counts, and
    `entropies` ``[K, T]`` the sums of these rows' entropies in nats. Rows and columns outside ``inner`` are 0 there.
    `sink` ``[K]`` is the sum of the mean weight that inner tokens give to sink tokens.
    """

    sums: Mapping[str, Floats]
    rows: Mapping[str, Floats]
    entropies: Mapping[str, Floats]
    sink: Floats


def patterns(encodings: Sequence[Encoding]) -> list[Pattern]:
    """Return the patterns that occur among encodings of one length."""
    members: dict[bytes, list[int]] = {}
    for i, encoding in enumerate(encodings):
        members.setdefault(inner_tokens(encoding).tobytes(), []).append(i)
    return [Pattern(np.array(where), np.frombuffer(inner, dtype=np.bool_)) for inner, where in members.items()]


def select(weights: torch.Tensor, members: NDArray[np.int64]) -> torch.Tensor:
    """Return the maps of the members; of all of them, without a copy."""
    return weights if len(members) == len(weights) else weights[torch.from_numpy(members)]


def fold(weights: torch.Tensor, inner: Mask) -> Fold:
    """Add up the maps ``[n, K, T, T]`` of sentences whose inner tokens are `inner`, some heads at a time."""
    count, _, size, _ = weights.shape
    own = torch.from_numpy(inner.copy())
    step = max(1, WEIGHTS_AT_ONCE // (count * size * size))
    parts = side_by_side(lambda some: _sums(some, own), torch.split(weights, step, 1))
    sums, inner_sums, entropies, inner_entropies, rows, masses = (
        torch.cat(of_heads).numpy() for of_heads in zip(*parts, strict=True)
    )
    return Fold(
        {"all": sums, "inner": inner_sums},
        {"all": np.full(rows.shape, float(count)), "inner": rows},
        {"all": entropies, "inner": inner_entropies},
        (count - masses[:, inner]).sum(-1) / max(1, inner.sum()),
    )


def _sums(weights: torch.Tensor, inner: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return, over sentences, the sums of maps and of rescaled inner rows ``[k, T, T]``, of entropies, counts, masses.

    The last four are ``[k, T]``: the entropies of rows and of rescaled inner rows, in how many sentences an inner row
    counts, and the weight that it gives to inner tokens.
    """
    exact = weights.double()
    classes = torch.stack([torch.ones_like(inner), inner], -1).double()
    # p ln p, with 0 for p = 0, summed over all keys and over the inner ones.
    logs = exact.clamp(min=torch.finfo(torch.float64).tiny).log_().mul_(exact) @ classes
    sums, mass = exact.sum(0), (exact @ classes[:, 1]) * inner
    counts = mass >= MINIMUM_MASS
    # The rescaled row q = p / m has the entropy ln m - (Σ p ln p) / m.
    scale = torch.where(counts, 1 / mass, 0)
    inner_sums = exact.mul_(scale[..., None]).sum(0) * inner
    inner_entropies = (torch.where(counts, mass, 1).log() - logs[..., 1] * scale).sum(0)
    return sums, inner_sums, -logs[..., 0].sum(0), inner_entropies, counts.sum(0).double(), mass.sum(0)
