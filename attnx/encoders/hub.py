"""Fetch a model from Hugging Face: one question with little patience, then only the files that are needed."""

import contextlib
import logging
import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from fnmatch import fnmatchcase
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from attnx.encoders.cache import DEFAULT_REVISION, cache_folder, model_folder, remember
from attnx.encoders.folder import (
    PICKLED_WEIGHTS,
    SAFE_WEIGHTS,
    ModelFolder,
    check_code,
    check_pickled,
    first_line,
)
from attnx.encoders.records import ModelRequest
from attnx.errors import AttnxError, InputError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

T = TypeVar("T")

ANSWER_SECONDS = 3  # for a connection, and then for the answer
TOTAL_SECONDS = 4  # for the first question altogether, the name server included
STALL_SECONDS = 20  # for the next byte of a file; huggingface_hub would retry for minutes
SMALL_FILES = ("*.json", "*.txt", "*.model", "*.spm", "*.codes", "README.md")
SHARDS = {SAFE_WEIGHTS: "model*.safetensors", PICKLED_WEIGHTS: "pytorch_model*.bin"}
OFFLINE_VARIABLES = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
UNAUTHORIZED, FORBIDDEN = 401, 403
BAD_TOKEN = "Invalid credentials in Authorization header"  # what sets this 401 apart from that for a private model


def is_offline(request: ModelRequest) -> bool:
    """Tell whether every request is forbidden, by the user or by the variables that huggingface_hub goes by."""
    set_to = {os.environ.get(name, "").upper() for name in OFFLINE_VARIABLES}
    return request.offline or bool(set_to & {"1", "ON", "YES", "TRUE"})


def download(name: str, revision: str | None, request: ModelRequest) -> Path:
    """Fetch a revision (None: the main branch) into the cache and return its folder.

    Raises InputError when Hugging Face does not have it, does not give it, or it is not what the request allows;
    AttnxError when Hugging Face cannot be reached.
    """
    # Read when huggingface_hub is imported; telemetry would ask a question of its own before ours.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    from huggingface_hub import HfApi

    _quiet()
    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"))
    try:
        # Without this question the download itself would retry for 20 seconds and more.
        found = _within(TOTAL_SECONDS, lambda: api.model_info(name, revision=revision, timeout=ANSWER_SECONDS))
        commit = str(found.sha)
        files = [file.rfilename for file in found.siblings or () if "/" not in file.rfilename]
        weights = _weights(files, name, request)
        snapshot = model_folder(name) / "snapshots" / commit
        _fetch(api, name, commit, (file for file in files if _is_small(file, request)))
        check_code(ModelFolder(snapshot, name, "hub", commit, request))
        _fetch(api, name, commit, weights)
        # Last, so that a download that was interrupted is not taken for the whole.
        if not commit.startswith(revision or DEFAULT_REVISION):
            remember(name, revision or DEFAULT_REVISION, commit)
    except AttnxError:
        raise
    except Exception as error:  # whatever the network layer raises
        raise _refusal(error, name, revision) from error
    return snapshot


def _quiet() -> None:
    """Keep notes of huggingface_hub off the terminal, and its progress bars out of files."""
    from huggingface_hub.utils.tqdm import disable_progress_bars

    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    if not sys.stderr.isatty():
        disable_progress_bars()


def _within(seconds: float, ask: Callable[[], T], progress: Callable[[], int] = int) -> T:
    """Return what `ask` returns. Raises TimeoutError when `seconds` pass in which `progress` stays the same.

    No library's timeout covers name servers, answers that dribble, and all retries together.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except Exception as error:
            answer.set_exception(error)

    Thread(target=run, daemon=True).start()
    before = progress()
    while not wait([answer], seconds).done:
        now = progress()
        if now == before:
            raise TimeoutError("timed out")
        before = now
    return answer.result()


def _weights(files: list[str], name: str, request: ModelRequest) -> list[str]:
    """Return the weight files to fetch, of one kind, or refuse the model before anything is fetched."""
    for kind, shards in SHARDS.items():
        single, index = kind
        if single not in files and index not in files:
            continue
        if kind is PICKLED_WEIGHTS:
            check_pickled(name, request.allow_pickle)
        return [single] if single in files else [index, *(file for file in files if fnmatchcase(file, shards))]
    raise InputError("model_no_weights", path=name)


def _is_small(file: str, request: ModelRequest) -> bool:
    patterns = (*SMALL_FILES, "*.py") if request.trust_remote_code else SMALL_FILES
    return any(fnmatchcase(file, pattern) for pattern in patterns) and file not in (*SAFE_WEIGHTS, *PICKLED_WEIGHTS)


def _fetch(api: "HfApi", name: str, commit: str, files: Iterable[str]) -> None:
    def fetch() -> None:
        for file in files:
            api.hf_hub_download(name, file, revision=commit, cache_dir=cache_folder(), etag_timeout=ANSWER_SECONDS)

    _within(STALL_SECONDS, fetch, lambda: _size(model_folder(name)))


def _size(folder: Path) -> int:
    """Return the bytes in a folder in which files come, grow and are renamed."""
    total = 0
    for file in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += file.lstat().st_size
    return total


def _refusal(error: Exception, name: str, revision: str | None) -> AttnxError:
    """Return what to say for an error of huggingface_hub."""
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    response = error.response if isinstance(error, HfHubHTTPError) else None
    status = response.status_code if response is not None else None
    if isinstance(error, GatedRepoError):
        return InputError("model_gated", name=name)
    if isinstance(error, RevisionNotFoundError):
        return InputError("model_revision_not_on_hub", name=name, revision=revision)
    if response is not None and response.headers.get("X-Error-Message") == BAD_TOKEN:
        return InputError("model_token_refused", name=name)
    # Of a private model and of none, who is not logged in hears 401, who is, 404.
    if status == UNAUTHORIZED:
        return InputError("model_not_public", name=name)
    if isinstance(error, RepositoryNotFoundError):
        return InputError("model_not_on_hub", name=name)
    if status == FORBIDDEN:
        return InputError("model_forbidden", name=name)
    # The cause of "not in the cache" is why the file could not be fetched.
    if isinstance(error, LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    return AttnxError("model_download_failed", name=name, reason=first_line(error).rstrip("."))
