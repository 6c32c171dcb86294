"""Render the views with the Jinja templates: one self-contained page, for the screen or as source of the PDF."""

import base64
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from attnx.i18n import Catalog
from attnx.report.fonts import Flavor, subset_font
from attnx.report.typography import formula_html
from attnx.report.views import FramedView
from attnx.resources import resource_dir

MIME = {"woff": "font/woff", "otf": "font/otf"}


@cache
def environment() -> Environment:
    """Return the template environment: everything is escaped, a missing name is an error."""
    templates = Environment(
        loader=FileSystemLoader(resource_dir("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["formula"] = formula_html
    return templates


def render_html(view: FramedView, t: Catalog, *, paged: bool = False, folder: str = "sections") -> str:
    """Return the report as HTML; `paged` gives the form that becomes a PDF, `folder` holds the templates of its kind.

    The body comes first: its characters are those that the font in the head must hold.
    """
    context = {"report": view, "t": t, "paged": paged, "folder": folder}
    body = environment().get_template(f"{folder}/body.html.j2").render(context)
    flavor: Flavor = "otf" if paged else "woff"
    font = subset_font(body + view.title, flavor, t.language)
    uri = f"data:{MIME[flavor]};base64,{base64.b64encode(font).decode('ascii')}"
    return environment().get_template("report.html.j2").render(context, body=body, font=uri)
