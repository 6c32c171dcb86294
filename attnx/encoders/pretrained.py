"""Load any BERT-like model folder into a transformers model and tokenizer, quietly and safely."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import torch

from attnx.encoders.folder import ModelFolder, first_line
from attnx.encoders.records import ModelInfo
from attnx.encoders.tokenizing import check_tokenizer
from attnx.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def load_pretrained(folder: ModelFolder) -> tuple[torch.nn.Module, PreTrainedTokenizerBase, ModelInfo]:
    """Return (model, tokenizer, info) for a checked folder.

    The model runs eager attention (only that returns weights), in float32 whatever the checkpoint's type, in eval
    mode (dropout off). An encoder-decoder gives its encoder. Raises InputError naming what does not fit.
    """
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    options = {"local_files_only": True, "trust_remote_code": folder.request.trust_remote_code}
    with _quiet():
        try:
            config = AutoConfig.from_pretrained(folder.path, **options)
        except Exception as error:
            raise InputError("model_unknown_type", path=folder.name, reason=first_line(error)) from error
        try:
            model, loading = AutoModel.from_pretrained(
                folder.path,
                config=config,
                attn_implementation="eager",
                dtype=torch.float32,
                use_safetensors=None if folder.request.allow_pickle else True,
                output_loading_info=True,
                **options,
            )
        except Exception as error:
            raise InputError("model_not_loadable", path=folder.name, reason=first_line(error)) from error
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder.path, **options)
        except Exception as error:
            raise InputError("tokenizer_not_loadable", path=folder.name, reason=first_line(error)) from error
    check_weights(loading["missing_keys"], folder.name)
    tokenizer.truncation_side = "right"  # some cut at the start; a report speaks of the first tokens
    # An encoder that was saved alone says that it is no encoder-decoder, and is loaded as one all the same.
    if config.is_encoder_decoder or (hasattr(model, "encoder") and hasattr(model, "decoder")):
        model = model.get_encoder()
    model.eval()
    check_tokenizer(tokenizer, model, folder.name)
    layers, heads = config.num_hidden_layers, config.num_attention_heads
    info = ModelInfo(
        folder.name, folder.source, folder.revision, config.model_type, layers, heads, stored_dtype(config)
    )
    return model, tokenizer, info


def check_weights(missing: Iterable[str], name: str) -> None:
    """Refuse a model some of whose weights are `missing`: transformers fills them with random numbers.

    A pooler comes after the last layer, a decoder is not looked at: neither has a part in the encoder's attention.
    """
    needed = sorted(key for key in missing if "pooler" not in key and not key.startswith("decoder."))
    if needed:
        raise InputError("model_incomplete", path=name, name=needed[0])


def stored_dtype(config: object) -> str:
    """Return the type the checkpoint says its weights are stored in, float32 where it says nothing."""
    return str(getattr(config, "dtype", None) or "float32").removeprefix("torch.")


def max_tokens(model: torch.nn.Module, tokenizer: PreTrainedTokenizerBase) -> int | None:
    """Return how many tokens, special ones included, the model takes; None where nothing limits it.

    A tokenizer without a stored maximum reports about 1e30, so the position table decides. RoBERTa-like tables
    start after the padding index and hold that many fewer.
    """
    limits = [int(tokenizer.model_max_length)] if tokenizer.model_max_length < 10**9 else []
    for module_name, module in model.named_modules():
        if module_name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            offset = 0 if module.padding_idx is None else module.padding_idx + 1
            limits.append(module.num_embeddings - offset)
    if not limits:
        positions = getattr(model.config, "max_position_embeddings", None)
        limits = [int(positions)] if positions and positions > 0 else []
    return min(limits, default=None)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep loading notes and progress bars of transformers off the terminal."""
    from transformers.utils import logging as hf_logging

    verbosity, bars = hf_logging.get_verbosity(), hf_logging.is_progress_bar_enabled()
    hf_logging.set_verbosity(logging.CRITICAL)
    hf_logging.disable_progress_bar()
    try:
        yield
    finally:
        hf_logging.set_verbosity(verbosity)
        if bars:
            hf_logging.enable_progress_bar()
