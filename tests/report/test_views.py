import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from attnx.i18n import load_catalog
from attnx.report.build import model_name, notices, report_view
from attnx.report.document import Document
from attnx.report.grids import number
from attnx.report.html import render_html
from attnx.report.sentence import scale_top
from attnx.report.typography import formula_html, short_text
from attnx.report.views import ReportView

MakeDocument = Callable[..., Document]
ENTROPY_UNITS = {"zh": "熵以纳特为单位", "ru": "энтропия в натах", "en": "entropy in nats"}
with_language = pytest.mark.parametrize("language", ["zh", "ru", "en"])


def with_maps(document: Document, maps: np.ndarray) -> Document:
    (sentence,) = document.sentences
    return replace(document, sentences=(replace(sentence, maps=maps.astype(np.uint8)),))


@with_language
def test_heads_are_counted_from_one(views: Mapping[str, ReportView], language: str) -> None:
    sentence = views[language].sentences[0]
    names = [head.caption.split()[0] for layer in sentence.layers for row in layer.rows for head in row]
    assert names == [f"L{layer}·H{head}" for layer in range(1, 13) for head in range(1, 13)]
    assert [len(row) for row in sentence.layers[0].rows] == [3, 3, 3, 3]
    assert [token.number for token in sentence.tokens] == list(range(1, 17))


@with_language
def test_numbers_of_a_head(views: Mapping[str, ReportView], documents: Mapping[str, Document], language: str) -> None:
    """The facts beside L3·H7, and the words for its heatmap, are its scores and its largest weight."""
    sentence = documents[language].sentences[0]
    head = views[language].sentences[0].layers[2].rows[2][0]
    own = round(100 * sentence.scopes["all"].values["self_share"][2, 6])
    assert head.caption.startswith("L3·H7 ")
    assert str(own) in head.caption
    weights = sentence.maps[2, 6]
    query, key = np.unravel_index(weights.argmax(), weights.shape)
    assert str(round(100 * int(weights[query, key]) / 255)) in head.alt
    assert all(sentence.tokens[int(i)].text.replace("▁", "␣") in head.alt for i in (query, key))


@with_language
def test_table_holds_every_head_and_statistic(views: Mapping[str, ReportView], language: str) -> None:
    tables = views[language].sentences[0].tables
    assert len(tables) == 2
    for table in tables:
        rows = [row for layer in table.layers for row in layer]
        assert len(rows) == 144
        assert all(len(row.cells) == len(table.columns) for row in rows)
        assert len(set(table.columns)) == len(table.columns)
        assert ENTROPY_UNITS[language] in table.caption
    assert len(tables[0].columns) >= 16


@pytest.mark.parametrize(("weight", "top"), [(0, 0.05), (13, 0.1), (128, 0.55), (255, 1.0)])
def test_scale_ends_at_the_next_five_percent(small: Document, weight: int, top: float) -> None:
    document = with_maps(small, np.full(small.sentences[0].maps.shape, weight))
    assert scale_top(document.sentences[0]) == pytest.approx(top)


def test_scale_says_that_a_few_weights_are_larger(make_document: MakeDocument) -> None:
    document = make_document("Мама мыла раму и пела", layers=4, heads=4)
    maps = np.full(document.sentences[0].maps.shape, 20)
    maps[0, 0, 0, 0] = 255
    scale = report_view(with_maps(document, maps), load_catalog("en")).sentences[0].scale
    assert (scale.low, scale.high) == ("0%", "≥ 10%")


def test_several_texts_make_one_report(make_document: MakeDocument) -> None:
    document = make_document("Мама мыла раму", "The cat sat on the mat", "我爱北京")
    t = load_catalog("ru")
    view = report_view(document, t)
    assert view.many
    assert view.title == view.heading == t.text("report.heading_many", n=3)
    assert [sentence.lang for sentence in view.sentences] == ["ru", "en", "zh-Hans"]
    assert [entry.anchor for entry in view.contents[:3]] == ["s1", "s2", "s3"]
    page = render_html(view, t)
    assert 'lang="zh-Hans">我爱北京</h1>' in page
    assert len(re.findall(r'id="?s2-L1H1[">]', page)) == 1


def test_cut_text_is_said_everywhere(small: Document) -> None:
    sentence = replace(small.sentences[0], truncated_from=600)
    document = replace(small, sentences=(sentence,))
    kept = len(sentence.tokens)
    t = load_catalog("en")
    assert list(notices(document, t)) == [t.text("notices.truncated", total=600, kept=kept)]
    view = report_view(document, t)
    assert f"600 → {kept}" in {fact.label: fact.value for fact in view.provenance}[t.text("provenance.truncation")]
    assert t.text("limits.truncated", kept=kept) in view.limits
    assert t.text("notices.truncated", total=600, kept=kept) in render_html(view, t)


def test_report_made_from_python_names_no_command(make_document: MakeDocument) -> None:
    t = load_catalog("en")
    labels = [fact.label for fact in report_view(make_document("a b c", command=""), t).provenance]
    assert t.text("provenance.command") not in labels
    assert len(labels) == 11


def test_weights_of_four_bits_are_named(documents: Mapping[str, Document]) -> None:
    assert model_name(documents["en"].model, load_catalog("en")) == "intfloat/multilingual-e5-small (4-bit weights)"


@pytest.mark.parametrize("text", ["a", "。", "1", "我"])
def test_shortest_texts_render(make_document: MakeDocument, text: str) -> None:
    for language in ("zh", "ru", "en"):
        t = load_catalog(language)
        page = render_html(report_view(make_document(text, layers=1, heads=1), t), t)
        assert f">{text}</h1>" in page
        assert not re.search(r"\bnan\b", page, re.IGNORECASE)


@pytest.mark.parametrize(
    ("value", "unit", "signed", "text"),
    [
        (0.125, "share", False, "12"),
        (0.995, "share", False, "100"),
        (float("nan"), "share", False, "–"),
        (1.25, "tokens", True, "+1,2"),
        (-1.25, "tokens", True, "−1,2"),
        (-0.04, "tokens", True, "0,0"),
        (0.04, "tokens", True, "0,0"),
        (0.5, "nats", False, "0,50"),
    ],
)
def test_number(value: float, unit: str, signed: bool, text: str) -> None:
    assert number(value, unit, load_catalog("ru"), signed=signed) == text


def test_formula() -> None:
    assert formula_html("Σ_j p_{ij} (j − i)^2 < x") == "Σ<sub>j</sub> p<sub>ij</sub> (j − i)<sup>2</sup> &lt; x"


@pytest.mark.parametrize(
    ("text", "short"),
    [("a  b\nc", "a b c"), ("abcdef", "abcdef"), ("abcdefg", "abcde…"), ("abcd efg", "abcd…"), (" \t", "")],
)
def test_short_text(text: str, short: str) -> None:
    assert short_text(text, 6) == short
