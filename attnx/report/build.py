"""From the document to the views of one language: what is said once, and the frame around the sentences."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime

import numpy as np

from attnx.encoders.records import ModelInfo
from attnx.i18n import Catalog
from attnx.report.document import Document, Provenance
from attnx.report.figures import HEATMAP_CELLS, block_size, data_uri, heatmap_png, scale_bar_png
from attnx.report.fonts import display_label, missing_characters
from attnx.report.grids import color_classes
from attnx.report.model_notes import model_notes
from attnx.report.presentation import CLOSING_PARTS, PLAIN, Presentation
from attnx.report.sentence import sentence_view
from attnx.report.typography import cut_middle, formula_html, short_text
from attnx.report.views import DefinitionView, EntryView, FactView, PatternView, ReportView, SentenceView
from attnx.report.wording import length_notices, statement
from attnx.statistics import REGISTRY
from attnx.texts.sentence import code_point

TITLE_CHARACTERS = 60
NAME_CHARACTERS = 120
FACT_CHARACTERS = 300  # of a command, which may quote a long text; the JSON holds all of it
CHARACTERS_LISTED = 40
HIGHLIGHTS = 3
PATTERN_SIZE = 6


def report_view(
    document: Document, t: Catalog, *, paged: bool = False, presentation: Presentation = PLAIN
) -> ReportView:
    """Return everything the templates show of `document` in the language of the catalog `t`, `paged` for the PDF."""
    sentences = tuple(
        sentence_view(document, index, t, paged=paged, presentation=presentation)
        for index in range(len(document.sentences))
    )
    first = document.sentences[0]
    many = len(sentences) > 1
    heading = t.text("report.heading_many", n=len(sentences)) if many else sentences[0].heading
    title = heading if many else t.text("report.title", text=display_label(short_text(first.text, TITLE_CHARACTERS)))
    shown = highlights(document, t)
    return ReportView(
        title=title,
        eyebrow=t.text("report.eyebrow"),
        heading=heading,
        heading_lang="" if many else sentences[0].lang,
        subtitle=_subtitle(document, t),
        summary=" ".join(shown),
        keywords=t.text("report.keywords"),
        footer=t.text("report.footer", model=model_name(document.model, t), version=document.provenance.attnx),
        version=document.provenance.attnx,
        created=document.provenance.created,
        many=many,
        notices=tuple(notices(document, t)),
        highlights=shown,
        contents=tuple(_contents(sentences, many, presentation, t)),
        closing=tuple(filter(presentation.has, CLOSING_PARTS)),
        sentences=sentences,
        patterns=tuple(_patterns(t)),
        bar=data_uri(scale_bar_png()),
        classes=color_classes(),
        definitions=tuple(definitions(t)),
        limits=tuple(_limits(document, t, paged=paged)),
        provenance=tuple(_provenance(document, t)),
    )


def highlights(document: Document, t: Catalog) -> tuple[str, ...]:
    """Return the strongest findings of the first sentence in words, at most three."""
    sentence = document.sentences[0]
    return tuple(statement(finding, t) for finding in sentence.findings[:HIGHLIGHTS])


def notices(document: Document, t: Catalog) -> Iterator[str]:
    """Yield what a reader must know before the numbers: of the model, of cut texts, of characters not drawn."""
    yield from model_notes(document.model, t)
    for sentence in document.sentences:
        yield from length_notices(sentence, t)
    shown = (*(sentence.text for sentence in document.sentences), document.model.name, document.provenance.command)
    yield from uncovered("".join(shown), t)


def uncovered(text: str, t: Catalog) -> Iterator[str]:
    """Yield which characters of a text the report's font cannot draw, if any."""
    missing = missing_characters(text)
    if missing:
        listed = [code_point(character) for character in missing[:CHARACTERS_LISTED]]
        rest = ["…"] if len(missing) > CHARACTERS_LISTED else []
        yield t.text("notices.uncovered", characters=", ".join(listed + rest))


def attaches_maps(document: Document) -> bool:
    """Tell whether the data attached to a PDF hold the maps: not where a text has more tokens than a heatmap points."""
    return all(block_size(len(sentence.tokens)) == 1 for sentence in document.sentences)


def model_name(model: ModelInfo, t: Catalog) -> str:
    """Return the model's name as the report gives it; the built-in one is named with its 4-bit weights."""
    name = cut_middle(display_label(model.name), NAME_CHARACTERS)
    return t.text("report.weights_q4_0", name=name) if model.dtype == "q4_0" else name


def _subtitle(document: Document, t: Catalog) -> str:
    model = document.model
    return t.text(
        "report.subtitle",
        model=model_name(model, t),
        layers=model.layers,
        heads=model.heads,
        total=model.layers * model.heads,
        tokens=t.text("report.tokens", n=sum(sentence.size for sentence in document.sentences)),
        date=t.date(datetime.fromisoformat(document.provenance.created)),
    )


