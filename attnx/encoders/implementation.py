"""Which attention function of transformers' attention interface a model runs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import torch

ATTENTION = "_attn_implementation"

_configs: WeakKeyDictionary[torch.nn.Module, tuple[object, ...]] = WeakKeyDictionary()


@contextlib.contextmanager
def implementation(model: torch.nn.Module, name: str) -> Iterator[None]:
    """Let all parts of the model run the registered implementation `name` for the time of a block."""
    configs = _configs_of(model)
    before = [getattr(config, ATTENTION) for config in configs]
    try:
        for config in configs:
            setattr(config, ATTENTION, name)
        yield
    finally:
        for config, own in zip(configs, before, strict=True):
            setattr(config, ATTENTION, own)


def eager_of(module: torch.nn.Module) -> Callable[..., Any]:
    """Return the eager attention that the file of an attention module defines."""
    eager: Callable[..., Any] = sys.modules[type(module).__module__].eager_attention_forward
    return eager


def _configs_of(model: torch.nn.Module) -> tuple[object, ...]:
    """Return the different configurations of the model's parts; it has hundreds of these, so once for a model."""
    if model not in _configs:
        found = {id(config): config for part in model.modules() if hasattr(config := _config(part), ATTENTION)}
        _configs[model] = tuple(found.values())
    return _configs[model]


def _config(part: torch.nn.Module) -> object:
    return getattr(part, "config", None)
