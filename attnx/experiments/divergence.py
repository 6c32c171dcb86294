"""The Jensen–Shannon divergence between two maps of the same head."""

from __future__ import annotations

import math

import torch

from attnx.statistics.view import MINIMUM_MASS


def between(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Return the mean over rows of JS(first_i, second_i), in nats, 0..ln 2, float64 ``[...]``.

    Both are weights ``[..., R, R]``, whose rows are rescaled to sum to 1; a row with next to no weight in either does
    not count. JS(a, b) = H((a + b) / 2) − (H(a) + H(b)) / 2, without smoothing (Clark et al. 2019, section 6, smooth).
    NaN where no row counts.
    """
    masses = [weights.double().sum(-1, keepdim=True) for weights in (first, second)]
    counts = ((masses[0] >= MINIMUM_MASS) & (masses[1] >= MINIMUM_MASS))[..., 0]
    a, b = (
        weights.double() / mass.clamp(min=MINIMUM_MASS) for weights, mass in zip((first, second), masses, strict=True)
    )
    # With s = a + b: H(s / 2) = ln 2 − (Σ s ln s) / 2.
    rows = math.log(2) + (torch.xlogy(a, a) + torch.xlogy(b, b) - torch.xlogy(a + b, a + b)).sum(-1) / 2
    return (rows.clamp(min=0) * counts).sum(-1) / counts.sum(-1)
