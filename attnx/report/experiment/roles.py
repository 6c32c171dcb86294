"""Heads as points with the signs of their roles, which black ink and color-blind readers tell apart too."""

import numpy as np

from attnx.experiments.records import Points
from attnx.i18n import Catalog
from attnx.report.colors import Rgb, css, oklab_to_rgb
from attnx.report.corpus.figures import MUTED
from attnx.report.corpus.figures import Points as Dots
from attnx.statistics.roles import ROLES

# Dark enough to be read on white as text is.
LIGHTNESS, CHROMA = 0.5, 0.085
NO_SIGN = "○"


def role_series(exhibit: Points, t: Catalog) -> tuple[list[Dots], list[tuple[str, str]]]:
    """Return the points of each role that any head has, those of none first, and a color and a text for each."""
    given = np.array(exhibit.roles, dtype=object)
    series, legend = [], []
    for name, sign, color, text in _kinds(t):
        has = given == name
        if has.any():
            series.append(Dots(exhibit.x[has], exhibit.y[has], color, sign=sign))
            legend.append((css(color), f"{sign} {text} ({t.decimal(int(has.sum()), 0)})"))
    return series, legend


def _kinds(t: Catalog) -> list[tuple[str, str, Rgb, str]]:
    """Return name, sign, color and text of no role and of each role."""
    kinds = [("", NO_SIGN, MUTED, t.text("experiments.no_role"))]
    for i, role in enumerate(ROLES):
        angle = 2 * np.pi * i / len(ROLES)
        color = oklab_to_rgb(LIGHTNESS, CHROMA * float(np.cos(angle)), CHROMA * float(np.sin(angle)))
        kinds.append((role.name, role.sign, color, t.text(f"corpus.roles.{role.name}.name")))
    return kinds
