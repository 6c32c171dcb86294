"""What unusual architectures need before their attention is a map of tokens by tokens.

To add one, write one entry in ADAPTERS, keyed by transformers' ``model_type``, with the functions that it needs; give
its `note`, if a reader must know of it, a text under ``model_notes`` in each locale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from attnx.errors import InputError

# A transformers configuration, and the output of a forward pass.
Config = Any
Output = Any
Inputs = Mapping[str, torch.Tensor]


def _no_change(config: Config) -> None:
    """Leave the configuration as it is."""


def _text_alone(config: Config, ids: torch.Tensor, languages: Sequence[str]) -> Inputs:
    """Give the model nothing but token ids and their mask."""
    return {}


def returned(output: Output, size: int) -> Sequence[Any]:
    """Take the layers as the model returns them; layers of another kind, recurrent for example, may leave gaps."""
    layers = getattr(output, "attentions", None) or getattr(output, "encoder_attentions", None) or ()
    return [layer for layer in layers if layer is not None]


@dataclass(frozen=True)
class Adapter:
    """What an architecture needs; without arguments, that of an ordinary encoder.

    `note` is the key of what a reader must know. `limit` is the longest text, in tokens, that can be shown.
    `as_saved`: only the saved class reads text, not the bare model that AutoModel makes of it. `configure` changes
    the configuration before loading. `inputs` gives further arguments of the forward pass for token ids ``[batch,
    T]`` and a language each. `attentions` takes the weights from the output, ``[batch, heads, T, T]`` a layer.
    """

    note: str | None = None
    limit: int | None = None
    as_saved: bool = False
    configure: Callable[[Config], None] = _no_change
    inputs: Callable[[Config, torch.Tensor, Sequence[str]], Inputs] = _text_alone
    attentions: Callable[[Output, int], Sequence[Any]] = returned


def local_attention(config: Config) -> None:
    """Refuse LongT5's other kind of attention, which is to summaries of blocks as well."""
    if config.encoder_attention_type != "local":
        raise InputError("no_attention_blocks", type=config.model_type)


def full_attention(config: Config) -> None:
    """Turn sparse attention off: it comes back incomplete, and a short text changes the model while it runs."""
    config.attention_type = "original_full"


def boxes(config: Config, ids: torch.Tensor, languages: Sequence[str]) -> Inputs:
    """Put every token at the same place of the page, for a plain text has no layout."""
    return {"bbox": torch.zeros(*ids.shape, 4, dtype=torch.long, device=ids.device)}


def page_boxes(config: Config, ids: torch.Tensor, languages: Sequence[str]) -> Inputs:
    """Do the same in fractions of the page, with as many numbers a box as the model has."""
    return {"bbox": torch.zeros(*ids.shape, getattr(config, "dim_bbox", 4), device=ids.device)}


def blank_regions(config: Config, ids: torch.Tensor, languages: Sequence[str]) -> Inputs:
    """Give LXMERT an empty picture; its language layers come before those that look at it."""
    sizes = {"visual_feats": config.visual_feat_dim, "visual_pos": config.visual_pos_dim}
    return {name: torch.zeros(len(ids), 1, size, device=ids.device) for name, size in sizes.items()}


def masked_patch(config: Config, ids: torch.Tensor, languages: Sequence[str]) -> Inputs:
    """Give ViLT one patch of a picture, and mask it."""
    return {
        "image_embeds": torch.zeros(len(ids), 1, config.hidden_size, device=ids.device),
        "pixel_mask": torch.zeros(len(ids), 1, 1, dtype=torch.long, device=ids.device),
    }


def text_as_values(config: Config, ids: torch.Tensor, languages: Sequence[str]) -> Inputs:
    """Name the token ids as SpeechT5 names them."""
    return {"input_values": ids}


def language_layers(config: Config, ids: torch.Tensor, languages: Sequence[str]) -> Inputs:
    """Choose X-MOD's layers for each text's language, those of its default language where it has none."""
    known = list(config.languages)
    default = known.index(config.default_language) if config.default_language in known else 0
    numbers = [next((i for i, name in enumerate(known) if name.startswith(tag)), default) for tag in languages]
    return {"lang_ids": torch.tensor(numbers, device=ids.device)}


def language_embeddings(config: Config, ids: torch.Tensor, languages: Sequence[str]) -> Inputs:
    """Tell XLM the language of every token, if it was trained with that."""
    if not (config.use_lang_emb and config.n_langs > 1):
        return {}
    known = getattr(config, "lang2id", None) or {}
    numbers = torch.tensor([known.get(language, config.lang_id) for language in languages], device=ids.device)
    return {"langs": numbers[:, None].expand_as(ids)}


