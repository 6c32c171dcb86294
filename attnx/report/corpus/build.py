"""From the document of a corpus to its view in one language: the frame around the sections."""

from collections.abc import Iterator
from datetime import datetime

from attnx.i18n import Catalog
from attnx.report.build import definitions, facts, making_facts, model_facts, model_name, uncovered
from attnx.report.colors import css
from attnx.report.corpus.distances import depth_figure, distance_notes, matrices
from attnx.report.corpus.document import CorpusDocument
from attnx.report.corpus.evidence import follows, role_statement, role_views
from attnx.report.corpus.figures import quadrant_colors
from attnx.report.corpus.files import files_view
from attnx.report.corpus.findings import role_findings
from attnx.report.corpus.heads import legend, number_table, role_map, role_table
from attnx.report.corpus.maps import mean_map_views, mean_notes, scatter
from attnx.report.corpus.roles import means_of
from attnx.report.corpus.spreads import SPREAD_COLUMNS, length_table, spreads
from attnx.report.corpus.views import CorpusView
from attnx.report.corpus.wording import file_name
from attnx.report.figures import data_uri, scale_bar_png
from attnx.report.grids import color_classes, grids
from attnx.report.model_notes import model_notes
from attnx.report.views import EntryView, FactView
from attnx.statistics.accumulators.quadrants import QUADRANT_THRESHOLDS, QUADRANTS

HIGHLIGHTS = 3
NAMES_SHOWN = 3
FACT_FILES = 20
PARTS = ("roles", "heads", "maps", "means", "spreads", "distances", "files", "table")
CLOSING_PARTS = ("definitions", "limits", "provenance")
# Below these a mean says little, and no interval is given; variability needs the latter.
FEW_SENTENCES, FEW_TOKENS = 50, 12
MISSED = 0.05  # of 95 % intervals


def corpus_view(document: CorpusDocument, t: Catalog, *, paged: bool = False) -> CorpusView:
    """Return everything the templates show of a corpus in the language of the catalog `t`, `paged` for the PDF."""
    whole = document.whole
    shown = corpus_highlights(document, t)
    heading = t.text("corpus.title", n=whole.sentences)
    files = files_view(document, t)
    parts = tuple(part for part in PARTS if part != "files" or files)
    return CorpusView(
        title=heading,
        eyebrow=t.text("corpus.eyebrow"),
        heading=heading,
        heading_lang="",
        subtitle=_subtitle(document, t),
        summary=" ".join(shown),
        keywords=t.text("report.keywords"),
        footer=t.text("report.footer", model=model_name(document.model, t), version=document.provenance.attnx),
        version=document.provenance.attnx,
        created=document.provenance.created,
        notices=tuple(_notices(document, t)),
        highlights=shown,
        contents=tuple(EntryView(part, _title(part, t)) for part in (*parts, *CLOSING_PARTS)),
        bar=data_uri(scale_bar_png()),
        classes=(*color_classes(), *_quadrant_classes()),
        definitions=tuple(definitions(t)),
        limits=tuple(_limits(document, t)),
        provenance=tuple(_provenance(document, t)),
        parts=parts,
        roles=tuple(role_views(document, t)),
        follows=tuple(follows(document, t)),
        follows_rule=_follows_rule(document, t),
        role_map=role_map(whole, "", t),
        legend=tuple(legend(whole, t)),
        role_table=role_table(whole, t),
        grids=grids(means_of(whole), t),
        mean_maps=tuple(mean_map_views(document, t)),
        mean_notes=tuple(mean_notes(document, t)),
        scatter=scatter(document, t),
        spreads=tuple(spreads(document, t)),
        spread_columns=tuple(t.text(f"corpus.spreads.{name}") for name in SPREAD_COLUMNS),
        lengths=length_table(document, t),
        matrices=tuple(matrices(document, t)),
        depth=depth_figure(document, t),
        distance_notes=tuple(distance_notes(document, t)),
        files=files,
        numbers=number_table(document, t),
    )


