"""Load any model folder into a transformers model and tokenizer, quietly and safely, and find its text encoder."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch

from attnx.encoders.adapters import REFUSED, Adapter, Config, adapter_for
from attnx.encoders.encoder import Encoder
from attnx.encoders.folder import ModelFolder, first_line
from attnx.encoders.parts import find_text_part
from attnx.encoders.quiet import quiet
from attnx.encoders.records import ModelInfo
from attnx.encoders.tokenizing import load_tokenizer
from attnx.errors import InputError

T = TypeVar("T")

MISMATCH = "ignore_mismatched_sizes"  # the option that transformers offers; its reason is a table that it logs


def load_pretrained(folder: ModelFolder, device: torch.device) -> Encoder:
    """Return the encoder in a checked folder, tried and found to give attention weights.

    The model runs eager attention (only that returns weights), in the wanted type whatever the checkpoint's, in eval
    mode (dropout off). An encoder-decoder gives its encoder, a model of text and pictures its text part. Raises
    InputError naming what does not fit.
    """
    with quiet():
        config, model, missing = _load_model(folder)
        tokenizer = load_tokenizer(folder.path, folder.name, folder.request.trust_remote_code)
    model.to(device).eval()
    part, adapter, found = find_text_part(model, config, tokenizer, folder.name)
    check_weights(missing, model, part, folder.name)
    info = ModelInfo(
        folder.name,
        folder.source,
        folder.revision,
        config.model_type,
        found.layers,
        found.heads,
        stored_dtype(config),
        found.reach,
        (*folder.request.notes, *found.notes),
    )
    return Encoder(part, tokenizer, info, found.limit, adapter, found.apart, folder)


def _load_model(folder: ModelFolder) -> tuple[Config, torch.nn.Module, set[str]]:
    """Return the configuration, the whole model and the names of weights that the folder lacks."""
    from transformers import AutoConfig

    trusted = {"local_files_only": True, "trust_remote_code": folder.request.trust_remote_code}
    config = _or_refuse("model_unknown_type", folder.name, lambda: AutoConfig.from_pretrained(folder.path, **trusted))
    if config.model_type in REFUSED:
        raise InputError(REFUSED[config.model_type], type=config.model_type)
    adapter = adapter_for(config.model_type)
    adapter.configure(config)
    config.architectures = config.architectures or []  # where a type has several bare models, AutoModel goes over them

    kind = model_class(config, adapter)
    model, loading = _or_refuse("model_not_loadable", folder.name, lambda: read_weights(folder, config, kind))
    # A method that transformers does not know is skipped with a note, and the integers are taken for weights.
    if getattr(config, "quantization_config", None) and not hasattr(model, "hf_quantizer"):
        raise InputError("model_quantized", path=folder.name)
    return config, model, set(loading["missing_keys"])


def read_weights(folder: ModelFolder, config: Config, kind: Any) -> tuple[Any, dict[str, Any]]:  # noqa: ANN401
    """Return a model of a transformers class with the weights in a checked folder, and what was found of them."""
    request = folder.request
    loaded: tuple[Any, dict[str, Any]] = kind.from_pretrained(
        folder.path,
        config=config,
        attn_implementation="eager",
        dtype=getattr(torch, request.dtype),
        use_safetensors=None if request.allow_pickle else True,
        output_loading_info=True,
        local_files_only=True,
        trust_remote_code=request.trust_remote_code,
    )
    return loaded


def model_class(config: Config, adapter: Adapter) -> Any:  # noqa: ANN401 - a transformers class
    """Return the class that loads a configuration: AutoModel, or the saved class where that does not know the type."""
    import transformers

    known = type(config) in transformers.MODEL_MAPPING or hasattr(config, "auto_map")
    if known and not adapter.as_saved:
        return transformers.AutoModel
    modeling = type(config).__module__.replace(".configuration_", ".modeling_")
    saved = getattr(importlib.import_module(modeling), (config.architectures or ["none"])[0], None)
    # The name comes from the folder, and a module has much else: functions, configurations, other modules.
    usable = inspect.isclass(saved) and issubclass(saved, transformers.PreTrainedModel)
    return saved if usable else transformers.AutoModel


def _or_refuse(key: str, name: str, load: Callable[[], T]) -> T:
    """Return what `load` returns, and whatever it raises as InputError."""
    try:
        return load()
    except Exception as error:
        if MISMATCH in str(error):
            raise InputError("model_mismatched", path=name) from error
        raise InputError(key, path=name, reason=first_line(error)) from error


def check_weights(missing: Iterable[str], model: torch.nn.Module, part: torch.nn.Module, name: str) -> None:
    """Refuse a model whose text part lacks weights: transformers fills the `missing` ones with random numbers.

    A pooler comes after the last layer and has no part in the attention.
    """
    own = {id(parameter) for parameter in part.parameters()}
    parameters = dict(model.named_parameters(remove_duplicate=False))
    needed = sorted(key for key in missing if "pooler" not in key and id(parameters.get(key)) in own)
    if needed:
        raise InputError("model_incomplete", path=name, name=needed[0])


def stored_dtype(config: object) -> str:
    """Return the type the checkpoint says its weights are stored in, float32 where it says nothing."""
    return str(getattr(config, "dtype", None) or "float32").removeprefix("torch.")
