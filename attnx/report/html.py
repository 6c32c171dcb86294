"""Render the views with the Jinja templates: one self-contained page, for the screen or as source of the PDF."""

import base64
from functools import cache
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined, TemplateError, TemplateSyntaxError
from jinja2.sandbox import SandboxedEnvironment

from attnx.encoders.folder import first_line
from attnx.errors import InputError
from attnx.i18n import Catalog
from attnx.report.fonts import Flavor, display_label, subset_font
from attnx.report.presentation import PLAIN, Presentation
from attnx.report.typography import formula_html
from attnx.report.views import FramedView
from attnx.resources import resource_dir

MIME = {"woff": "font/woff", "otf": "font/otf"}


@cache
def environment(folder: Path | None = None) -> Environment:
    """Return the template environment: everything is escaped, a missing name is an error.

    Templates in a user's `folder` stand in for those of the same names; they run in Jinja's sandbox, which lets them
    see what the report shows and nothing else.
    """
    own = FileSystemLoader(resource_dir("templates"))
    templates = (SandboxedEnvironment if folder else Environment)(
        loader=ChoiceLoader([FileSystemLoader(folder), own]) if folder else own,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["formula"] = formula_html
    return templates


def render_html(
    view: FramedView, t: Catalog, presentation: Presentation = PLAIN, *, paged: bool = False, folder: str = "sections"
) -> str:
    """Return the report as HTML; `paged` gives the form that becomes a PDF, `folder` holds the templates of its kind.

    The body comes first: its characters are those that the font in the head must hold. Raises InputError for a
    user's template that cannot be rendered.
    """
    cover = {name: display_label(getattr(presentation, name)) for name in ("title", "author")}
    cover["note"] = "\n".join(map(display_label, presentation.note.splitlines()))
    context = {"report": view, "t": t, "paged": paged, "folder": folder, "cover": cover, "paper": presentation.paper}
    templates = environment(presentation.templates)
    try:
        body = templates.get_template(f"{folder}/body.html.j2").render(context)
        flavor: Flavor = "otf" if paged else "woff"
        font = subset_font(body + view.title + "".join(cover.values()), flavor, t.language)
        uri = f"data:{MIME[flavor]};base64,{base64.b64encode(font).decode('ascii')}"
        return templates.get_template("report.html.j2").render(context, body=body, font=uri)
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        if presentation.templates is None:
            raise
        raise InputError("template_broken", path=presentation.templates, reason=_where(error)) from error


def _where(error: Exception) -> str:
    """Return what is wrong with a template, and in which line of which where that is known."""
    place = f"{error.name or ''}:{error.lineno}: " if isinstance(error, TemplateSyntaxError) else ""
    return f"{place}{first_line(error)}"