def _contents(
    sentences: tuple[SentenceView, ...], many: bool, presentation: Presentation, t: Catalog
) -> Iterator[EntryView]:
    for index, sentence in enumerate(sentences, start=1):
        if many:
            yield EntryView(f"s{index}", sentence.heading)
            continue
        titles = {"overview": sentence.overview.title, "heads": sentence.heads_title}
        for part in sentence.parts:
            yield EntryView(f"{part}-{index}", titles.get(part) or t.text(f"{part}.title"))
    for part in filter(presentation.has, CLOSING_PARTS):
        yield EntryView(part, t.text(f"{part}.title"))


def _patterns(t: Catalog) -> Iterator[PatternView]:
    """Yield ideal maps of the shapes worth knowing."""
    size = PATTERN_SIZE
    column = np.zeros((size, size))
    column[:, 0] = 1
    ideal = {
        "diagonal": np.eye(size),
        "previous": np.eye(size, k=-1),
        "next": np.eye(size, k=1),
        "vertical": column,
        "broad": np.full((size, size), 1 / size),
    }
    for name, weights in ideal.items():
        image = data_uri(heatmap_png(np.rint(weights * 255).astype(np.uint8), 1.0))
        yield PatternView(t.text(f"patterns.{name}.name"), t.text(f"patterns.{name}.meaning"), image)


def definitions(t: Catalog) -> Iterator[DefinitionView]:
    """Yield every statistic with its formula and what it says."""
    for name, statistic in REGISTRY.items():
        text = {part: t.text(f"statistics.{name}.{part}") for part in ("name", "short", "definition")}
        yield DefinitionView(text["name"], text["short"], formula_html(statistic.formula), text["definition"])


def _limits(document: Document, t: Catalog, *, paged: bool) -> Iterator[str]:
    model = document.model
    for key in ("one_sentence", "length", "specials", "tokens", "rules"):
        yield t.text(f"limits.{key}")
    yield t.text("limits.chance", n=model.layers * model.heads)
    yield t.text("limits.rounding")
    if model.dtype == "q4_0":
        yield t.text("limits.quantized")
    for sentence in document.sentences:
        if sentence.truncated_from is not None:
            yield t.text("limits.truncated", kept=len(sentence.tokens))
        if sentence.windows:
            yield t.text("limits.windows")
        if skipped := int(sentence.scopes["content"].skipped_rows.sum()):
            yield t.text("limits.skipped", n=skipped)
    if paged and not attaches_maps(document):
        yield t.text("limits.attachment", limit=HEATMAP_CELLS)


def facts(values: Mapping[str, str], t: Catalog) -> Iterator[FactView]:
    """Yield the lines of the table that says where the numbers come from; an empty value has none."""
    for key, value in values.items():
        if value:
            yield FactView(t.text(f"provenance.{key}"), cut_middle(display_label(value), FACT_CHARACTERS))


def model_facts(model: ModelInfo, t: Catalog) -> dict[str, str]:
    """Return what is to be said of a model and of how it was run."""
    return {
        "model": model_name(model, t),
        "source": t.text(f"provenance.source_{model.source}"),
        "revision": model.revision or t.text("provenance.unknown"),
        "type": model.type,
        "size": t.text("provenance.size_value", layers=model.layers, heads=model.heads),
        "dtype": t.text("provenance.dtype_q4_0") if model.dtype == "q4_0" else model.dtype,
        "computation": t.text("provenance.computation_value", dtype=model.computed_in),
        "scope": t.text("provenance.scope_value"),
    }


def making_facts(made: Provenance, t: Catalog) -> dict[str, str]:
    """Return which programs made the numbers, how and when; the command is empty where it was done from Python."""
    versions = {"attnx": made.attnx, "Python": made.python, "torch": made.torch, "transformers": made.transformers}
    return {
        "versions": t.text("provenance.separator").join(f"{name} {version}" for name, version in versions.items()),
        "command": made.command,
        "created": made.created,
    }


def _provenance(document: Document, t: Catalog) -> Iterator[FactView]:
    cuts = [
        t.text("provenance.truncation_value", i=i, total=sentence.truncated_from, kept=len(sentence.tokens))
        for i, sentence in enumerate(document.sentences, start=1)
        if sentence.truncated_from is not None
    ]
    windows = [
        t.text("provenance.windows_value", i=i, **asdict(sentence.windows))
        for i, sentence in enumerate(document.sentences, start=1)
        if sentence.windows
    ]
    lengths = {
        "truncation": t.text("provenance.separator").join(cuts) or t.text("provenance.truncation_none"),
        "windows": t.text("provenance.separator").join(windows),
    }
    yield from facts(model_facts(document.model, t) | lengths | making_facts(document.provenance, t), t)
