"""Where reports go: the checks before the work, the format by suffix, and writing that loses nothing."""

import contextlib
import errno
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from attnx.errors import AttnxError, InputError, os_reason
from attnx.i18n import Catalog
from attnx.report.presentation import PLAIN, Presentation

if TYPE_CHECKING:
    from attnx.report.document import Document

SUFFIXES = (".html", ".pdf", ".json")
SLUG_CHARACTERS = 40
TEMPORARY = ".attnx-"  # what the names of unfinished files begin with
NOT_IN_SLUG = re.compile(r"\W+")


def default_path(text: str, suffix: str = ".html") -> Path:
    """Return ``attnx-<slug><suffix>`` in the working folder."""
    return Path(f"attnx-{slug(text) or 'report'}{suffix}")


def slug(text: str) -> str:
    """Return what of a text can be in any file's name: letters and digits of any script, hyphens between them."""
    return NOT_IN_SLUG.sub("-", text)[:SLUG_CHARACTERS].strip("-_")


def check_output(path: Path, suffixes: tuple[str, ...] = SUFFIXES) -> None:
    """Refuse a path that cannot be written or whose suffix says no format, before any work is done."""
    try:
        if path.is_dir():
            if suffixes:
                raise InputError("output_is_folder", path=path, suffixes=", ".join(suffixes))
            raise IsADirectoryError(errno.EISDIR, "")
        if suffixes and path.suffix.lower() not in suffixes:
            raise InputError("output_unknown_suffix", path=path, suffixes=", ".join(suffixes))
        if not path.parent.is_dir():
            raise InputError("output_no_folder", path=path)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise InputError("output_not_writable", path=path, reason=os_reason(error)) from error


def check_outputs(paths: Sequence[Path], suffixes: tuple[str, ...] = SUFFIXES) -> None:
    """Check every output, and that none is given twice and that PDF can be made here if it is wanted."""
    for path in paths:
        check_output(path, suffixes)
        if [other.resolve() for other in paths].count(path.resolve()) > 1:
            raise InputError("output_twice", path=path)
    if any(path.suffix.lower() == ".pdf" for path in paths):
        from attnx.report.pdf import load_weasyprint

        load_weasyprint()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file under a temporary name and rename it, so that an earlier file survives any failure."""
    with atomic_file(path, path.parent) as file:
        file.write(content)


@contextlib.contextmanager
def atomic_file(path: Path, folder: Path) -> Iterator[IO[bytes]]:
    """Open a file that becomes `path` once it is complete and on the disk; until then it is a temporary in `folder`.

    The folder is on the disk that the path is on. Raises AttnxError when the file cannot be written.
    """
    try:
        with _temporary(folder, path.suffix) as (descriptor, temporary):
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(path)
    except OSError as error:
        raise AttnxError("write_failed", path=path, reason=os_reason(error)) from error


def render(document: "Document", suffix: str, t: Catalog, presentation: Presentation = PLAIN) -> bytes:
    """Return the report as the bytes of a ``.html``, ``.pdf`` or ``.json`` file, in the catalog's language."""
    from attnx.report.document import to_json  # not above: the checks must not wait for torch

    if suffix == ".json":
        return to_json(document).encode()
    from attnx.report.build import attaches_maps, report_view
    from attnx.report.html import render_html

    paged = suffix == ".pdf"
    view = report_view(document, t, paged=paged, presentation=presentation)
    html = render_html(view, t, presentation, paged=paged)
    if not paged:
        return html.encode()
    from attnx.report.pdf import render_pdf

    twin = to_json(document, with_maps=attaches_maps(document))
    return render_pdf(html, twin, document.provenance.created)


@contextlib.contextmanager
def _temporary(folder: Path, suffix: str) -> Iterator[tuple[int, Path]]:
    descriptor, name = tempfile.mkstemp(dir=folder, prefix=TEMPORARY, suffix=suffix)
    try:
        yield descriptor, Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask
