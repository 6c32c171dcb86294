"""The rows of a sentence's maps that are kept to compare the heads."""

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from attnx.statistics.accumulators.results import Floats
from attnx.statistics.accumulators.shape import Mask
from attnx.statistics.divergence import mean_divergences
from attnx.statistics.view import MINIMUM_MASS

# Of a text above 32 tokens only so many rows are kept, evenly spaced, as leave this many weights a head.
WEIGHTS = 32 * 32


@dataclass(frozen=True)
class Rows:
    """Rows of a sentence's maps: float32 ``[L, H, R, T]``, their `queries` ``[R]``, the `inner` tokens ``[T]``."""

    weights: torch.Tensor
    queries: NDArray[np.int64]
    inner: Mask
    _divergences: dict[str, Floats] = field(default_factory=dict, init=False)

    def divergences(self) -> dict[str, Floats]:
        """Return the mean Jensen–Shannon divergence of every two heads, ``[L * H, L * H]``, by set of tokens.

        Computed when asked for, once: most sentences leave the sample again.
        """
        if not self._divergences:
            weights = self.weights.flatten(0, 1).double()
            own = weights[:, torch.from_numpy(self.inner[self.queries])]
            self._divergences.update(
                all=_divergences(weights, torch.ones(weights.shape[-1], dtype=torch.bool)),
                inner=_divergences(own, torch.from_numpy(self.inner.copy())),
            )
        return self._divergences

    def number(self, name: str) -> int:
        """Return how many rows of the whole map are in a set of tokens."""
        return len(self.inner) if name == "all" else int(self.inner.sum())


def _divergences(weights: torch.Tensor, keys: torch.Tensor) -> Floats:
    """Return the mean divergences of heads ``[N, R, T]`` over the keys of a set of tokens, ``[N, N]``."""
    own = weights[..., keys]
    mass = own.sum(-1)
    counts = mass >= MINIMUM_MASS
    pairs = torch.ones(len(own), len(own), dtype=torch.bool)
    divergences: Floats = mean_divergences(own / torch.where(counts, mass, 1)[..., None], counts, pairs).numpy()
    return divergences


def kept_rows(tokens: int) -> NDArray[np.int64]:
    """Return the rows that are kept of a map: all up to 32 tokens, fewer of more, evenly spaced."""
    rows = min(tokens, max(1, WEIGHTS // tokens))
    return (np.arange(rows) * 2 + 1) * tokens // (2 * rows)
