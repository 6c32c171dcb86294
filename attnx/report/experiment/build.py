"""From the document of an experiment to its view in one language."""

from collections.abc import Iterator
from datetime import datetime
from itertools import count

from attnx.experiments.records import Result, Table, Words
from attnx.i18n import Catalog, html_lang
from attnx.report.build import definitions, facts, making_facts, model_facts, model_name, uncovered
from attnx.report.experiment.document import ExperimentDocument
from attnx.report.experiment.exhibits import Speaker, exhibit_view
from attnx.report.experiment.views import ExperimentView
from attnx.report.figures import data_uri, scale_bar_png
from attnx.report.fonts import display_label
from attnx.report.grids import color_classes
from attnx.report.model_notes import model_notes
from attnx.report.typography import cut_middle
from attnx.report.views import DefinitionView, EntryView, FactView
from attnx.statistics import REGISTRY

PARTS = ("claim", "verdict", "procedure", "exhibits", "definitions", "limits", "provenance")
SHARED = ("definitions", "limits", "provenance")
TEXT_CHARACTERS = 300
HEADING_CHARACTERS = 80


def experiment_view(document: ExperimentDocument, t: Catalog) -> ExperimentView:
    """Return everything the templates show of an experiment in the language of the catalog `t`."""
    speaker = Speaker(document.experiment, t, count(1))
    title = _message(document, "title", t)
    verdict, defined = verdict_lines(document, t), tuple(_definitions(document.result, t))
    hidden = len(document.texts) < document.count
    return ExperimentView(
        title=title,
        eyebrow=t.text("experiments.eyebrow"),
        heading=title,
        heading_lang="",
        subtitle=_subtitle(document, t),
        summary=" ".join(verdict),
        keywords=t.text("report.keywords"),
        footer=t.text("report.footer", model=model_name(document.model, t), version=document.provenance.attnx),
        version=document.provenance.attnx,
        created=document.provenance.created,
        notices=tuple(_notices(document, t)),
        highlights=(),
        contents=tuple(EntryView(part, _title(part, t)) for part in PARTS if defined or part != "definitions"),
        bar=data_uri(scale_bar_png()),
        classes=color_classes(),
        definitions=defined,
        limits=tuple(t.text(f"limits.{key}") for key in ("length", "specials", "tokens")),
        provenance=tuple(_provenance(document, t)),
        claim=_lines(_message(document, "claim", t)),
        procedure=_lines(_message(document, "procedure", t)),
        verdict=verdict,
        notes=tuple(_notes(document, t)),
        texts=tuple(
            (cut_middle(display_label(x.text), TEXT_CHARACTERS), html_lang(x.language)) for x in document.texts
        ),
        more=t.text("experiments.more", n=document.count - len(document.texts)) if hidden else "",
        exhibits=tuple(exhibit_view(exhibit, speaker) for exhibit in document.result.exhibits),
    )


def verdict_lines(document: ExperimentDocument, t: Catalog) -> tuple[str, ...]:
    """Return the answer in words: whether the claim holds here, then its numbers."""
    result = document.result
    answer = t.text(f"experiments.verdicts.{result.verdict}")
    return (answer, *_lines(t.text(f"experiments.{document.experiment}.verdict", **result.numbers)))


def _message(document: ExperimentDocument, part: str, t: Catalog) -> str:
    return t.text(f"experiments.{document.experiment}.{part}")


def _notes(document: ExperimentDocument, t: Catalog) -> Iterator[str]:
    for note in document.result.notes:
        yield t.text(f"experiments.{document.experiment}.notes.{note.key}", **note.values)


def _definitions(result: Result, t: Catalog) -> Iterator[DefinitionView]:
    """Yield the definitions of the statistics that a table of the result names."""
    tables = [exhibit for exhibit in result.exhibits if isinstance(exhibit, Table)]
    labels = [label for table in tables for label in (*table.columns, *(row.label for row in table.rows))]
    named = {label.key for label in labels if isinstance(label, Words)}
    yield from (view for name, view in zip(REGISTRY, definitions(t), strict=True) if name in named)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.strip().split("\n"))


def _title(part: str, t: Catalog) -> str:
    return t.text(f"{part}.title" if part in SHARED else f"experiments.{part}")


def _subtitle(document: ExperimentDocument, t: Catalog) -> str:
    model = document.model
    return t.text(
        "experiments.subtitle",
        model=model_name(model, t),
        layers=model.layers,
        heads=model.heads,
        total=model.layers * model.heads,
        texts=t.text("experiments.texts", n=document.count),
        date=t.date(datetime.fromisoformat(document.provenance.created)),
    )


def _notices(document: ExperimentDocument, t: Catalog) -> Iterator[str]:
    yield from model_notes(document.model, t)
    shown = (*(text.text for text in document.texts), document.model.name, document.provenance.command)
    yield from uncovered("".join(shown), t)


def _provenance(document: ExperimentDocument, t: Catalog) -> Iterator[FactView]:
    settings = {key: str(value) for key, value in document.settings.items() if value is not None}
    yield from facts(model_facts(document.model, t) | settings | making_facts(document.provenance, t), t)
