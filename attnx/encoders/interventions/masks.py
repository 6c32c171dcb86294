"""Additive masks ``[t, t]``, whose sum is a mask again.

`fill` is what is added where nothing may be seen. With −inf a row that sees nothing becomes NaN, with a large negative
number even.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch


def look_ahead(size: int, fill: float = -torch.inf) -> torch.Tensor:
    """Hide from every token those after it, as in a decoder."""
    return torch.full((size, size), fill).triu(1)


def padding(hidden: Sequence[bool], fill: float = -torch.inf) -> torch.Tensor:
    """Hide the tokens marked in `hidden`, of length t, from all tokens."""
    return torch.zeros(len(hidden)).masked_fill(torch.tensor(hidden), fill).repeat(len(hidden), 1)
