"""What the commands that write reports end with."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnx.cli.progress import stage
from attnx.errors import printable
from attnx.i18n import Catalog

if TYPE_CHECKING:
    from attnx.report.corpus.document import CorpusDocument
    from attnx.report.document import Document


def write_all(document: "Document | CorpusDocument", outputs: Sequence[Path], catalog: Catalog) -> None:
    """Write the report to every output; print their paths and the strongest findings in the report's language."""
    from attnx.report.output import write_atomically

    for path in outputs:
        with stage("writing", path=str(path)):
            write_atomically(path, _render(document, path.suffix.lower(), catalog))
        click.echo(printable(catalog.text("terminal.written", path=path)))
    for line in _highlights(document, catalog):
        click.echo(f"• {line}")


def _render(document: "Document | CorpusDocument", suffix: str, catalog: Catalog) -> bytes:
    from attnx.report.document import Document
    from attnx.report.output import render

    if isinstance(document, Document):
        return render(document, suffix, catalog)
    from attnx.report.corpus.rendering import render_corpus

    return render_corpus(document, suffix, catalog)


def _highlights(document: "Document | CorpusDocument", catalog: Catalog) -> tuple[str, ...]:
    from attnx.report.build import highlights
    from attnx.report.document import Document

    if isinstance(document, Document):
        return highlights(document, catalog)
    from attnx.report.corpus.build import corpus_highlights

    return corpus_highlights(document, catalog)
