"""The reference: what plain transformers gives for one text alone, unpadded, and no code of attnx."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import PreTrainedModel

Layers = Sequence[Any]

# Where a model of several inputs keeps the part that reads text.
TEXT_PARTS = ("text_model", "text_encoder", "text_encoder_model")


def plain_maps(model: PreTrainedModel, ids: Sequence[int]) -> torch.Tensor:
    """Return the attention weights of one text, ``[layers, heads, T, T]``, rows summing to 1."""
    model_type = model.config.model_type
    if hasattr(model, "set_attention_type"):
        model.set_attention_type("original_full")  # block-sparse attention comes back incomplete
    part = text_part(model)
    batch = torch.tensor([list(ids)])
    inputs = INPUTS.get(model_type, ids_alone)(part, batch)
    with torch.inference_mode():
        output = part(**inputs, attention_mask=torch.ones_like(batch), output_attentions=True)
    layers = next(
        output[name] for name in ("attentions", "encoder_attentions", "language_attentions") if output.get(name)
    )
    size = len(ids)
    maps = torch.stack([layer[0] for layer in TRANSFORMS.get(model_type, whole)(layers, size)])
    return maps / maps.sum(-1, keepdim=True) if has_sinks(part) else maps


def text_part(model: Any) -> Any:
    """Return the encoder of an encoder-decoder, the text tower of several towers, else the model."""
    if model.config.is_encoder_decoder and takes_ids(model.get_encoder()):
        return model.get_encoder()
    parts = (getattr(model, name, None) for name in TEXT_PARTS)
    return next((part for part in parts if isinstance(part, PreTrainedModel)), model)


def takes_ids(part: torch.nn.Module) -> bool:
    """Tell whether a part can be called with token ids."""
    return bool(inspect.signature(part.forward).parameters.keys() & {"input_ids", "input_values"})


def has_sinks(model: torch.nn.Module) -> bool:
    """Tell whether a learned sink takes a part of every row."""
    return any(name.endswith("sinks") for name, _ in model.named_parameters())


# --- inputs besides the mask that every tokenizer returns: some towers are causal only where there is one ---


def ids_alone(_model: Any, ids: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"input_ids": ids}


def ids_as_values(_model: Any, ids: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"input_values": ids}


def page(_model: Any, ids: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"input_ids": ids, "bbox": torch.zeros(*ids.shape, 4)}


def picture_features(model: Any, ids: torch.Tensor) -> dict[str, torch.Tensor]:
    # Random, for the language layers do not see them.
    features = torch.rand(1, 3, model.config.visual_feat_dim)
    return {"input_ids": ids, "visual_feats": features, "visual_pos": torch.rand(1, 3, 4)}


def masked_picture(model: Any, ids: torch.Tensor) -> dict[str, torch.Tensor]:
    # Random, for a masked patch is not looked at.
    patch = torch.rand(1, 1, model.config.hidden_size)
    return {"input_ids": ids, "image_embeds": patch, "pixel_mask": torch.zeros(1, 1, 1, dtype=torch.long)}


INPUTS: dict[str, Callable[[Any, torch.Tensor], dict[str, torch.Tensor]]] = {
    "bros": page,
    "udop": page,
    "lxmert": picture_features,
    "vilt": masked_picture,
    "speecht5": ids_as_values,
}


# --- what the returned tensors need to be maps of T tokens by T tokens ---


def whole(layers: Layers, _size: int) -> Layers:
    return layers


def softmax(layers: Layers, _size: int) -> Layers:
    return [scores.double().exp() / scores.double().exp().sum(-1, keepdim=True) for scores in layers]


def square(layers: Layers, size: int) -> Layers:
    return [layer for layer in layers if layer.shape[-2:] == (size, size)]


def first_tokens(layers: Layers, size: int) -> Layers:
    return [layer[:, :, :size, :size] for layer in layers]


def window(layers: Layers, size: int) -> Layers:
    """Column c of query i is key i + c - w, for a window of w keys on each side."""
    maps = []
    for layer in layers:
        side = layer.shape[-1] // 2
        full = torch.zeros(*layer.shape[:2], size, size)
        for i in range(size):
            for j in range(max(0, i - side), min(size, i + side + 1)):
                full[..., i, j] = layer[..., i, j - i + side]
        maps.append(full)
    return maps


def blocks(layers: Layers, size: int) -> Layers:
    """Query i is row i mod b of block i // b; its columns begin one block earlier."""
    maps = []
    for layer in layers:
        length = layer.shape[-2]
        full = torch.zeros(len(layer), layer.shape[2], size, size)
        for i in range(size):
            start = (i // length - 1) * length
            for j in range(max(0, start), min(size, start + 3 * length)):
                full[..., i, j] = layer[:, i // length, :, i % length, j - start]
        maps.append(full)
    return maps


TRANSFORMS: dict[str, Callable[[Layers, int], Layers]] = {
    "squeezebert": softmax,
    "prophetnet": softmax,
    "canine": square,
    "funnel": square,
    "vilt": first_tokens,
    "videoprism_text_model": first_tokens,
    "longformer": window,
    "led": window,
    "longt5": blocks,
}
