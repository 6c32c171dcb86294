"""A model name becomes a checked folder: a local path or a Hugging Face id, with ``@revision`` if wanted."""

import re
from difflib import get_close_matches
from pathlib import Path

from attnx.encoders.cache import DEFAULT_REVISION, CachedModel, cached_model, cached_models
from attnx.encoders.folder import BUILTIN, ModelFolder, check_folder, has_tokenizer, read_config
from attnx.encoders.hub import download, is_offline
from attnx.encoders.records import ModelRequest
from attnx.errors import AttnxError, InputError, os_reason

PART = r"[A-Za-z0-9](?:[\w.-]*\w)?"
HUB_ID = re.compile(rf"(?!.*(?:--|\.\.))(?P<id>{PART}(?:/{PART})?)(?:@(?P<revision>\w[\w.+/-]*))?", re.ASCII)
ID_LIMIT = 96  # characters of an id; Hugging Face takes no more
SIMILAR, SUGGESTED = 0.7, 3
REVISIONS_SHOWN = 6
MISSPELT = ("model_not_cached", "model_offline", "model_not_on_hub", "model_not_public")


def find_folder(request: ModelRequest) -> ModelFolder:
    """Return the checked folder for a local path or a Hugging Face id.

    Nothing is fetched, and neither code nor pickled weights are accepted, unless the request allows it.
    Raises InputError saying what is missing and what to do.
    """
    folder = locate(request)
    check_folder(folder)
    return folder


def locate(request: ModelRequest) -> ModelFolder:
    """Return the folder for a name as it is, not yet looked into. Raises InputError when there is none."""
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
    hub_id = HUB_ID.fullmatch(name)
    if here or not hub_id or len(hub_id["id"]) > ID_LIMIT:
        return ModelFolder(path, name, "local", None, request)
    return _on_hub(hub_id["id"], hub_id["revision"], request)


def nearest(name: str) -> list[str]:
    """Return the names of models on this machine that `name` may be a misspelling of, the likeliest first."""
    forms: dict[str, str] = {}
    for known in (BUILTIN, *(model.name for model in cached_models())):
        forms |= {known.lower(): known, _last_part(known): known}
    likely = [
        forms[form]
        for wanted in (name.lower(), _last_part(name))
        for form in get_close_matches(wanted, forms, SUGGESTED, SIMILAR)
    ]
    return [known for known in dict.fromkeys(likely) if known != name][:SUGGESTED]


def _last_part(name: str) -> str:
    return name.rpartition("/")[2].lower()


def _on_hub(name: str, revision: str | None, request: ModelRequest) -> ModelFolder:
    cached = cached_model(name)
    snapshot = cached.snapshot(revision) if cached else None
    found = ModelFolder(snapshot, name, "hub", snapshot.name, request) if snapshot else None
    fetch = request.download and not is_offline(request)
    if found and (not fetch or _is_whole(found)):
        return found
    if not fetch:
        raise _with_nearest(name, _not_cached(name, revision, cached, is_offline(request)))
    try:
        snapshot = download(name, revision, request)
    except InputError as error:
        raise _with_nearest(name, error) from error
    return ModelFolder(snapshot, name, "hub", snapshot.name, request)


def _is_whole(folder: ModelFolder) -> bool:
    """Tell whether nothing that was asked for is left to fetch."""
    try:
        check_folder(folder)
    except AttnxError:
        return False
    code = "auto_map" not in read_config(folder.path, folder.name) or any(folder.path.glob("*.py"))
    return code and has_tokenizer(folder.path)


def _not_cached(name: str, revision: str | None, cached: CachedModel | None, offline: bool) -> InputError:
    known = cached.revisions() if cached else []
    if known:
        wanted, shown = revision or DEFAULT_REVISION, ", ".join(known[:REVISIONS_SHOWN])
        return InputError("model_revision_not_cached", name=name, revision=wanted, known=shown)
    if offline:
        return InputError("model_offline", name=name)
    return InputError("model_cache_empty" if cached else "model_not_cached", name=name)


def _with_nearest(name: str, error: InputError) -> InputError:
    """Return `error` with the names that may have been meant, where the name is what is wrong."""
    near = nearest(name) if error.key in MISSPELT else []
    return InputError("did_you_mean", reason=error.format_message(), names=", ".join(near)) if near else error
