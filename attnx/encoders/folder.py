"""What a model folder has to hold: a configuration, safe weights, no code of its own. Or one clear refusal."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from attnx.encoders.records import ModelRequest
from attnx.errors import InputError, os_reason

BUILTIN = "builtin"
CONFIG = "config.json"
SAFE_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
PICKLED_WEIGHTS = ("pytorch_model.bin", "pytorch_model.bin.index.json")
TOKENIZER_FILES = ("tokenizer*", "vocab*", "*.model", "*.spm")
JSON_LIMIT = 10_000_000  # bytes; a configuration is a few kB, a list of weight files at most a few MB
# What else transformers reads whole; the largest vocabularies take about 40 MB.
TEXT_FILES = ("*.json", "*.txt", "*.model", "*.spm", "*.jinja")
TEXT_LIMIT = 100_000_000  # bytes
# The deepest models have about 150. A million would be built for minutes before the weights are looked at.
LAYERS_LIMIT = 2000
REASON_CHARACTERS = 200


@dataclass(frozen=True)
class ModelFolder:
    """Where a model lies, what it is called, and what was allowed on the way to it."""

    path: Path
    name: str
    source: str
    revision: str | None
    request: ModelRequest


def check_folder(folder: ModelFolder) -> None:
    """Refuse a folder that cannot be loaded, naming the first thing that is missing."""
    if not folder.path.exists():
        raise InputError("model_folder_missing", path=folder.name)
    if not folder.path.is_dir():
        raise InputError("model_not_a_folder", path=folder.name)
    check_code(folder)
    _check_bounds(folder)
    _check_weights(folder)


def check_code(folder: ModelFolder) -> None:
    """Refuse a model that brings Python code, unless the request trusts it. Nothing is ever asked."""
    if "auto_map" in read_config(folder.path, folder.name) and not folder.request.trust_remote_code:
        raise InputError("model_remote_code", name=folder.name)


def check_pickled(name: str, allowed: bool) -> None:
    """Refuse pickled weights, unless they are allowed: loading them can run code."""
    if not allowed:
        raise InputError("model_pickled", path=name)


def read_config(path: Path, name: str) -> dict[str, Any]:
    """Return the model's ``config.json`` as a mapping."""
    if not (path / CONFIG).is_file():
        raise InputError("model_no_config", path=name)
    return read_json(path / CONFIG, name)


def read_json(file: Path, name: str) -> dict[str, Any]:
    """Return a JSON file of the model `name` as a mapping, refusing one that is large, deep or something else."""
    try:
        content = json.loads(file.read_text(encoding="utf-8")) if file.stat().st_size <= JSON_LIMIT else None
    except OSError as error:
        raise InputError("model_unreadable", path=name, reason=os_reason(error)) from error
    except (ValueError, RecursionError) as error:
        raise InputError("model_bad_config", path=name, file=file.name) from error
    if not isinstance(content, dict):
        raise InputError("model_bad_config", path=name, file=file.name)
    return content


def has_tokenizer(path: Path) -> bool:
    """Tell whether a folder has any file that a tokenizer could be read from."""
    return any(any(path.glob(pattern)) for pattern in TOKENIZER_FILES)


def first_line(error: Exception) -> str:
    """Return the first line of what a library says, cut to a length that can be read; its type if it says nothing.

    A first line that ends in a colon says nothing without the next.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return " ".join(lines[: 2 if lines[0].endswith(":") else 1])[:REASON_CHARACTERS]


def _check_bounds(folder: ModelFolder) -> None:
    """Refuse a folder that would keep transformers busy for minutes: too many layers, a text file too large."""
    layers = max(_layer_counts(read_config(folder.path, folder.name)), default=0)
    if layers > LAYERS_LIMIT:
        raise InputError("model_too_deep", path=folder.name, limit=LAYERS_LIMIT)
    for file in (file for pattern in TEXT_FILES for file in folder.path.glob(pattern)):
        if file.is_file() and file.stat().st_size > TEXT_LIMIT:
            raise InputError("model_file_too_large", path=folder.name, file=file.name, limit=TEXT_LIMIT // 10**6)


def _layer_counts(config: dict[str, Any]) -> Iterator[int]:
    """Yield every number of layers in a configuration and in the configurations inside it."""
    parts = [config]
    while parts:
        for name, value in parts.pop().items():
            if isinstance(value, dict):
                parts.append(value)
            elif isinstance(value, int) and name.endswith(("layer", "layers")):
                yield value


def _check_weights(folder: ModelFolder) -> None:
    for kind in (SAFE_WEIGHTS, PICKLED_WEIGHTS):
        single, index = (folder.path / name for name in kind)
        if not single.is_file() and not index.is_file():
            continue
        if kind is PICKLED_WEIGHTS:
            check_pickled(folder.name, folder.request.allow_pickle)
        if not single.is_file():
            _check_shards(index, folder.name)
        return
    raise InputError("model_no_weights", path=folder.name)


def _check_shards(index: Path, name: str) -> None:
    """Refuse weights in several files one of which is not there, or is not a file of this folder."""
    weight_map = read_json(index, name).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise InputError("model_bad_config", path=name, file=index.name)
    for shard in dict.fromkeys(map(str, weight_map.values())):
        if PurePath(shard).name != shard or "\0" in shard or not (index.parent / shard).is_file():
            raise InputError("model_shard_missing", path=name, shard=shard[:200], file=index.name)
