"""The files of a corpus beside each other: how alike heads rank, where they differ most, the roles in each."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from attnx.i18n import Catalog
from attnx.naming import head_name
from attnx.report.corpus.document import CorpusDocument
from attnx.report.corpus.heads import role_map
from attnx.report.corpus.roles import holders, scores_of, telling_roles
from attnx.report.corpus.spreads import statistic_name
from attnx.report.corpus.views import FilesView, PlainTable
from attnx.report.corpus.wording import file_name, head_scores, listed
from attnx.report.grids import HALF_EM, SHOWN
from attnx.report.views import RowView
from attnx.statistics import REGISTRY

PAIRS_SHOWN = 6  # columns of the table of correlations
FILES_SHOWN = 4
HEADS_NAMED = 3
HEADS_OF_ROLE = 3


def files_view(document: CorpusDocument, t: Catalog) -> FilesView | None:
    """Return the comparison of the files; None for a single file and for very many."""
    if len(document.groups) < 2:
        return None
    names = [file_name(document, index) for index in range(len(document.groups))]
    makers = (_correlations, _roles, _side_by_side, _differences)
    tables = [make(document, names, t) for make in makers]
    return FilesView(
        intro=t.text("corpus.files.intro", n=len(names)),
        tables=tuple(table for table in tables if table.rows),
        roles=tuple(
            role_map(group, t.text("corpus.files.map", name=name, n=group.sentences), t, room=HALF_EM)
            for group, name in list(zip(document.groups, names, strict=True))[:FILES_SHOWN]
        ),
    )


def _correlations(document: CorpusDocument, names: list[str], t: Catalog) -> PlainTable:
    """Return Spearman's correlation and the overlap of the top heads, a row a statistic, a column a pair of files."""
    pairs = list(combinations(range(len(names)), 2))[:PAIRS_SHOWN]
    rows = []
    for name, scope in SHOWN:
        comparison = document.comparisons[scope]
        place = comparison.names.index(name)
        cells = []
        for first, second in pairs:
            rho, overlap = (float(m[place, first, second]) for m in (comparison.correlation, comparison.overlap))
            if np.isnan(rho):
                cells.append(t.text("table.undefined"))
            elif np.isnan(overlap):
                cells.append(t.decimal(rho, 2))
            else:
                common = round(overlap * comparison.top)
                cells.append(t.text("corpus.files.agreement", rho=rho, common=common, top=comparison.top))
        rows.append(RowView(statistic_name(name, scope, t), tuple(cells)))
    columns = [t.text("corpus.files.pair", first=names[first], second=names[second]) for first, second in pairs]
    return PlainTable(t.text("corpus.files.correlations"), (t.text("corpus.spreads.statistic"), *columns), tuple(rows))


def _roles(document: CorpusDocument, names: list[str], t: Catalog) -> PlainTable:
    """Return, for each role, how many heads have it in each file, and which have it in all."""
    rows = []
    for role in telling_roles(document.whole):
        has = [holders(group, role) for group in document.groups]
        everywhere = np.argwhere(np.all(has, axis=0))
        counts = [t.decimal(int(which.sum()), 0) for which in has[:FILES_SHOWN]]
        heads = listed([(int(layer), int(head)) for layer, head in everywhere], HEADS_NAMED, t)
        rows.append(
            RowView(
                t.text(f"corpus.roles.{role.name}.name"),
                (*counts, t.decimal(len(everywhere), 0), heads or t.text("table.undefined")),
            )
        )
    columns = (
        t.text("corpus.files.role"),
        *names[:FILES_SHOWN],
        t.text("corpus.files.everywhere"),
        t.text("corpus.files.which"),
    )
    return PlainTable(t.text("corpus.files.roles"), columns, tuple(rows))


def _side_by_side(document: CorpusDocument, names: list[str], t: Catalog) -> PlainTable:
    """Return the heads with the clearest roles over all files, with their scores in each file."""
    rows = []
    for role in telling_roles(document.whole):
        means = scores_of(document.whole, role.scope, role.statistic).mean
        best = np.argsort(np.where(np.isnan(means), np.inf, -means), axis=None, kind="stable")[:HEADS_OF_ROLE]
        scores = [scores_of(group, role.scope, role.statistic) for group in document.groups[:FILES_SHOWN]]
        for flat in best.tolist():
            head = divmod(flat, means.shape[1])
            cells = tuple(head_scores(one, head, REGISTRY[role.statistic].unit, t) for one in scores)
            rows.append(RowView(t.text(f"corpus.roles.{role.name}.name"), (head_name(*head), *cells)))
    columns = (t.text("corpus.files.role"), t.text("table.head"), *names[:FILES_SHOWN])
    return PlainTable(t.text("corpus.files.side_by_side"), columns, tuple(rows))


def _differences(document: CorpusDocument, names: list[str], t: Catalog) -> PlainTable:
    """Return the head whose means differ most between the files, for each statistic, side by side."""
    columns = (t.text("corpus.spreads.statistic"), t.text("table.head"), *names[:FILES_SHOWN])
    return PlainTable(t.text("corpus.files.differences"), columns, tuple(_difference_rows(document, t)))


def _difference_rows(document: CorpusDocument, t: Catalog) -> Iterator[RowView]:
    for name, scope in SHOWN:
        scores = [scores_of(group, scope, name) for group in document.groups[:FILES_SHOWN]]
        gaps = np.ptp([one.mean for one in scores], axis=0)
        if not np.isfinite(gaps).any():
            continue
        head = divmod(int(np.nanargmax(gaps)), gaps.shape[1])
        cells = tuple(head_scores(one, head, REGISTRY[name].unit, t) for one in scores)
        yield RowView(statistic_name(name, scope, t), (head_name(*head), *cells))
