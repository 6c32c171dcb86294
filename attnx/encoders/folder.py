"""A model name becomes a folder with a configuration, weights and a tokenizer, or one clear refusal."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from attnx.encoders.records import ModelRequest
from attnx.errors import AttnxError, InputError, os_reason

BUILTIN = "builtin"
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
SAFE_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
PICKLED_WEIGHTS = ("pytorch_model.bin", "pytorch_model.bin.index.json")
DOWNLOADED = ("*.json", "*.txt", "*.model", "*.safetensors")
CONFIG_LIMIT = 10_000_000  # bytes; a configuration is a few kB
ANSWER_SECONDS = 3


@dataclass(frozen=True)
class ModelFolder:
    """Where a model lies, what the user calls it, and what was allowed on the way to it."""

    path: Path
    name: str
    source: str
    revision: str | None
    request: ModelRequest


def find_folder(request: ModelRequest) -> ModelFolder:
    """Return the checked folder for a local path or a Hugging Face id.

    Nothing is fetched, and neither code nor pickled weights are accepted, unless the request allows it.
    Raises InputError saying what is missing and what to do.
    """
    name = request.name
    try:
        path = Path(name).expanduser()
        here = path.is_dir()
    except OSError as error:
        raise InputError("model_unreadable", path=name, reason=os_reason(error)) from error
    except (ValueError, RuntimeError) as error:  # a null byte, a home folder of nobody
        raise InputError("model_folder_missing", path=name) from error
    if not name:
        raise InputError("model_folder_missing", path="“”")
    if here or is_path(name):
        folder = ModelFolder(path, name, "local", None, request)
    else:
        snapshot = _download(name) if request.download else _cached(name)
        folder = ModelFolder(snapshot, name, "hub", snapshot.name, request)
    check_folder(folder)
    return folder


def is_path(name: str) -> bool:
    """Tell whether a model name can only mean a folder on this machine."""
    return name.startswith((".", "/", "~", "\\")) or not HUB_ID.fullmatch(name)


def check_folder(folder: ModelFolder) -> None:
    """Refuse a folder that cannot be loaded, naming the first thing that is missing."""
    path = folder.path
    if not path.exists():
        raise InputError("model_folder_missing", path=folder.name)
    if not path.is_dir():
        raise InputError("model_not_a_folder", path=folder.name)
    config = read_config(path, folder.name)
    if not folder.request.trust_remote_code and "auto_map" in config:
        raise InputError("model_remote_code", name=folder.name)
    if any((path / weights).is_file() for weights in SAFE_WEIGHTS):
        return
    if not any((path / weights).is_file() for weights in PICKLED_WEIGHTS):
        raise InputError("model_no_weights", path=folder.name)
    if not folder.request.allow_pickle:
        raise InputError("model_pickled", path=folder.name)


def read_config(path: Path, name: str) -> dict[str, object]:
    """Return the model's ``config.json`` as a mapping."""
    file = path / "config.json"
    if not file.is_file():
        raise InputError("model_no_config", path=name)
    try:
        if file.stat().st_size > CONFIG_LIMIT:
            raise InputError("model_bad_config", path=name)
        config = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("model_unreadable", path=name, reason=os_reason(error)) from error
    except (ValueError, RecursionError) as error:
        raise InputError("model_bad_config", path=name) from error
    if not isinstance(config, dict):
        raise InputError("model_bad_config", path=name)
    return config


def first_line(error: Exception) -> str:
    """Return the first line of what a library says, cut to a length that can be read; its type if it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def _cached(name: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (OSError, ValueError) as error:  # LocalEntryNotFoundError and HFValidationError are of these kinds
        raise InputError("model_not_cached", name=name) from error


def _download(name: str) -> Path:
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        # One short request first: without a network the download itself retries for 20 seconds and more.
        revision = HfApi().model_info(name, timeout=ANSWER_SECONDS).sha
        return Path(snapshot_download(name, revision=revision, allow_patterns=list(DOWNLOADED)))
    except RepositoryNotFoundError as error:
        raise InputError("model_not_on_hub", name=name) from error
    except Exception as error:  # whatever the network layer raises, the answer to the user is the same
        raise AttnxError("model_download_failed", name=name, reason=first_line(error).rstrip(".")) from error
