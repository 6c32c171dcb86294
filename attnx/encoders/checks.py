"""The checks that attention weights must pass before anything is computed from them."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from attnx.errors import InputError

# What a row may differ from 1, and a text from itself beside another, by the type that the model computes in.
TOLERANCES = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}
PADDING_MASS = 1e-6
DIMENSIONS = 4


def require(passed: bool, check: str, kind: str) -> None:
    """Raise InputError (``check_<check>``), which names the model type `kind`, unless the check is passed."""
    if not passed:
        raise InputError(f"check_{check}", type=kind)


def tolerance(model: torch.nn.Module) -> float:
    """Return what rounding may do to a row's sum in the type that the model computes in."""
    return TOLERANCES[next(model.parameters()).dtype]


def check_shapes(layers: Sequence[torch.Tensor], batch: int, size: int, kind: str) -> None:
    """Refuse anything but ``[batch, heads, size, size]`` in every layer, with one number of heads."""
    if not layers:
        raise InputError("no_attentions", type=kind)
    for layer in layers:
        require(isinstance(layer, torch.Tensor) and layer.ndim == DIMENSIONS, "dimensions", kind)
        require((len(layer), *layer.shape[-2:]) == (batch, size, size), "dimensions", kind)
    require(len({layer.shape[1] for layer in layers}) == 1, "heads", kind)


def check_rows(
    layers: Sequence[torch.Tensor], mask: torch.Tensor, allowed: float, kind: str, *, below: bool = False
) -> None:
    """Refuse rows of real tokens (`mask`, ``[batch, T]``) that do not sum to 1, or to less where `below`."""
    for layer in layers:
        rows = layer.transpose(1, 2)[mask].double()
        excess = rows.sum(-1) - 1
        good = (excess <= allowed) & (excess > -1 if below else excess >= -allowed) & ~(rows < 0).any(-1)
        require(bool(good.all()), "rows", kind)  # a comparison with NaN is false


def check_padding(layers: Sequence[torch.Tensor], mask: torch.Tensor, kind: str) -> None:
    """Refuse real tokens that attend to padding."""
    for layer in layers:
        on_padding = (layer * ~mask[:, None, None]).sum(-1).transpose(1, 2)[mask]
        require(bool((on_padding <= PADDING_MASS).all()), "padding", kind)
