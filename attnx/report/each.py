"""The pages of a corpus whose sentences have a report each: such a report, and the list of them."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from attnx.i18n import Catalog, html_lang
from attnx.report.build import report_view
from attnx.report.document import Document
from attnx.report.fonts import display_label, subset_font
from attnx.report.html import MIME, environment, render_html
from attnx.report.typography import short_text
from attnx.texts.sentence import guess_language
from attnx.version import __version__

ID_CHARACTERS = 300
TEXT_CHARACTERS = 200


@dataclass(frozen=True)
class Listed:
    """A sentence that has a report: its id and text, and the name of the report's file."""

    id: str
    text: str
    name: str


@dataclass(frozen=True)
class LinkView:
    """A line of the list: what the sentence is called, its text and the language of that, and where its report is."""

    id: str
    text: str
    lang: str
    url: str


def report_page(document: Document, name: str, t: Catalog) -> bytes:
    """Return the HTML report on one sentence, with the id that it has in its file, `name`, above the title."""
    view = report_view(document, t)
    named = t.text("each.eyebrow", eyebrow=view.eyebrow, id=display_label(short_text(name, ID_CHARACTERS)))
    return render_html(replace(view, eyebrow=named), t).encode()


def index_page(listed: Sequence[Listed], t: Catalog) -> bytes:
    """Return the page that lists the reports."""
    views = [
        LinkView(
            display_label(short_text(item.id, ID_CHARACTERS)),
            display_label(short_text(item.text, TEXT_CHARACTERS)),
            html_lang(guess_language(item.text)),
            quote(item.name),
        )
        for item in listed
    ]
    template = environment().get_template("each.html.j2")
    context = {"rows": views, "t": t, "version": __version__, "count": len(views)}
    font = subset_font(template.render(context, font=""), "woff", t.language)
    uri = f"data:{MIME['woff']};base64,{base64.b64encode(font).decode('ascii')}"
    return template.render(context, font=uri).encode()
