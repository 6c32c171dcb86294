"""From the document to the views of one sentence: its tokens, findings, maps, heatmaps and numbers."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict

import numpy as np

from attnx.encoders.records import ModelInfo, Token
from attnx.i18n import Catalog, html_lang
from attnx.naming import head_name, layer_name
from attnx.report.comparison import comparison_view
from attnx.report.document import Document, SentenceReport
from attnx.report.figures import block_size, data_uri, heatmap_png, label_frame, levels_png, overview_png
from attnx.report.fonts import display_label
from attnx.report.grids import FIGURE_SPACE, grids, number
from attnx.report.model_notes import layer_title
from attnx.report.presentation import A4, PLAIN, SENTENCE_PARTS, Paper, Presentation
from attnx.report.typography import cut_middle, short_text
from attnx.report.views import (
    ExampleView,
    FindingView,
    FrameView,
    HeadView,
    LayerView,
    OverviewView,
    RowView,
    ScaleView,
    SentenceView,
    TableView,
    TokenView,
)
from attnx.report.wording import LABEL_CHARACTERS, rule, statement, token_text
from attnx.statistics import REGISTRY
from attnx.statistics.scores import HeadScores
from attnx.texts.labels import SPACE_LABEL

SHORT_TEXT = 12  # tokens; below, what chance gives is large enough to mislead
SHORT_CAUSAL_TEXT = 48  # the same for a model in which the first tokens see few others
SCALE_QUANTILE = 0.995  # of all weights; the few above it share the darkest color
SCALE_STEP = 0.05
CLEAR_SHARE = 0.9
HEADING_CHARACTERS = 120
MOST_SPACE = 0.95  # between all heads of a row on paper, in widths of a head
BYTE = 255


def sentence_view(
    document: Document, index: int, t: Catalog, *, paged: bool, presentation: Presentation = PLAIN
) -> SentenceView:
    """Return the views of sentence `index` (from 0), `paged` for the PDF."""
    sentence = document.sentences[index]
    model = document.model
    top = scale_top(sentence)
    total = model.layers * model.heads
    return SentenceView(
        heading=display_label(short_text(sentence.text, HEADING_CHARACTERS)),
        lang=html_lang(sentence.language),
        token_intro=_token_intro(sentence, t),
        token_notes=tuple(_token_notes(sentence, model, t)),
        tokens=tuple(
            TokenView(i, token_text(token.text), token.special) for i, token in enumerate(sentence.tokens, start=1)
        ),
        findings=tuple(FindingView(statement(finding, t), rule(finding, t)) for finding in sentence.findings),
        finding_notes=tuple(_finding_notes(sentence, t)),
        frame=frame_view(sentence.tokens, presentation.paper),
        scale=_scale(sentence, top, t),
        example=_example(sentence, top, t, paged=paged),
        grids=grids({scope: scores.values for scope, scores in sentence.scopes.items()}, t),
        overview=OverviewView(
            t.text("overview.title", n=total),
            tuple(f"H{head + 1}" for head in range(model.heads)),
            tuple(layer_name(layer) for layer in range(model.layers)),
            data_uri(overview_png(sentence.maps, top)),
            t.text("overview.alt", n=total, layers=model.layers, heads=model.heads),
        ),
        heads_title=t.text("heads.title"),
        head_notes=tuple(_head_notes(sentence, t)),
        layers=tuple(_layers(document, index, top, t, paged=paged, presentation=presentation)),
        comparison=comparison_view(sentence, sentence.baseline, t) if sentence.baseline else None,
        tables=tuple(_table(scores, t) for scores in sentence.scopes.values()),
        parts=tuple(
            part for part in SENTENCE_PARTS if presentation.has(part) and (part != "baseline" or sentence.baseline)
        ),
    )


def _layers(
    document: Document, index: int, top: float, t: Catalog, *, paged: bool, presentation: Presentation
) -> Iterator[LayerView]:
    """Yield every layer any of whose heads is drawn."""
    sentence, model = document.sentences[index], document.model
    for layer in range(model.layers):
        heads = [
            _head(sentence, layer, head, top, t, paged=paged, anchor=f"s{index + 1}-L{layer + 1}H{head + 1}")
            for head in range(model.heads)
            if presentation.draws(layer, head)
        ]
        if heads:
            row = presentation.paper.row
            rows = tuple(tuple(heads[start : start + row]) for start in range(0, len(heads), row))
            yield LayerView(layer_title(model, layer, t), rows)


def scale_top(sentence: SentenceReport) -> float:
    """Return the weight that takes the darkest color: nearly the largest of the sentence, rounded up to 5 percent."""
    # A layer at a time, since numpy counts in a copy of eight bytes a weight.
    counts = np.sum([np.bincount(layer.ravel(), minlength=BYTE + 1) for layer in sentence.maps], axis=0)
    top = int(np.searchsorted(np.cumsum(counts), SCALE_QUANTILE * counts.sum())) / BYTE
    return min(1.0, max(SCALE_STEP, math.ceil(top / SCALE_STEP) * SCALE_STEP))


def token_label(sentence: SentenceReport, position: int) -> str:
    """Return the label of the token at a position, as it can be drawn."""
    return token_text(sentence.tokens[position].text)


def _distinct_label(sentence: SentenceReport, position: int, t: Catalog) -> str:
    """Return the label of a token, with its number where the sentence has several of that label."""
    label = token_label(sentence, position)
    repeated = [token.text for token in sentence.tokens].count(sentence.tokens[position].text) > 1
    return t.text("tokens.numbered", label=label, number=position + 1) if repeated else label


def _token_intro(sentence: SentenceReport, t: Catalog) -> str:
    special = sum(token.special for token in sentence.tokens)
    if sentence.windows:
        return t.text("tokens.intro_windows", special=special, **asdict(sentence.windows))
    return t.text("tokens.intro", n=len(sentence.tokens), special=special)


def _finding_notes(sentence: SentenceReport, t: Catalog) -> Iterator[str]:
    if sentence.windows:
        yield t.text("findings.windows", **asdict(sentence.windows))


def _head_notes(sentence: SentenceReport, t: Catalog) -> Iterator[str]:
    if sentence.windows:
        yield t.text("heads.windows", **asdict(sentence.windows))
    block = block_size(len(sentence.tokens))
    if block > 1:
        yield t.text("heads.pooled", block=block)


def _token_notes(sentence: SentenceReport, model: ModelInfo, t: Catalog) -> Iterator[str]:
    labels = [token.text for token in sentence.tokens]
    if any(token.special for token in sentence.tokens):
        yield t.text("tokens.special")
    if SPACE_LABEL in labels:
        yield t.text("tokens.space_piece")
    spans = [(token.start, token.end) for token in sentence.tokens if not token.special and token.text != SPACE_LABEL]
    if len(set(spans)) < len(spans):
        yield t.text("tokens.parts")
    unknown = sum(token.unknown for token in sentence.tokens)
    if unknown:
        yield t.text("tokens.unknown", n=unknown)
    if model.causal and len(labels) < SHORT_CAUSAL_TEXT:
        yield t.text("tokens.short_causal", uniform=sum(1 / i for i in range(1, len(labels) + 1)) / len(labels))
    elif len(labels) < SHORT_TEXT:
        yield t.text("tokens.short", uniform=1 / len(labels))


def frame_view(tokens: Sequence[Token], paper: Paper = A4) -> FrameView:
    """Return the labels that surround the heatmaps of a sentence."""
    return labels_frame([token.text for token in tokens], paper)


def labels_frame(labels: Sequence[str], paper: Paper = A4) -> FrameView:
    """Return the labels that surround a heatmap of so many tokens."""
    frame = label_frame([cut_middle(label, LABEL_CHARACTERS) for label in labels])
    width = 1 + frame.row_width
    wide = min(paper.head, paper.height * width / (1 + frame.column_height))
    # Less than fits: CSS lays the frames of a row out, as many as there is space for.
    gap = min(paper.width - paper.row * wide, MOST_SPACE * wide) / (paper.row - 1)
    return FrameView(
        image=data_uri(frame.png),
        top=f"{frame.column_height / width:.5f}",
        left=f"{frame.row_width / width:.5f}",
        paper=f"{wide:.3f}mm",
        gap=f"{gap:.3f}mm",
        numbered=frame.numbered,
    )


def _scale(sentence: SentenceReport, top: float, t: Catalog) -> ScaleView:
    low, high = t.percent(0), t.percent(top)
    if sentence.maps.max() > round(top * BYTE):
        high = f"≥ {high}"
    return ScaleView(low, high, t.text("reading.scale_alt", low=low, high=high))


def _head(
    sentence: SentenceReport, layer: int, head: int, top: float, t: Catalog, *, paged: bool, anchor: str = ""
) -> HeadView:
    weights = sentence.maps[layer, head]
    query, key = np.unravel_index(int(weights.argmax()), weights.shape)
    own = float(sentence.scopes["all"].values["self_share"][layer, head])
    entropy = float(sentence.scopes["all"].values["normalized_entropy"][layer, head])
    message = "heads.facts_undefined" if math.isnan(entropy) else "heads.facts"
    name = head_name(layer, head)
    return HeadView(
        caption=f"{name} {t.text(message, own=own, entropy=entropy)}",
        image=data_uri(levels_png(weights, top) if paged else heatmap_png(weights, top)),
        alt=t.text(
            "heads.alt",
            head=name,
            share=weights[query, key] / BYTE,
            query=token_label(sentence, int(query)),
            target=token_label(sentence, int(key)),
        ),
        anchor=anchor,
    )


def _example(sentence: SentenceReport, top: float, t: Catalog, *, paged: bool) -> ExampleView:
    """Explain the heatmap whose strongest weight between two different tokens of the text is largest."""
    special = np.array([token.special for token in sentence.tokens])
    hidden = special[:, None] | special[None, :] | np.eye(len(special), dtype=bool)
    if hidden.all():  # a text of one token: any cell will do
        hidden = np.zeros_like(hidden)
    # Above 90 percent there would be nothing left to say about the rest of the row.
    shown = sentence.maps.astype(np.int16)
    np.subtract(shown, BYTE + 1, out=shown, where=hidden | (sentence.maps > CLEAR_SHARE * BYTE))
    layer, head, query, key = (int(i) for i in np.unravel_index(int(shown.argmax()), shown.shape))
    share = float(sentence.maps[layer, head, query, key] / BYTE)
    values = {
        "head": head_name(layer, head),
        "query": _distinct_label(sentence, query, t),
        "target": _distinct_label(sentence, key, t),
        "share": share,
        "rest": 1 - share,
    }
    lines = tuple(t.text(f"reading.{name}", **values) for name in ("row", "cell", "sums", "columns"))
    return ExampleView(_head(sentence, layer, head, top, t, paged=paged), lines)


def _table(scores: HeadScores, t: Catalog) -> TableView:
    names = [name for name in REGISTRY if name in scores.values and np.isfinite(scores.values[name]).any()]
    columns = [[number(float(v), REGISTRY[name].unit, t) for v in scores.values[name].ravel()] for name in names]
    columns = [[text.rjust(max(map(len, column)), FIGURE_SPACE) for text in column] for column in columns]
    layers, heads = scores.skipped_rows.shape
    cells = list(zip(*columns, strict=True)) or [()] * (layers * heads)
    rows = [RowView(head_name(*divmod(i, heads)), row) for i, row in enumerate(cells)]
    return TableView(
        caption=t.text("table.caption", scope=t.text(f"scopes.{scores.scope}")),
        columns=tuple(t.text(f"statistics.{name}.short") for name in names),
        layers=tuple(tuple(rows[layer * heads : (layer + 1) * heads]) for layer in range(layers)),
    )
