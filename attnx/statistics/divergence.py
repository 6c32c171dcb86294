"""The Jensen–Shannon divergence between all pairs of heads."""

import math

import torch

# Up to this many tokens every digit is kept; beyond it float32 halves the time, at errors below 1e-6 nats.
EXACT_TOKENS = 64
# Elements of the maps per step, so that a step's work stays in the processor's cache.
BLOCK = 1 << 18
# A row may sum to 1 ± 1e-4, and a divergence in float32 is off by less.
ROUNDING = 1e-4


def mean_divergences(weights: torch.Tensor, valid: torch.Tensor, needed: torch.Tensor) -> torch.Tensor:
    """Return the mean over rows of the Jensen–Shannon divergence of every two heads, in nats; 0..ln 2.

    JS(a, b) = H((a + b) / 2) - (H(a) + H(b)) / 2, without the smoothing of Clark et al. 2019, section 6, whose
    code also sums over rows instead of averaging. `weights` is ``[N, R, R]``, `valid` ``[N, R]``; a row counts for
    a pair if it counts for both heads. `needed`, bool ``[N, N]`` and symmetric, says which pairs to compute. The result
    is float64 ``[N, N]``, NaN on the diagonal, for other pairs, and where no row counts.
    """
    heads, rows, keys = weights.shape
    dtype = torch.float64 if keys <= EXACT_TOKENS else torch.float32
    # The smallest number instead of 0 keeps the logarithms finite.
    maps = weights.to(dtype).nan_to_num(0.0).clamp(min=torch.finfo(dtype).tiny)
    single = _sum_x_log_x(maps)
    means = torch.full((heads, heads), torch.nan, dtype=torch.float64)
    step = max(1, BLOCK // max(1, rows * keys))
    pairs = needed.triu(1).nonzero()
    for start in range(0, len(pairs), step):
        a, b = pairs[start : start + step].T
        # H((a + b) / 2) is ln 2 - (s ln s) / 2, summed over keys, for the sum s = a + b.
        divergence = (math.log(2) + (single[a] + single[b] - _sum_x_log_x(maps[a] + maps[b])) / 2).clamp(min=0)
        both = valid[a] & valid[b]
        means[a, b] = means[b, a] = (divergence.double() * both).sum(-1) / both.sum(-1)
    return means


def may_be_nearest(weights: torch.Tensor, valid: torch.Tensor) -> torch.Tensor:
    """Return which pairs can hold some head's nearest head, bool ``[N, N]``, at the cost of one matrix product.

    ln 2 h <= JS <= h for the squared Hellinger distance h(a, b) = 1 - sum of sqrt(a b): both are f-divergences, and
    their generators are so ordered. A pair whose least divergence is above another's greatest is out for that head.
    """
    heads = len(weights)
    roots = torch.where(valid[:, :, None], weights, 0.0).nan_to_num(0.0).sqrt().view(heads, -1)
    counted = valid.double()
    hellinger = 1 - roots @ roots.T / (counted @ counted.T)
    hellinger.fill_diagonal_(torch.inf)
    greatest = hellinger.nan_to_num(torch.inf).min(-1, keepdim=True).values
    candidates = math.log(2) * hellinger <= greatest + ROUNDING
    return candidates | candidates.T


def _sum_x_log_x(values: torch.Tensor) -> torch.Tensor:
    """Return the sum over the last dimension of x ln x, for x above 0; ``torch.xlogy`` takes five times as long."""
    return values.log().mul_(values).sum(-1)
