"""Small type work: formulas, shortened text.

What a report shows is bounded: WeasyPrint's time for a paragraph grows with the square of its length.
"""

import re

from markupsafe import Markup, escape

SCRIPT = re.compile(r"([_^])(?:\{([^}]*)\}|(\w))")
TAGS = {"_": "sub", "^": "sup"}


def formula_html(formula: str) -> Markup:
    """Return a formula such as ``Σ_j p_{ij} (j − i)^2`` with its lowered and raised parts marked up."""

    def marked(match: re.Match[str]) -> str:
        tag = TAGS[match[1]]
        return f"<{tag}>{match[2] or match[3]}</{tag}>"

    return Markup(SCRIPT.sub(marked, str(escape(formula))))


def short_text(text: str, limit: int) -> str:
    """Return `text` on one line, cut to `limit` characters with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def cut_middle(text: str, limit: int) -> str:
    """Return `text` cut to `limit` characters with an ellipsis in the middle, since a command's end says much too."""
    if len(text) <= limit:
        return text
    end = limit // 3
    return f"{text[: limit - end - 1]}…{text[-end:]}"
