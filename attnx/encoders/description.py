"""What the files of a model say about it, read without torch and without its weights.

Layers and heads are those of the configuration; only loading the model tells how many give attention.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from attnx.encoders.folder import read_json
from attnx.errors import AttnxError

LAYERS = ("encoder_layers", "num_encoder_layers", "num_hidden_layers", "num_layers", "n_layers", "n_layer")
HEADS = (
    "encoder_attention_heads",
    "num_encoder_attention_heads",
    "num_attention_heads",
    "num_heads",
    "n_heads",
    "n_head",
)
# Where configurations of several parts keep that of the text encoder.
PARTS = ("text_config", "encoder")
CARD, CARD_LIMIT = "README.md", 2_000_000  # bytes
LANGUAGE_BLOCK = re.compile(r"^language:.*(?:\n[ \t-].*)*", re.MULTILINE)
BLOCK_LENGTH = 10_000
LANGUAGES_LIMIT, CODE_LENGTH = 200, 20
NAME_LENGTH = 100
UNSTORED_LENGTH = 10**9  # a tokenizer without a stored maximum reports about 1e30
# Their position tables start after the padding token.
ROBERTA_LIKE = (
    "camembert",
    "data2vec-text",
    "longformer",
    "roberta",
    "roberta-prelayernorm",
    "xlm-roberta",
    "xlm-roberta-xl",
    "xmod",
)


def model_type(config: Mapping[str, Any]) -> str:
    """Return transformers' name for the architecture, empty where the configuration has none."""
    return _name(config.get("model_type"))


def architecture(config: Mapping[str, Any]) -> str:
    """Return the class that was saved, empty where the configuration has none."""
    classes = config.get("architectures")
    return _name(classes[0]) if isinstance(classes, list) and classes else ""


def layers(config: Mapping[str, Any]) -> int | None:
    """Return the number of layers, None where it is not in the configuration."""
    return _first_count(config, LAYERS)


def heads(config: Mapping[str, Any]) -> int | None:
    """Return the number of heads a layer, None where it is not in the configuration."""
    return _first_count(config, HEADS)


def max_tokens(path: Path, config: Mapping[str, Any]) -> int | None:
    """Return how many tokens the model takes at most, special ones included, as far as its files say."""
    limits = [_count(config.get("max_position_embeddings"))]
    if limits[0] and model_type(config) in ROBERTA_LIKE:
        limits[0] -= (_count(config.get("pad_token_id")) or 1) + 1
    with contextlib.suppress(AttnxError):  # no such file, or not one to go by
        limits.append(_count(read_json(path / "tokenizer_config.json", path.name).get("model_max_length")))
    return min((limit for limit in limits if limit and 0 < limit < UNSTORED_LENGTH), default=None)


def languages(path: Path) -> tuple[str, ...]:
    """Return the languages that the model card names, in its order; none where there is no card or it names none."""
    try:
        with (path / CARD).open("rb") as file:
            card = file.read(CARD_LIMIT).decode("utf-8-sig", "replace").replace("\r\n", "\n")
        front = card[4:].partition("\n---")[0] if card.startswith("---\n") else ""
        # Only these lines: results of evaluations can make the rest long. BaseLoader makes strings and nothing else,
        # where SafeLoader would make a false of the code of Norwegian.
        block = LANGUAGE_BLOCK.search(front)
        named = yaml.load(block[0][:BLOCK_LENGTH], Loader=yaml.BaseLoader)["language"] if block else []
    except (OSError, yaml.YAMLError, RecursionError):
        return ()
    found = named if isinstance(named, list) else [named]
    return tuple(code for code in found[:LANGUAGES_LIMIT] if isinstance(code, str) and 0 < len(code) <= CODE_LENGTH)


def size(path: Path) -> int:
    """Return the bytes of the files that lie in a folder itself."""
    return sum(file.stat().st_size for file in path.iterdir() if file.is_file())


def _first_count(config: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((count for part in _parts(config) for name in names if (count := _count(part.get(name)))), None)


def _parts(config: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield config
    yield from (config[name] for name in PARTS if isinstance(config.get(name), dict))


def _count(value: object) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and isinstance(value, int) and value > 0 else None


def _name(value: object) -> str:
    return value[:NAME_LENGTH] if isinstance(value, str) else ""
