"""What a layer can look at: a band of keys around each query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from attnx.encoders.records import Reach


def within_reach(offsets: torch.Tensor, reach: Reach) -> torch.Tensor:
    """Return which offsets (key position minus query position) a layer of this reach sees, bool in their shape."""
    back, ahead = reach
    seen = torch.ones_like(offsets, dtype=torch.bool)
    if back is not None:
        seen &= offsets >= -back
    if ahead is not None:
        seen &= offsets <= ahead
    return seen
