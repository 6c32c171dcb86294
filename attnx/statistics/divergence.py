"""The Jensen–Shannon divergence between all pairs of heads."""

import math

import torch

# Up to this many tokens every digit is kept; beyond it float32 halves the time, at errors below 1e-6 nats.
EXACT_TOKENS = 64
# Elements per step, so that a step's work stays in the processor's cache.
BLOCK = 1 << 18


def mean_divergences(weights: torch.Tensor, valid: torch.Tensor) -> torch.Tensor:
    """Return the mean over rows of the Jensen–Shannon divergence of every two heads, in nats; 0..ln 2.

    JS(a, b) = H((a + b) / 2) - (H(a) + H(b)) / 2, without the smoothing of Clark et al. 2019, section 6, whose
    code also sums over rows instead of averaging. `weights` is ``[N, R, R]``, `valid` ``[N, R]``; a row counts for
    a pair if it counts for both heads. The result is float64 ``[N, N]``, NaN on the diagonal and where no row counts.
    """
    heads, rows, keys = weights.shape
    dtype = torch.float64 if keys <= EXACT_TOKENS else torch.float32
    # The smallest number instead of 0 keeps the logarithms finite: [rows, N, keys].
    by_row = weights.transpose(0, 1).to(dtype).nan_to_num(0.0).clamp(min=torch.finfo(dtype).tiny).contiguous()
    counted = valid.T.double()
    sums = torch.zeros(heads, heads, dtype=torch.float64)
    step = max(1, BLOCK // max(1, heads * keys))
    for start in range(0, rows, step):
        block, mask = by_row[start : start + step], counted[start : start + step]
        mixed = block.new_zeros(len(block), heads, heads)
        for head in range(heads - 1):
            mixed[:, head, head + 1 :] = _sum_x_log_x(block[:, head + 1 :] + block[:, head, None])
        single = _sum_x_log_x(block)
        # H((a + b) / 2) is ln 2 - (s ln s) / 2, summed over keys, for the sum s = a + b.
        divergence = (math.log(2) + (single[:, :, None] + single[:, None] - mixed) / 2).clamp(min=0)
        sums += (divergence * mask[:, :, None] * mask[:, None]).sum(0).triu(1)
    means = (sums + sums.T) / (counted.T @ counted)
    return means.fill_diagonal_(torch.nan)


def _sum_x_log_x(values: torch.Tensor) -> torch.Tensor:
    """Return the sum over the last dimension of x ln x, for x above 0; ``torch.xlogy`` takes five times as long."""
    return values.log().mul_(values).sum(-1)
