"""What is on this machine: the built-in model, the Hugging Face cache, folders. Nothing is loaded for it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnx.encoders import description
from attnx.encoders.cache import CachedModel, cached_models
from attnx.encoders.coverage import TypeCoverage, read_coverage
from attnx.encoders.folder import BUILTIN, CONFIG, ModelFolder, check_folder, has_tokenizer, read_config
from attnx.encoders.names import locate
from attnx.encoders.records import ModelRequest
from attnx.encoders.wheel import WEIGHTS, WHEEL, find_wheel
from attnx.errors import AttnxError, InputError
from attnx.i18n import terminal_catalog

UNTRIED = TypeCoverage("", "", "", "")
CAUSAL, REFUSED = "causal", "refused"


@dataclass(frozen=True)
class AvailableModel:
    """A model on this machine, as its files describe it.

    `name` is what to give to ``-m``. `source` is ``builtin``, ``hub`` or ``local``; `revision` a commit or release
    where one is known. `type` and `architecture` (the saved class) are empty, `layers`, `heads` and `max_tokens` None
    where the files do not say. `size` is in bytes. `languages` are codes from the model card. `notes` are
    the keys of what is special of the type, as `attnx.encoders.coverage` has them. `problem` says why the
    model cannot be loaded, None if nothing speaks against it.
    """

    name: str
    source: str
    path: Path
    revision: str | None = None
    type: str = ""
    architecture: str = ""
    layers: int | None = None
    heads: int | None = None
    max_tokens: int | None = None
    size: int = 0
    languages: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str | None = None

    @property
    def causal(self) -> bool:
        """Tell whether no token of the model sees a later one, as far as is known."""
        return CAUSAL in self.notes


def available_models() -> Iterator[AvailableModel]:
    """Yield the built-in model, then every model in the cache, by name."""
    yield _builtin()
    for model in cached_models():
        yield from _cached(model)


def named_models(name: str) -> list[AvailableModel]:
    """Return the model that `name` is, or the models in the folder that it is.

    Raises InputError when there is no such model, and no model in such a folder.
    """
    if name == BUILTIN:
        return [_builtin()]
    folder = locate(ModelRequest(name))
    if folder.source == "local" and folder.path.is_dir() and not (folder.path / CONFIG).exists():
        inside = sorted(path for path in folder.path.glob("*") if (path / CONFIG).is_file())
        if not inside:
            raise InputError("model_no_config", path=name)
        return [_described(ModelFolder(path, str(path), "local", None, folder.request), str(path)) for path in inside]
    if not folder.path.is_dir():
        check_folder(folder)
    return [_described(folder, name)]


def _builtin() -> AvailableModel:
    try:
        wheel = find_wheel()
    except InputError as error:
        return AvailableModel(BUILTIN, BUILTIN, Path(), problem=error.format_message())
    file = Path(str(wheel.locate_file(WEIGHTS)))
    return AvailableModel(
        name=BUILTIN,
        source=BUILTIN,
        path=file,
        revision=f"{WHEEL} {wheel.version}",
        type="bert",
        architecture="BertModel",
        layers=12,
        heads=12,
        max_tokens=512,
        size=file.stat().st_size if file.is_file() else 0,
        languages=("multilingual", "zh", "ru", "en"),
        problem=None if file.is_file() else AttnxError("builtin_broken", path=file).format_message(),
    )


def _cached(model: CachedModel) -> Iterator[AvailableModel]:
    """Yield the main revision of a cached model; without one every other, or the reason that there is none."""
    revisions = [None] if model.snapshot(None) else model.revisions()
    if not revisions:
        problem = AttnxError("model_cache_empty", name=model.name).format_message()
        yield AvailableModel(model.name, "hub", model.folder, problem=problem)
    for revision in revisions:
        snapshot, name = model.snapshot(revision), f"{model.name}@{revision}" if revision else model.name
        if snapshot:
            yield _described(ModelFolder(snapshot, name, "hub", snapshot.name, ModelRequest(name)), name)


def _described(folder: ModelFolder, name: str) -> AvailableModel:
    config: dict[str, Any] = {}
    try:
        config = read_config(folder.path, folder.name)
        check_folder(folder)
        problem = None if has_tokenizer(folder.path) else AttnxError("tokenizer_missing", path=name).format_message()
    except AttnxError as error:
        problem = error.format_message()
    row = next((row for row in read_coverage() if row.type == config.get("model_type")), UNTRIED)
    return AvailableModel(
        name=name,
        source=folder.source,
        path=folder.path,
        revision=folder.revision,
        type=description.model_type(config),
        architecture=description.architecture(config),
        layers=description.layers(config),
        heads=description.heads(config),
        max_tokens=description.max_tokens(folder.path, config),
        size=description.size(folder.path),
        languages=description.languages(folder.path),
        notes=_notes(row, config),
        problem=problem or _refusal(row),
    )


def _notes(row: TypeCoverage, config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what is special of a type, and that a model of an encoder's type is used as a decoder."""
    own = (CAUSAL,) if config.get("is_decoder") is True else ()
    return tuple(dict.fromkeys((*own, *row.note.split()))) if row.status != REFUSED else ()


def _refusal(row: TypeCoverage) -> str | None:
    if row.status != REFUSED:
        return None
    reason = terminal_catalog().text(f"coverage.{row.note}")
    return AttnxError("type_refused", type=row.type, reason=reason).format_message()
