"""Which modules of a model emit its attention weights, and how often they are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

import torch

from attnx.encoders.adapters import returned
from attnx.encoders.checks import require
from attnx.encoders.records import Note


class Calls:
    """Writes down every module call of one forward pass, while it is entered as a context."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model
        self._calls: list[tuple[torch.nn.Module, list[torch.Tensor]]] = []
        self._hooks: list[Any] = []
        self._output: Any = None
        self._sites: list[torch.nn.Module] = []

    def __enter__(self) -> Calls:
        for module in self._model.modules():
            self._hooks.append(module.register_forward_hook(self._note))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for hook in self._hooks:
            hook.remove()

    @property
    def returned(self) -> int:
        """The number of layers whose attention the model returned, shown or not."""
        return len(self._sites)

    def check(self, layers: Sequence[torch.Tensor], kind: str) -> None:
        """Refuse a model whose modules of attention are called more or less often than layers were returned.

        Each returned tensor is looked for, by its memory, in what the modules emitted; the outermost module that
        emitted no other layer's is the layer's site.
        """
        # An adapter computes other tensors from those that the model returned.
        own = list(returned(self._output, 0)) or list(layers)
        owners = {_memory(tensor): i for i, tensor in enumerate(own) if isinstance(tensor, torch.Tensor)}
        sites: dict[int, torch.nn.Module] = {}
        for module, tensors in self._calls:
            emitted = {owners[_memory(tensor)] for tensor in tensors if _memory(tensor) in owners}
            if len(emitted) == 1 and module is not self._model:
                sites[emitted.pop()] = module
        require(len(owners) == len(own) and sites.keys() == set(owners.values()), "calls", kind)
        self._sites = [sites[i] for i in sorted(sites)]
        modules = {id(module) for module in self._sites}
        require(sum(id(module) in modules for module, _tensors in self._calls) == len(own), "calls", kind)

    def notes(self) -> tuple[Note, ...]:
        """Return a note where layers share one module, and so all their parameters."""
        distinct = len({id(module) for module in self._sites})
        return (Note("shared_layers", {"n": distinct}),) if distinct < len(self._sites) else ()

    def _note(self, module: torch.nn.Module, _inputs: Any, output: Any) -> None:  # noqa: ANN401 - of any module
        # The tensors are kept, so that no other can take their place in memory.
        self._calls.append((module, list(_tensors(output))))
        if module is self._model:
            self._output = output


def _tensors(output: Any) -> Iterator[torch.Tensor]:  # noqa: ANN401 - whatever a module returns
    if isinstance(output, torch.Tensor):
        yield output
    elif isinstance(output, Mapping):
        for item in output.values():
            yield from _tensors(item)
    elif isinstance(output, tuple | list):
        for item in output:
            yield from _tensors(item)


def _memory(tensor: torch.Tensor) -> int:
    """Return what tells tensors apart but not a tensor from its transpose."""
    return tensor.untyped_storage().data_ptr()
