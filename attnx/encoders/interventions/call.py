"""One layer's call of its attention."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch


@dataclass(frozen=True, eq=False)
class Call:
    """What a layer gives its attention: `eager` is the layer's own function, `mask` is added to its scores.

    `query` is ``[B, H, T, d]``; `key` and `value` are too, or have a divisor of H in the place of H.
    """

    eager: Callable[..., tuple[torch.Tensor, torch.Tensor]]
    module: torch.nn.Module
    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    mask: torch.Tensor | None
    options: Mapping[str, Any]

    def run(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the output ``[B, T, H, d]`` and the weights ``[B, H, T, T]`` of the layer's own function."""
        return self.eager(self.module, self.query, self.key, self.value, self.mask, **self.options)

    @property
    def scaling(self) -> float:
        """What the products of queries and keys are multiplied by."""
        scaling: float | None = self.options.get("scaling")
        return self.query.shape[-1] ** -0.5 if scaling is None else scaling

    def seen(self) -> torch.Tensor:
        """Return which keys each row can see, bool ``[B, H, T, T]``: those with any weight when all products are 0."""
        _output, weights = replace(self, query=torch.zeros_like(self.query)).run()
        return weights > 0