def corpus_highlights(document: CorpusDocument, t: Catalog) -> tuple[str, ...]:
    """Return the roles that heads have in words, at most three."""
    found = [finding for finding in role_findings(document.whole) if finding.heads]
    return tuple(role_statement(document, finding, t) for finding in found[:HIGHLIGHTS])


def _title(part: str, t: Catalog) -> str:
    shared = {"definitions", "limits", "provenance", "maps"}
    return t.text(f"{part}.title") if part in shared else t.text(f"corpus.{part}.title")


def _subtitle(document: CorpusDocument, t: Catalog) -> str:
    model = document.model
    names = [file_name(document, index) for index in range(min(NAMES_SHOWN, len(document.files)))]
    return t.text(
        "corpus.subtitle",
        files=t.text("corpus.list_separator").join(names + ["…"] * (len(document.files) > NAMES_SHOWN)),
        model=model_name(model, t),
        layers=model.layers,
        heads=model.heads,
        total=model.layers * model.heads,
        tokens=t.text("report.tokens", n=document.whole.tokens),
        date=t.date(datetime.fromisoformat(document.provenance.created)),
    )


def _notices(document: CorpusDocument, t: Catalog) -> Iterator[str]:
    """Yield what a reader must know before the numbers."""
    whole = document.whole
    yield from model_notes(document.model, t)
    shortest = min((file.shortest for file in document.files if file.sentences), default=0)
    longest = max(file.longest for file in document.files)
    mean = whole.tokens / whole.sentences
    yield t.text("corpus.notices.lengths", shortest=shortest, longest=longest, mean=mean)
    if refused := sum(file.refused for file in document.files):
        yield t.text("corpus.notices.refused", n=refused)
    if cut := sum(file.cut for file in document.files):
        yield t.text("corpus.notices.cut", n=cut)
    if whole.sentences < FEW_SENTENCES:
        yield t.text("corpus.notices.small", n=whole.sentences)
    if mean < FEW_TOKENS:
        yield t.text("corpus.notices.short", uniform=1 / mean)
    shown = (*(e.text for e in document.examples), *(file.name for file in document.files), document.model.name)
    yield from uncovered("".join((*shown, document.provenance.command)), t)


def _follows_rule(document: CorpusDocument, t: Catalog) -> str:
    thresholds = QUADRANT_THRESHOLDS
    measure = document.whole.quadrants.measure
    return t.text(
        f"corpus.follows.rule_{measure}",
        peaked=thresholds.peakedness,
        varied=getattr(thresholds, measure),
        sink=thresholds.sink,
    )


def _limits(document: CorpusDocument, t: Catalog) -> Iterator[str]:
    total = document.model.layers * document.model.heads
    for key in ("macro", "length", "variability", "sample"):
        yield t.text(f"corpus.limits.{key}")
    yield t.text("corpus.limits.interval", n=total, missed=total * MISSED)
    for key in ("specials", "tokens", "rules"):
        yield t.text(f"limits.{key}")
    yield t.text("corpus.limits.chance", n=total)
    yield t.text("limits.rounding")
    if document.model.dtype == "q4_0":
        yield t.text("limits.quantized")


def _provenance(document: CorpusDocument, t: Catalog) -> Iterator[FactView]:
    settings = document.settings
    files = [
        t.text("provenance.file", name=file_name(document, index), n=file.sentences, refused=file.refused)
        for index, file in enumerate(document.files[:FACT_FILES])
    ]
    files += ["…"] * (len(document.files) > FACT_FILES)
    corpus = {
        "files": t.text("provenance.separator").join(files),
        "long": t.text(f"provenance.long_{settings.long}"),
        "limit": t.decimal(settings.limit, 0) if settings.limit else "",
        "sample": t.decimal(settings.sample, 0) if settings.sample else "",
        "seed": str(settings.seed),
    }
    yield from facts(model_facts(document.model, t) | corpus | making_facts(document.provenance, t), t)


def _quadrant_classes() -> Iterator[tuple[str, str]]:
    for index, rgb in enumerate(quadrant_colors(QUADRANTS)):
        yield f"q{index}", css(rgb)
