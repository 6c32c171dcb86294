"""The local Hugging Face cache: the models in it and their revisions, read as files and without a network.

A model lies in ``models--<owner>--<name>``: ``refs/<branch or tag>`` holds a commit, ``snapshots/<commit>`` the files.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

DEFAULT_REVISION = "main"
COMMIT = re.compile(r"[0-9a-f]{40}")
SHORT_COMMIT = re.compile(r"[0-9a-f]{4,39}")
SHOWN_DIGITS = 8


@dataclass(frozen=True)
class CachedModel:
    """A model in the cache: its id, its folder, the commit of every branch and tag, and the commits with files."""

    name: str
    folder: Path
    references: Mapping[str, str]
    commits: tuple[str, ...]

    def snapshot(self, revision: str | None) -> Path | None:
        """Return the folder of a branch, a tag or a commit, which may be abbreviated; None if it is not here."""
        wanted = revision or DEFAULT_REVISION
        commit = self.references.get(wanted, wanted)
        found = [known for known in self.commits if known == commit]
        if not found and SHORT_COMMIT.fullmatch(commit):
            found = [known for known in self.commits if known.startswith(commit)]
        return self.folder / "snapshots" / found[0] if len(found) == 1 else None

    def revisions(self) -> list[str]:
        """Return what can follow the ``@``: branches and tags, then the commits that have no such name."""
        named = [name for name, commit in self.references.items() if commit in self.commits]
        known = {self.references[name] for name in named}
        return [*named, *(commit[:SHOWN_DIGITS] for commit in self.commits if commit not in known)]


def cache_folder() -> Path:
    """Return the Hugging Face cache, by the environment variables that transformers goes by."""
    home = Path(os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "huggingface")
    named = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    return Path(os.path.expandvars(named or home / "hub")).expanduser()


def model_folder(name: str) -> Path:
    """Return where the cache keeps a model, whether or not it is there."""
    return cache_folder() / f"models--{name.replace('/', '--')}"


def cached_model(name: str) -> CachedModel | None:
    """Return what the cache holds of a model, None where it has never heard of it."""
    folder = model_folder(name)
    if not folder.is_dir():
        return None
    commits = (path.name for path in (folder / "snapshots").glob("*") if path.is_dir())
    return CachedModel(
        name, folder, dict(_references(folder / "refs")), tuple(sorted(filter(COMMIT.fullmatch, commits)))
    )


def cached_models() -> Iterator[CachedModel]:
    """Yield every model in the cache, by name."""
    for folder in sorted(cache_folder().glob("models--*")):
        model = cached_model(folder.name.removeprefix("models--").replace("--", "/"))
        if model:
            yield model


def remember(name: str, revision: str, commit: str) -> None:
    """Write down which commit a branch or tag is, the way huggingface_hub does."""
    reference = model_folder(name) / "refs" / revision
    reference.parent.mkdir(parents=True, exist_ok=True)
    reference.write_text(commit)


def _references(folder: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(folder.rglob("*")):
        try:
            with file.open("rb") as stream:
                commit = stream.read(100).decode("ascii", "replace").strip()
        except OSError:  # a folder, a link to nothing, a file of someone else
            continue
        if COMMIT.fullmatch(commit):
            yield file.relative_to(folder).as_posix(), commit
