"""Other weights for heads ``[n, T, T]``: each is a `Change`, and none changes what it is given.

Sources: no output, Michel et al. 2019; even weights, Kovaleva et al. 2019, section 4.6.
"""

from __future__ import annotations

import torch

from attnx.encoders.interventions.records import Change


def zero(weights: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """Take the output of the head away: all weights 0, as if its columns of the output matrix were."""
    return torch.zeros_like(weights)


def uniform(weights: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """Look evenly at all keys that a row can see."""
    even = seen.to(weights.dtype)
    return even / even.sum(-1, keepdim=True)


def identity(weights: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """Look at the token itself alone."""
    return torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device).expand_as(weights)


def given(own: torch.Tensor) -> Change:
    """Return the change to a given map ``[t, t]``, the mean of a corpus for example, of a text of just t tokens."""

    def replace(weights: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        size = len(own)
        replaced = weights.clone()
        replaced[:, :size, :size] = own
        return replaced

    return replace
