"""The report of a corpus as the bytes of a file."""

from attnx.i18n import Catalog
from attnx.report.corpus.build import corpus_highlights, corpus_view
from attnx.report.corpus.document import CorpusDocument
from attnx.report.corpus.twin import to_json
from attnx.report.html import render_html
from attnx.report.pdf import render_pdf
from attnx.report.presentation import PLAIN, Presentation

__all__ = ["corpus_highlights", "render_corpus"]


def render_corpus(document: CorpusDocument, suffix: str, t: Catalog, presentation: Presentation = PLAIN) -> bytes:
    """Return the report as the bytes of a ``.html``, ``.pdf`` or ``.json`` file, in the catalog's language."""
    if suffix == ".json":
        return to_json(document).encode()
    paged = suffix == ".pdf"
    html = render_html(corpus_view(document, t, paged=paged), t, presentation, paged=paged, folder="corpus")
    return render_pdf(html, to_json(document), document.provenance.created) if paged else html.encode()
