"""All heads of a corpus: their roles as a map and as a table, and their numbers."""

from collections.abc import Iterator

import numpy as np

from attnx.i18n import Catalog
from attnx.naming import head_name, layer_name
from attnx.report.corpus.document import CorpusDocument, Group
from attnx.report.corpus.figures import quadrant_colors
from attnx.report.corpus.roles import holders, scores_of, sink_class, telling_roles
from attnx.report.corpus.views import LegendView, RoleMapView
from attnx.report.corpus.wording import amount, head_scores
from attnx.report.figures import data_uri, palette_png
from attnx.report.grids import FIGURE_SPACE, HALF_EM, SHOWN, WHOLE_EM, Cell
from attnx.report.views import RowView, TableView
from attnx.statistics import REGISTRY
from attnx.statistics.accumulators.quadrants import QUADRANTS
from attnx.statistics.roles import Role

# In em of the signs' type size: a cell at most, a sign, and the room around the signs of a cell.
CELL_EM, SIGN_EM, MARGIN_EM = 5.4, 1.0, 0.6
ROLE_GAP = "   "


def role_map(group: Group, title: str, t: Catalog, *, room: float = WHOLE_EM) -> RoleMapView:
    """Return the map of all heads: signs for their roles, on the color of what they follow, at most `room` em wide."""
    has = {role: holders(group, role) for role in telling_roles(group)}
    layers, heads = group.quadrants.index.shape
    signs = [
        ["".join(role.sign for role, which in has.items() if which[layer, head]) for head in range(heads)]
        for layer in range(layers)
    ]
    colors = np.where(group.quadrants.index < 0, len(QUADRANTS), group.quadrants.index)
    cell = min(CELL_EM, room / heads)
    # Signs that are wider than a cell would push the next ones to the wrong place.
    scale = min(1.0, cell / max(MARGIN_EM + len(text) * SIGN_EM for row in signs for text in row))
    return RoleMapView(
        title=title,
        heads=tuple(f"H{head + 1}" for head in range(heads)),
        layers=tuple(layer_name(layer) for layer in range(layers)),
        rows=tuple(
            tuple(Cell(text, f"q{color}") for text, color in zip(texts, row, strict=True))
            for texts, row in zip(signs, colors.tolist(), strict=True)
        ),
        image=data_uri(palette_png(colors, quadrant_colors(QUADRANTS))),
        alt=t.text("corpus.heads.alt", layers=layers, heads=heads),
        cell=f"{cell / scale:.3f}em",
        width=f"{cell * heads / scale:.3f}em",
        scale=f"{scale:.3f}em",
        wide=cell * heads > HALF_EM,
    )


def legend(group: Group, t: Catalog) -> Iterator[LegendView]:
    """Yield what the signs mean and, where it is known what heads follow, the colors; how many heads have each."""
    for role in telling_roles(group):
        count = int(holders(group, role).sum())
        yield LegendView(role.sign, "", t.text("corpus.heads.sign", name=_role_name(role, t), n=count))
    if not (group.quadrants.index >= 0).any():
        return
    for index, name in enumerate(QUADRANTS):
        count = int((group.quadrants.index == index).sum())
        words = t.text("corpus.heads.sign", name=t.text(f"corpus.follows.{name}.name"), n=count)
        yield LegendView("", f"q{index}", words)


def role_table(group: Group, t: Catalog) -> TableView:
    """Return the table of roles: what each head follows and from what that was decided, its roles with their scores."""
    quadrants = group.quadrants
    has = {role: (holders(group, role), scores_of(group, role.scope, role.statistic)) for role in telling_roles(group)}
    layers, heads = quadrants.index.shape

    def row(layer: int, head: int) -> RowView:
        at = layer, head
        index = int(quadrants.index[at])
        words = [
            t.text(
                "corpus.heads.role",
                sign=role.sign,
                value=head_scores(scores, at, REGISTRY[role.statistic].unit, t),
                name=t.text(f"corpus.sinks.{sink_class(group, *at)}") if role.name == "sink" else _role_name(role, t),
            )
            for role, (which, scores) in has.items()
            if which[at]
        ]
        return RowView(
            head_name(*at),
            (
                t.text(f"corpus.follows.{QUADRANTS[index]}.name") if index >= 0 else t.text("table.undefined"),
                amount(float(quadrants.peakedness[at]), "number", t),
                amount(float(quadrants.variability[at]), "number", t),
                amount(float(quadrants.sink[at]), "number", t),
                ROLE_GAP.join(words),
            ),
        )

    columns = ("follows", "peakedness", quadrants.measure, "sink", "roles")
    return TableView(
        caption=t.text("corpus.heads.caption"),
        columns=tuple(t.text(f"corpus.heads.columns.{name}") for name in columns),
        layers=tuple(tuple(row(layer, head) for head in range(heads)) for layer in range(layers)),
    )


def number_table(document: CorpusDocument, t: Catalog) -> TableView:
    """Return the table of the main statistics of all heads: macro mean and half the width of its interval."""
    group = document.whole
    shown = [
        (name, scores) for name, scope in SHOWN if np.isfinite((scores := scores_of(group, scope, name)).mean).any()
    ]
    layers, heads = group.quadrants.index.shape
    columns = [
        [head_scores(scores, divmod(i, heads), REGISTRY[name].unit, t) for i in range(layers * heads)]
        for name, scores in shown
    ]
    columns = [[text.rjust(max(map(len, column)), FIGURE_SPACE) for text in column] for column in columns]
    cells = list(zip(*columns, strict=True)) or [()] * (layers * heads)
    rows = [RowView(head_name(*divmod(i, heads)), row) for i, row in enumerate(cells)]
    return TableView(
        caption=t.text("corpus.table.caption"),
        columns=tuple(t.text(f"statistics.{name}.short") for name, _ in shown),
        layers=tuple(tuple(rows[layer * heads : (layer + 1) * heads]) for layer in range(layers)),
    )


def _role_name(role: Role, t: Catalog) -> str:
    return t.text(f"corpus.roles.{role.name}.name")
