"""The Jensen–Shannon divergence between all pairs of heads."""

import math

import torch

from attnx.statistics.threads import side_by_side

# Up to this many tokens every digit is kept; beyond it float32 halves the time, at errors below 1e-6 nats.
EXACT_TOKENS = 64
# Elements of the maps per step, so that a step's work stays in the processor's cache.
BLOCK = 1 << 18
# Pairs of heads per step in what is left once the keys are summed up.
PAIRS = 1024
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
    # The smallest number instead of 0 keeps the logarithms finite.
    maps = _defined(weights, valid).clamp_(min=torch.finfo(torch.float32).tiny)
    step = max(1, BLOCK // max(1, rows * keys))
    single = torch.cat([_sum_x_log_x(some) for some in torch.split(maps, step)])
    means = torch.full((heads, heads), torch.nan, dtype=torch.float64)
    for pairs in torch.split(needed.triu(1).nonzero(), PAIRS):
        a, b = pairs.T
        together = _sums_together(maps, pairs, step)
        # H((a + b) / 2) is ln 2 - (s ln s) / 2, summed over keys, for the sum s = a + b.
        divergence = (math.log(2) + (single[a] + single[b] - together) / 2).clamp(min=0)
        both = valid[a] & valid[b]
        means[a, b] = means[b, a] = (divergence.double() * both).sum(-1) / both.sum(-1)
    return means


def _sums_together(maps: torch.Tensor, pairs: torch.Tensor, step: int) -> torch.Tensor:
    """Return the sum of s ln s over keys for the sum s of the maps of every pair, ``[pairs, R]``; `step` at a time."""
    sums = maps.new_empty(len(pairs), maps.shape[1])

    def fill(start: int) -> None:
        some = pairs[start : start + step]
        # Into the one result: many small ones between large ones that come and go would tear the memory to pieces.
        sums[start : start + step] = _sum_x_log_x(_pick(maps, some[:, 0]) + _pick(maps, some[:, 1]))

    side_by_side(fill, range(0, len(pairs), step))
    return sums


def may_be_nearest(weights: torch.Tensor, valid: torch.Tensor) -> torch.Tensor:
    """Return which pairs can hold some head's nearest head, bool ``[N, N]``, at the cost of one matrix product.

    ln 2 h <= JS <= h for the squared Hellinger distance h(a, b) = 1 - sum of sqrt(a b): both are f-divergences, and
    their generators are so ordered. A pair whose least divergence is above another's greatest is out for that head.
    """
    heads = len(weights)
    roots = _defined(weights, valid).sqrt_().view(heads, -1)
    counted = valid.to(roots.dtype)
    hellinger = 1 - roots @ roots.T / (counted @ counted.T)
    hellinger.fill_diagonal_(torch.inf)
    greatest = hellinger.nan_to_num(torch.inf).min(-1, keepdim=True).values
    candidates = math.log(2) * hellinger <= greatest + ROUNDING
    return candidates | candidates.T


def _defined(weights: torch.Tensor, valid: torch.Tensor) -> torch.Tensor:
    """Return a copy with 0 in the rows that do not count, in float64, or in float32 where that is exact enough."""
    dtype = torch.float64 if weights.shape[-1] <= EXACT_TOKENS else torch.float32
    return weights.to(dtype, copy=True).masked_fill_(~valid[:, :, None], 0.0)


def _pick(maps: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
    """Return the maps at the indices, one of them alone without copying it."""
    return maps.narrow(0, int(which), 1) if len(which) == 1 else maps[which]


def _sum_x_log_x(values: torch.Tensor) -> torch.Tensor:
    """Return the sum over the last dimension of x ln x, for x above 0; ``torch.xlogy`` takes five times as long."""
    return values.log().mul_(values).sum(-1)
