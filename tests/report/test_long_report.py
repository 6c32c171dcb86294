"""Reports of long texts: what is left out of them, that they say so, and how large they get."""

import base64
import io
import json
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pikepdf
import pytest
from PIL import Image

from attnx.analysis import analyze
from attnx.encoders.encoder import Encoder
from attnx.i18n import languages, load_catalog
from attnx.report.build import report_view
from attnx.report.document import Document
from attnx.report.figures import heatmap_png, levels_png
from attnx.report.output import render
from attnx.texts.sentence import read_sentence

MakeDocument = Callable[..., Document]
BOUND = 8e6  # bytes of an HTML report of 512 tokens and 144 heads


def pixels(png: bytes) -> Image.Image:
    return Image.open(io.BytesIO(png)).convert("L")


def pictures(uris: str) -> list[Image.Image]:
    """The heatmaps of a page, in its order."""
    return [pixels(base64.b64decode(data)) for data in re.findall(r'<img src="data:image/png;base64,([^"]+)"', uris)]


@pytest.fixture(scope="module")
def long(make_document: MakeDocument) -> Document:
    return make_document("我爱北京" * 150)


@pytest.fixture(scope="module")
def short(make_document: MakeDocument) -> Document:
    return make_document("我爱北京" * 50)


@pytest.mark.parametrize(("tokens", "side"), [(7, 7), (256, 256), (257, 129), (512, 256), (513, 171)])
def test_heatmap_has_at_most_256_points_a_side(tokens: int, side: int) -> None:
    weights = np.zeros((tokens, tokens), np.uint8)
    assert pixels(heatmap_png(weights, 1.0)).size == pixels(levels_png(weights, 1.0)).size == (side, side)


def test_thin_line_stays_a_line() -> None:
    """One row and one column among 301: the points that hold them are as dark as they are, the others white."""
    weights = np.zeros((301, 301), np.uint8)
    weights[77] = weights[:, 300] = 255
    shown = np.asarray(pixels(levels_png(weights, 1.0)))
    expected = np.zeros((151, 151), np.uint8)
    expected[38] = expected[:, 150] = 63
    np.testing.assert_array_equal(shown, expected)


@pytest.mark.parametrize("language", languages())
def test_report_says_that_points_are_blocks(long: Document, short: Document, language: str) -> None:
    t = load_catalog(language)
    (sentence,) = report_view(long, t).sentences
    assert sentence.head_notes == (t.text("heads.pooled", block=2),)
    assert "2 × 2" in sentence.head_notes[0]
    assert report_view(short, t).sentences[0].head_notes == ()


def test_example_quotes_the_weight_before_it_is_pooled(long: Document) -> None:
    """The largest weight between two different tokens of the text, up to 90 percent, of all heads."""
    (sentence,) = long.sentences
    (view,) = report_view(long, load_catalog("en")).sentences
    maps = sentence.maps[:, :, 1:-1, 1:-1].copy()
    maps[..., range(maps.shape[-1]), range(maps.shape[-1])] = 0
    largest = maps[maps <= 0.9 * 255].max() / 255
    assert f"gives {largest:.0%} of its attention" in " ".join(view.example.lines)


def test_pdf_of_a_long_text_says_that_maps_are_not_attached(long: Document, short: Document) -> None:
    t = load_catalog("en")
    for document, attached in ((long, False), (short, True)):
        with pikepdf.open(io.BytesIO(render(document, ".pdf", t))) as pdf:
            twin = json.loads(pdf.attachments["report.json"].get_file().read_bytes())
        (sentence,) = twin["sentences"]
        assert (sentence["maps"] is not None) == attached
        assert sentence["scopes"]["all"]["sink"]
        said = t.text("limits.attachment", limit=256) in report_view(document, t, paged=True).limits
        assert said != attached
    assert t.text("limits.attachment", limit=256) not in report_view(long, t).limits


def test_html_of_512_tokens_stays_within_its_bound(encoder: Encoder) -> None:
    text = " ".join(["In the morning the old boat creaks at the pier; Мама мыла раму. 王者荣耀怎么玩？"] * 40)
    document = analyze([read_sentence(text)], encoder)
    assert len(document.sentences[0].tokens) == 512
    page = render(document, ".html", load_catalog("en"))
    assert len(page) < BOUND
    heatmaps = [picture for picture in pictures(page.decode()) if picture.size == (256, 256)]
    assert len(heatmaps) == 144 + 1  # and the example


def test_what_a_report_quotes_is_bounded(make_document: MakeDocument) -> None:
    """A command with a whole text in it, a token without end, a thousand characters without a glyph."""
    command = f"attnx report '{'а' * 6000}' --long windows -o report.pdf"
    document = make_document("Мама мыла раму", command=command)
    (sentence,) = document.sentences
    tokens = tuple(replace(token, text="ы" * 5000 if i == 2 else token.text) for i, token in enumerate(sentence.tokens))
    hangul = "".join(map(chr, range(0xAC00, 0xAC00 + 1000)))
    changed = replace(sentence, tokens=tokens, text=f"{sentence.text} {hangul}")
    t = load_catalog("en")
    view = report_view(replace(document, sentences=(changed,)), t)
    (shown,) = (fact.value for fact in view.provenance if fact.label == t.text("provenance.command"))
    assert len(shown) == 300
    assert shown.startswith("attnx report 'ааа")
    assert shown.endswith("ааа' --long windows -o report.pdf")
    assert len(view.sentences[0].tokens[2].label) == 60
    (notice,) = view.notices
    assert "U+AC00, U+AC01" in notice
    assert notice.count("U+") == 40
    assert notice.endswith(", ….")
