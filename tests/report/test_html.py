import base64
import math
import re
import subprocess
import sys
from collections.abc import Mapping
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
import numpy as np
import pytest
from fontTools.ttLib import TTFont
from PIL import Image

from attnx.i18n import load_catalog
from attnx.report.colors import SEQUENTIAL
from attnx.report.document import Document, to_json
from attnx.report.fonts import INKLESS
from attnx.report.html import render_html
from attnx.report.views import ReportView

with_language = pytest.mark.parametrize("language", ["zh", "ru", "en"])
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


def parsed(page: str) -> Element:
    """Parse a page; a parse error of HTML is an exception."""
    root: Element = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)
    return root


@pytest.fixture(scope="session")
def roots(pages: Mapping[str, str]) -> Mapping[str, Element]:
    return {language: parsed(page) for language, page in pages.items()}


def text_of(node: Element) -> str:
    """Return the visible text below a node."""
    return "".join(node.itertext())


def style_of(root: Element) -> str:
    return "".join(style.text or "" for style in root.iter("style"))


def picture(uri: str) -> Image.Image:
    return Image.open(BytesIO(base64.b64decode(uri.removeprefix("data:image/png;base64,"))))


def expected_colors(document: Document) -> Any:
    """Return the RGB of every weight, ``[layers, heads, query, key, 3]``, by the rule that the report states."""
    maps = document.sentences[0].maps
    weights = np.sort(maps.ravel())
    nearly_largest = weights[math.ceil(0.995 * weights.size) - 1] / 255
    top = min(1.0, max(0.05, math.ceil(nearly_largest * 20 - 1e-9) / 20))
    levels = np.rint(np.minimum(maps / 255 / top, 1) * (len(SEQUENTIAL) - 1)).astype(int)
    return np.array(SEQUENTIAL, np.uint8)[levels]


