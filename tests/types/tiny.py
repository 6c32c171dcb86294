"""A tiny model with random weights for a model type of the installed transformers, saved as a user's folder.

No type is listed: the default configuration is made small by the names of its settings. OVERRIDES holds what only
one type needs.
"""

import importlib
import json
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import torch
import transformers
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import CONFIG_MAPPING, PreTrainedConfig, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

from tests.types.sources import text_classes

VOCABULARY, LAYERS, HEADS, HIDDEN = 160, 2, 4, 64
WINDOW = 4  # less than the longest sentence, so that a window shows
FIRST_LETTER = 100  # the special tokens of every type get smaller ids
MAXIMUM = 60  # tokens, less than the positions
SPACE = "Ġ"  # how a byte-level vocabulary writes a space
SPREAD = 0.1  # standard deviation of the weights

NAMES_OF_SIZES = (
    (VOCABULARY, "vocab_size src_vocab_size tgt_vocab_size text_vocab_size"),
    (
        LAYERS,
        """layers n_layer n_layers num_layers num_hidden_layers encoder_layers decoder_layers num_encoder_layers
        num_decoder_layers l_layers r_layers x_layers text_encoder_layers speech_encoder_layers t2u_encoder_layers
        t2u_decoder_layers""",
    ),
    (
        HEADS,
        """n_head n_heads num_heads attention_heads num_attention_heads encoder_attention_heads decoder_attention_heads
        num_encoder_attention_heads num_decoder_attention_heads num_experts num_local_experts""",
    ),
    (
        HIDDEN,
        """dim d_model n_embd emb_dim embed_dim hidden_size embedding_size projection_dim shared_projection_dim
        word_embed_proj_dim max_position_embeddings""",
    ),
    (2 * HIDDEN, "intermediate_size ffn_dim encoder_ffn_dim decoder_ffn_dim d_ff d_inner n_inner hidden_dim"),
    (HIDDEN // HEADS, "head_dim d_kv d_head kv_channels patch_size"),
    (HIDDEN // 2, "moe_intermediate_size image_size entity_vocab_size"),
    (HEADS // 2, "num_key_value_heads num_experts_per_tok"),
    (WINDOW, "attention_window sliding_window local_attention local_radius"),
    (0.0, "encoder_layerdrop decoder_layerdrop layerdrop"),
)
SIZES = {name: size for size, names in NAMES_OF_SIZES for name in names.split()}
SPECIAL_IDS = {"pad": 0, "bos": 1, "eos": 2, "sep": 3, "cls": 4, "mask": 5}

# What the rule of names does not give: settings, and the class that a real checkpoint of the type is saved from.
OVERRIDES: dict[str, dict[str, Any]] = {
    "blip_2_qformer": {"encoder_hidden_size": HIDDEN},
    "clvp_encoder": {"hidden_size": 2 * HIDDEN},
    "diffusion_gemma_text": {"num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": HIDDEN},
    "emu3": {"vocabulary_map": {"<image>": 5}},
    "emu3_vqgan": {"base_channels": HIDDEN // 2, "channel_multiplier": [1, 1]},
    "esm": {"vocab_size": VOCABULARY, "pad_token_id": 1, "mask_token_id": 32},
    "esmc": {"num_key_value_heads": HEADS},
    "funnel": {"block_sizes": [1, 1], "num_decoder_layers": 1},
    "layoutlmv3": {"coordinate_size": 8, "shape_size": 16, "visual_embed": False},
    "lilt": {"hidden_size": 96},
    "perceiver": {"d_latents": HIDDEN, "num_latents": 8, "num_self_attends_per_block": 2},
    "pix2struct_text_model": {"initializer_range": 0.02},
    "reformer": {
        "attn_layers": ["local", "lsh"],
        "attention_head_size": 16,
        "axial_pos_shape": [8, 8],
        "axial_pos_embds_dim": [16, 48],
        "feed_forward_size": 2 * HIDDEN,
        "is_decoder": False,
        "local_attn_chunk_length": 4,
        "lsh_attn_chunk_length": 4,
        "num_buckets": 4,
    },
    "sam3_lite_text_text_model": {"num_hidden_layers": 4},
    "step3p5": {"sliding_window": WINDOW},
    "t5gemma2_text": {"dropout_rate": 0.0},
    "xmod": {"default_language": "en_XX"},
}
CLASSES = {"speecht5": "SpeechT5ForTextToSpeech"}


def tiny_config(model_type: str) -> PreTrainedConfig:
    """Return the type's default configuration made small."""
    kind = CONFIG_MAPPING[model_type]
    return kind(**merged(small(kind()), OVERRIDES.get(model_type, {})))


def small(config: PreTrainedConfig) -> dict[str, Any]:
    """Return the settings that make a configuration, and those inside it, small."""
    settings: dict[str, Any] = {}
    for name, value in vars(config).items():
        if isinstance(value, PreTrainedConfig):
            part = merged(small(value), OVERRIDES.get(value.model_type, {}))
            settings[name] = part | {"model_type": value.model_type}
        elif name in SIZES and isinstance(value, int | float) and not isinstance(value, bool):
            settings[name] = SIZES[name]
        elif name.endswith("token_id") and isinstance(value, int) and value >= FIRST_LETTER:
            settings[name] = SPECIAL_IDS.get(name.removesuffix("_token_id"), 6)
    return settings


def merged(settings: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with the changes in them, those inside a part of the configuration too."""
    parts = {
        name: merged(settings.get(name) or {}, change) for name, change in changes.items() if isinstance(change, dict)
    }
    return settings | changes | parts


def model_class(model_type: str) -> type[PreTrainedModel]:
    """Return the class that a checkpoint of the type is saved from."""
    name = CLASSES.get(model_type) or MODEL_MAPPING_NAMES.get(model_type)
    if isinstance(name, tuple):
        name = name[0]
    if name and hasattr(transformers, name):
        return getattr(transformers, name)
    found = (getattr(importlib.import_module(text.module), text.name) for text in text_classes(model_type))
    return next(kind for kind in found if issubclass(kind, PreTrainedModel))


def tiny_model(model_type: str) -> PreTrainedModel:
    """Return a model of the type with random weights, in eval mode.

    The weights are larger than a fresh model's, whose heads all look everywhere alike: a wrong mask would not show.
    """
    torch.manual_seed(0)
    config = tiny_config(model_type)
    model = model_class(model_type)._from_config(config, attn_implementation="eager", dtype=torch.float32)
    for parameter in model.parameters():
        if parameter.requires_grad and parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=SPREAD)
    return model.eval()


def save_tiny(model_type: str, folder: Path) -> PreTrainedModel:
    """Save a tiny model and its tokenizer in a folder, and return the model."""
    model = tiny_model(model_type)
    model.save_pretrained(folder)
    save_tokenizer(model.config.get_text_config(), folder)
    return model


def save_config(model_type: str, folder: Path) -> None:
    """Save what a folder has of a type that cannot be built here: no weights, but a file for them."""
    config = tiny_config(model_type)
    config.save_pretrained(folder)
    save_file({}, folder / "model.safetensors", {"format": "pt"})
    save_tokenizer(config, folder)


def save_tokenizer(config: PreTrainedConfig, folder: Path) -> None:
    """Save a tokenizer in which a letter is a token: [CLS] before, [SEP] after, [PAD] where the model has it.

    It is a byte-level BPE: for some types transformers takes the vocabulary and merges, and builds its own around them.
    """
    padding = getattr(config, "pad_token_id", None)
    special = {"[PAD]": padding if isinstance(padding, int) and padding >= 0 else 0}
    special |= {name: FIRST_LETTER - 3 + i for i, name in enumerate(("[UNK]", "[CLS]", "[SEP]"))}
    pieces = [SPACE, *ascii_lowercase, *(SPACE + letter for letter in ascii_lowercase)]
    vocabulary = special | {piece: FIRST_LETTER + i for i, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [(SPACE, letter) for letter in ascii_lowercase]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(list(special))
    frame = [(name, special[name]) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=frame)
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {f"{name.strip('[]').lower()}_token": name for name in special}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": MAXIMUM} | names
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
