"""The matrices that a head makes its queries, keys and values with, and the input that it makes them from."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import Linear
from torch.nn.functional import linear

from attnx.errors import InputError

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder
    from attnx.encoders.records import AttentionMap, Encoding

Hook = Callable[[torch.nn.Module, tuple[torch.Tensor, ...]], None]
# Where a module of attention has its four matrices: query, key, value, output. BERT, RoBERTa, XLM-R, ELECTRA; then
# DistilBERT; then ALBERT.
LAYOUTS = (
    ("self.query", "self.key", "self.value", "output.dense"),
    ("q_lin", "k_lin", "v_lin", "out_lin"),
    ("query", "key", "value", "dense"),
)


@dataclass(frozen=True, eq=False)
class Projection:
    """A matrix and its bias, for row vectors: ``x @ weight + bias``, ``[in, out]`` and ``[out]``."""

    weight: torch.Tensor
    bias: torch.Tensor

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """Return ``[T, out]`` for rows ``[T, in]``."""
        # As the model does it: the sum rounded once more makes weights differ by some 1e-6.
        return linear(rows, self.weight.T, self.bias)


@dataclass(frozen=True, eq=False)
class Head:
    """What one head computes from, all float32: `input` X ``[T, D]``, and d columns of each matrix.

    `query`, `key` and `value` are ``[D, d]`` with a bias ``[d]``; `output` is ``[d, D]``, the head's rows of the output
    matrix, whose bias belongs to no head.
    """

    input: torch.Tensor
    query: Projection
    key: Projection
    value: Projection
    output: torch.Tensor


def observe_heads(encoder: Encoder, encoding: Encoding) -> tuple[AttentionMap, list[list[Head]]]:
    """Run one forward pass; return the weights, and what every head of every layer computes from.

    Raises InputError (``no_projections``) for a model whose layout of these matrices is not known.
    """
    with _Inputs(encoder.model) as seen:
        attention = encoder.observe(encoding)
    heads, layers = encoder.info.heads, seen.layers
    fitting = all(_fit(rows, matrices, len(encoding.ids), heads) for rows, matrices in layers)
    if len(layers) != encoder.info.layers or not (seen.alike and fitting):
        raise InputError("no_projections", type=encoder.info.type)
    return attention, [_heads(rows, matrices, heads) for rows, matrices in layers]


class _Inputs:
    """Writes down the input and the four matrices of each layer, in the order of the calls, while entered as a context.

    `alike` tells that the queries, keys and values of every layer were made from the same input.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model
        self._hooks: list[Any] = []
        self.layers: list[tuple[torch.Tensor, Sequence[Linear]]] = []
        self.alike = True

    def __enter__(self) -> _Inputs:
        for module in self._model.modules():
            matrices = _matrices(module)
            if matrices:
                hooks: tuple[Hook, ...] = (partial(self._query, matrices), self._other, self._other)
                found = zip(matrices[:3], hooks, strict=True)
                self._hooks += [matrix.register_forward_pre_hook(hook) for matrix, hook in found]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for hook in self._hooks:
            hook.remove()

    def _query(self, matrices: Sequence[Linear], _module: torch.nn.Module, arguments: tuple[torch.Tensor, ...]) -> None:
        self.layers.append((_rows(arguments), matrices))

    def _other(self, _module: torch.nn.Module, arguments: tuple[torch.Tensor, ...]) -> None:
        self.alike = self.alike and bool(self.layers) and torch.equal(_rows(arguments), self.layers[-1][0])


def _rows(arguments: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """Return what a matrix is called with for the one text of a batch."""
    return arguments[0][0].cpu().float()


def _matrices(module: torch.nn.Module) -> Sequence[Linear]:
    """Return the four matrices of a module of attention, none for any other module."""
    for layout in LAYOUTS:
        with contextlib.suppress(AttributeError):
            found = [module.get_submodule(name) for name in layout]
            if all(isinstance(part, Linear) for part in found):
                return [part for part in found if isinstance(part, Linear)]
    return ()


def _fit(rows: torch.Tensor, matrices: Sequence[Linear], tokens: int, heads: int) -> bool:
    """Tell whether each matrix has the same number of columns for every head, and each token one row."""
    widths = {matrix.out_features for matrix in matrices[:3]} | {matrices[3].in_features}
    return len(widths) == 1 and widths.pop() % heads == 0 and len(rows) == tokens


def _heads(rows: torch.Tensor, matrices: Sequence[Linear], heads: int) -> list[Head]:
    query, key, value = ([_columns(matrix, i, heads) for i in range(heads)] for matrix in matrices[:3])
    output = matrices[3].weight.detach().cpu().float().T.chunk(heads)
    return [Head(rows, *parts) for parts in zip(query, key, value, output, strict=True)]


def _columns(matrix: Linear, head: int, heads: int) -> Projection:
    """Return the part of a matrix that makes the vectors of one head."""
    width = matrix.out_features // heads
    own = slice(head * width, (head + 1) * width)
    weight = matrix.weight.detach()[own].cpu().float().T
    bias = torch.zeros(width) if matrix.bias is None else matrix.bias.detach()[own].cpu().float()
    return Projection(weight, bias)
