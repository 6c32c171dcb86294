"""Find the part of a loaded model that reads text and gives attention weights."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from attnx.encoders.adapters import Adapter, Config, adapter_for
from attnx.encoders.description import UNSTORED_LENGTH
from attnx.encoders.folder import first_line
from attnx.encoders.probe import Probe, probe
from attnx.encoders.records import Note
from attnx.encoders.tokenizing import check_tokenizer, vocabulary_rows
from attnx.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

PROBE_IDS = 64


def find_text_part(
    model: torch.nn.Module,
    config: Config,
    tokenizer: PreTrainedTokenizerBase,
    name: str,
) -> tuple[torch.nn.Module, Adapter, Probe]:
    """Return the first part of the model that runs on text alone and gives attention weights.

    Raises InputError when a part's attention fails a check, or when no part runs on text or gives any attention.
    """
    first: Exception | None = None
    for part, note in text_parts(model, config):
        kind = getattr(getattr(part, "config", None), "model_type", config.model_type)
        adapter = adapter_for(kind, config.model_type)
        check_tokenizer(tokenizer, part, name)
        try:
            found = probe(part, adapter, config.model_type, _probe_ids(part, tokenizer), max_tokens(part, tokenizer))
        except InputError as error:
            if error.key != "no_attentions":
                raise
            first = first or error
        except MemoryError:
            raise
        except Exception as error:  # whatever a model raises that wants more than text
            first = first or error
        else:
            return part, adapter, replace(found, notes=(*note, *found.notes))
    if isinstance(first, InputError):
        raise first
    reason = first_line(first) if first else ""
    raise InputError("needs_more_than_text", type=config.model_type, reason=reason) from first


def text_parts(model: Any, config: Config) -> Iterator[tuple[torch.nn.Module, tuple[Note, ...]]]:  # noqa: ANN401
    """Yield the parts of a model that may read text, the likeliest first, each with what a reader must know of it."""
    from transformers import PreTrainedModel

    encoder = model.get_encoder() if config.is_encoder_decoder else None
    if encoder is not None:
        yield encoder, (Note("encoder_only"),)
    yield model, ()
    # Where several take token ids, as in a model that also writes speech codes, the one called after the text.
    for _name, part in sorted(model.named_modules(), key=lambda item: "text" not in item[0]):
        inside = isinstance(part, PreTrainedModel) and part is not model and part is not encoder
        if inside and inspect.signature(part.forward).parameters.keys() & {"input_ids", "input_values"}:
            yield part, (Note("text_part"),)


def _probe_ids(part: torch.nn.Module, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    """Return ordinary token ids, spread over the vocabulary; the special ones too where there are no others."""
    rows = vocabulary_rows(part) or len(tokenizer)
    special = set(tokenizer.all_special_ids)
    usable = [i for i in range(min(len(tokenizer), rows)) if i not in special] or list(range(rows))
    return usable[:: max(1, len(usable) // PROBE_IDS)]


def max_tokens(part: torch.nn.Module, tokenizer: PreTrainedTokenizerBase) -> int | None:
    """Return how many tokens, special ones included, the model takes; None where nothing limits it.

    RoBERTa-like position tables start after the padding index and hold that many fewer.
    """
    limits = [tokenizer.model_max_length, getattr(getattr(part, "config", None), "max_position_embeddings", None)]
    for name, module in part.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            limits.append(module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1))
    usable = [int(limit) for limit in limits if isinstance(limit, int | float) and 0 < limit < UNSTORED_LENGTH]
    return min(usable, default=None)
