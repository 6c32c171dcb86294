"""What a shell can complete: the names of models. No model is read for it, and imports wait until they are needed."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def complete_model(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Return the models whose names begin like this: the built-in one, those in the cache, folders of models.

    Without one, the shell completes folders, on the way to a model. A name with a line end or the like is left out, as
    it would be taken for something else.
    """
    from click.shell_completion import CompletionItem

    from attnx.encoders.cache import cached_models
    from attnx.encoders.folder import BUILTIN

    names = (BUILTIN, *(model.name for model in cached_models()), *_folders(incomplete))
    found = [CompletionItem(name) for name in names if name.startswith(incomplete) and name.isprintable()]
    return found or [CompletionItem(incomplete, type="dir")]


def _folders(incomplete: str) -> Iterator[str]:
    """Yield the folders of models beside what is written, with the path as it is written."""
    from attnx.encoders.folder import CONFIG

    written = incomplete[: incomplete.rfind("/") + 1]
    try:
        for path in sorted(Path(written or ".").expanduser().iterdir()):
            if (path / CONFIG).is_file():
                yield f"{written}{path.name}"
    except OSError:  # no folder, or none that may be read: nothing to complete
        return