def softmax(output: Output, size: int) -> Sequence[torch.Tensor]:
    """Turn masked scores into weights."""
    return [scores.softmax(-1) for scores in returned(output, size)]


def unwindowed(output: Output, size: int) -> Sequence[torch.Tensor]:
    """Put ``[batch, heads, query, 2w + 1]`` back, where column c of query i is key i + c - w."""
    return [_spread(window)[:, :, :size, :size] for window in returned(output, size)]


def _spread(window: torch.Tensor) -> torch.Tensor:
    batch, heads, queries, width = window.shape
    full = window.new_zeros(batch, heads, queries, queries + width - 1)
    keys = torch.arange(queries, device=window.device)[:, None] + torch.arange(width, device=window.device)
    return full.scatter_(-1, keys.expand_as(window), window)[..., width // 2 :]


def unblocked(output: Output, size: int) -> Sequence[torch.Tensor]:
    """Put ``[batch, blocks, heads, b, 3b]`` back, where column c of a query of block n is key (n - 1) b + c."""
    return [_lay_out(blocks)[:, :, :size, :size] for blocks in returned(output, size)]


def _lay_out(blocks: torch.Tensor) -> torch.Tensor:
    batch, count, heads, length, width = blocks.shape
    full = blocks.new_zeros(batch, heads, count * length, (count + 2) * length)
    for block in range(count):
        start = block * length
        full[:, :, start : start + length, start : start + width] = blocks[:, block]
    return full[..., length:]


def unpooled(output: Output, size: int) -> Sequence[torch.Tensor]:
    """Leave out the layers that work on pooled positions, which are no tokens."""
    return [layer for layer in returned(output, size) if layer.shape[2:] == (size, size)]


def language_stream(output: Output, size: int) -> Sequence[torch.Tensor]:
    """Take the layers that read text, of a model that has others for pictures."""
    layers: Sequence[torch.Tensor] = output.language_attentions
    return layers


def text_corner(output: Output, size: int) -> Sequence[torch.Tensor]:
    """Leave out positions after the text, which no token of the text can see."""
    return [layer[:, :, :size, :size] for layer in returned(output, size)]


PAGE = "no_layout"
ADAPTERS: dict[str, Adapter] = {
    "squeezebert": Adapter(attentions=softmax),
    "prophetnet": Adapter(attentions=softmax),
    "longformer": Adapter(attentions=unwindowed),
    "led": Adapter(attentions=unwindowed),
    "longt5": Adapter(configure=local_attention, attentions=unblocked),
    "big_bird": Adapter("full_attention", configure=full_attention),
    "bigbird_pegasus": Adapter("full_attention", configure=full_attention),
    "funnel": Adapter("pooled_layers", attentions=unpooled),
    # A longer text is attended to in several parts.
    "canine": Adapter("pooled_layers", limit=128, attentions=unpooled),
    "convbert": Adapter("half_mixing"),
    # Its tokenizer makes the shape and the sound of every character as well.
    "roc_bert": Adapter("no_shapes"),
    "layoutlm": Adapter(PAGE, inputs=boxes),
    "layoutlmv3": Adapter(PAGE, inputs=boxes),
    "lilt": Adapter(PAGE, inputs=boxes),
    "bros": Adapter(PAGE, inputs=page_boxes),
    "udop": Adapter(PAGE, inputs=page_boxes),
    "lxmert": Adapter("no_picture", inputs=blank_regions, attentions=language_stream),
    "vilt": Adapter("no_picture", inputs=masked_patch, attentions=text_corner),
    "videoprism_text_model": Adapter(attentions=text_corner),
    # AutoModel makes a question encoder of every one.
    "dpr": Adapter(as_saved=True),
    "speecht5": Adapter(as_saved=True, inputs=text_as_values),
    "xmod": Adapter(inputs=language_layers),
    "xlm": Adapter(inputs=language_embeddings),
    "flaubert": Adapter(inputs=language_embeddings),
}
# Types that have no attention of tokens to tokens, and the reason, under ``errors`` in the locales.
REFUSED = {
    "fnet": "no_attention_fourier",
    "mra": "no_attention_approximated",
    "yoso": "no_attention_hashed",
    "reformer": "no_attention_hashed",
    "perceiver": "no_attention_latents",
    "pegasus_x": "no_attention_blocks",
    "blip_2_qformer": "no_attention_queries",
    "mamba": "no_attention_recurrent",
    "mamba2": "no_attention_recurrent",
    "falcon_mamba": "no_attention_recurrent",
    "rwkv": "no_attention_recurrent",
    "xlstm": "no_attention_recurrent",
}


def adapter_for(*types: str) -> Adapter:
    """Return the adapter of the first of these model types that has one, else that of an ordinary encoder."""
    return next((ADAPTERS[name] for name in types if name in ADAPTERS), Adapter())