@with_language
def test_head_says_what_the_page_is(roots: Mapping[str, Element], pages: Mapping[str, str], language: str) -> None:
    root = roots[language]
    assert b'<meta charset="utf-8">' in pages[language].encode()[:1024]
    assert root.get("lang") == {"zh": "zh-Hans", "ru": "ru", "en": "en"}[language]
    title = root.findtext("head/title")
    assert (
        title
        == {
            "zh": "注意力头：王者荣耀怎么玩？新手应该先选哪个英雄呢？",
            "ru": "Головы внимания: Мама мыла раму, а папа читал газету днём.",
            "en": "Attention heads: The quick brown fox jumps over the lazy dog again.",
        }[language]
    )
    policies = [m.get("content") for m in root.iter("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1
    assert "default-src 'none'" in str(policies[0])
    assert "script-src" not in str(policies[0])


@with_language
def test_nothing_comes_from_elsewhere(roots: Mapping[str, Element], language: str) -> None:
    root = roots[language]
    assert {e.tag for e in root.iter()} & {
        "script",
        "link",
        "iframe",
        "object",
        "embed",
        "form",
        "svg",
        "base",
    } == set()
    for element in root.iter():
        for name, value in element.attrib.items():
            assert not name.startswith("on")
            if name in {"src", "href", "srcset", "poster", "background", "action", "data"}:
                assert value.startswith(("data:", "#")), value[:80]
            if name == "style":
                assert "url(" not in value
    css = style_of(root)
    assert "@import" not in css
    assert all(uri.startswith("data:") for uri in re.findall(r"""url\(\s*["']?([^)]{0,40})""", css))


@with_language
def test_links_lead_somewhere_and_ids_are_unique(roots: Mapping[str, Element], language: str) -> None:
    ids = [element.get("id") for element in roots[language].iter() if element.get("id")]
    links = [str(a.get("href")).removeprefix("#") for a in roots[language].iter("a")]
    assert len(ids) == len(set(ids))
    assert len(links) == 10
    assert set(links) <= set(ids)
    assert {f"s1-L{layer}H{head}" for layer in range(1, 13) for head in range(1, 13)} <= set(ids)


@with_language
def test_headings_are_in_order(roots: Mapping[str, Element], language: str) -> None:
    levels = [HEADINGS.index(element.tag) + 1 for element in roots[language].iter() if element.tag in HEADINGS]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@with_language
def test_pictures_have_words(roots: Mapping[str, Element], language: str) -> None:
    alts = [image.get("alt") for image in roots[language].iter("img")]
    assert len(alts) > 144
    assert all(alts)


@with_language
def test_144_heads_take_at_most_300_kb(
    pages: Mapping[str, str], documents: Mapping[str, Document], language: str
) -> None:
    assert documents[language].sentences[0].maps.shape == (12, 12, 16, 16)
    assert len(pages[language].encode()) <= 300_000


@with_language
def test_heatmaps_show_the_weights(
    roots: Mapping[str, Element], documents: Mapping[str, Document], language: str
) -> None:
    expected = expected_colors(documents[language])
    figures = {element.get("id"): element for element in roots[language].iter("figure")}
    for layer in range(12):
        for head in range(12):
            image = figures[f"s1-L{layer + 1}H{head + 1}"].find("img")
            assert image is not None
            pixels = np.asarray(picture(image.attrib["src"]).convert("RGB"))
            np.testing.assert_array_equal(pixels, expected[layer, head])


@with_language
def test_grid_numbers_are_the_scores(
    roots: Mapping[str, Element], documents: Mapping[str, Document], language: str
) -> None:
    grid = next(table for table in roots[language].iter("table") if table.get("class") == "grid")
    shown = [[int(text_of(cell)) for cell in row.iter("td")] for row in list(grid.iter("tr"))[1:]]
    scores = documents[language].sentences[0].scopes["content"].values["self_share"]
    np.testing.assert_allclose(shown, 100 * scores, atol=0.5001)


@with_language
def test_font_holds_every_character(
    roots: Mapping[str, Element], views: Mapping[str, ReportView], language: str
) -> None:
    root = roots[language]
    css = style_of(root)
    uris = re.findall(r'@font-face[^}]*url\("data:font/woff;base64,([^"]*)"\)', css)
    assert len(uris) == 1
    with TTFont(BytesIO(base64.b64decode(uris[0]))) as font:
        cmap = font.getBestCmap()
        glyphs = font["CFF "].cff.topDictIndex[0].CharStrings
        blank = {chr(code) for code, name in cmap.items() if glyphs[name].calcBounds(None) is None}
    body = root.find("body")
    assert body is not None
    generated = "".join(re.findall(r'content:\s*"([^"\\]*)"', css))
    shown = {c for c in text_of(body) + generated if not INKLESS.match(c)}
    assert len(shown) > 80
    assert {c for c in shown if ord(c) not in cmap} == set()
    assert shown & blank == set()


@with_language
def test_only_the_inlined_typeface_is_asked_for(roots: Mapping[str, Element], language: str) -> None:
    families = re.findall(r"font-family:\s*([^;}]+)", style_of(roots[language]))
    families += re.findall(r"font:[^;}]*?(?:/[\d.]+)?\s([\w\"][^;}]*)[;}]", style_of(roots[language]))
    assert families
    assert all(family.strip().strip('"').startswith(("attnx", "inherit")) for family in families), families


@with_language
def test_findings_are_read_in_words(
    roots: Mapping[str, Element], views: Mapping[str, ReportView], language: str
) -> None:
    text = text_of(roots[language])
    for finding in views[language].sentences[0].findings:
        assert finding.statement in text
    assert load_catalog(language).text("findings.caveat") in text


def test_same_file_in_any_process(small: Document, tmp_path: Path) -> None:
    """HTML and PDF are the same bytes, whatever order Python's sets have."""
    (tmp_path / "saved.json").write_text(to_json(small), encoding="utf-8")
    running = []
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "attnx", "render", "saved.json", "-o", f"{seed}.html", "-o", f"{seed}.pdf"]
        environment = {
            "PATH": "/usr/bin:/bin",
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": ":".join(p for p in sys.path if p),
        }
        running.append(subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL))
    assert [process.wait(timeout=120) for process in running] == [0, 0]
    assert (tmp_path / "1.html").read_bytes() == (tmp_path / "2.html").read_bytes()
    assert (tmp_path / "1.pdf").read_bytes() == (tmp_path / "2.pdf").read_bytes()


@with_language
def test_same_bytes_twice(pages: Mapping[str, str], views: Mapping[str, ReportView], language: str) -> None:
    assert render_html(views[language], load_catalog(language)) == pages[language]
