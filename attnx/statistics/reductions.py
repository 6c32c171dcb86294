"""Reductions over a dimension that may be empty or hold undefined values."""

import torch


def largest(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the largest value along the last dimension and its index, the lowest of equals.

    Where any value is NaN, or there is none, the result is NaN and -1.
    """
    if values.shape[-1] == 0:
        shape = values.shape[:-1]
        return values.new_full(shape, torch.nan), torch.full(shape, -1)
    best, index = values.max(-1)
    return best, torch.where(best.isnan(), -1, index)
