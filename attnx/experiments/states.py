"""How far states of tokens have moved, against how far the tokens of the text are apart."""

from __future__ import annotations

import torch

from attnx.errors import InputError


def moved(states: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    """Return how far states ``[..., T, D]`` are from those `before` ``[T, D]``, float64 ``[...]``, 0 for the same.

    It is the mean over tokens of 1 − cos(s_i, s'_i), divided by the mean of 1 − cos(s_i, s_j) over the pairs of
    different tokens before: 1 is as far as one token of the text is from another. In many models all states point to
    much the same side, and a bare cosine is close to 1 whatever is done. Raises InputError (``states_equal``) where
    there are no tokens apart.
    """
    old, new = (torch.nn.functional.normalize(some.double(), dim=-1) for some in (before, states))
    apart = (1 - old @ old.T).clamp(min=0).sum() / max(1, len(old) * (len(old) - 1))
    if not apart > torch.finfo(before.dtype).eps:
        raise InputError("states_equal")
    return (1 - (old * new).sum(-1)).clamp(min=0).mean(-1) / apart
