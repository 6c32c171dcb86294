import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pikepdf
import pytest
from PIL import Image

from attnx.i18n import load_catalog
from attnx.report.colors import SEQUENTIAL
from attnx.report.document import Document, to_json
from attnx.report.sentence import scale_top
from attnx.report.views import ReportView

with_language = pytest.mark.parametrize("language", ["zh", "ru", "en"])
LANGUAGE_TAGS = {"zh": "zh-Hans", "ru": "ru", "en": "en"}


@pytest.fixture(scope="session")
def files(pdfs: Mapping[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    folder = tmp_path_factory.mktemp("pdf")
    for language, content in pdfs.items():
        (folder / f"{language}.pdf").write_bytes(content)
    return {language: folder / f"{language}.pdf" for language in pdfs}


def tool(*command: str | Path) -> subprocess.CompletedProcess[str]:
    if not shutil.which(str(command[0])):
        pytest.skip(f"{command[0]} is not installed")
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)


def plain_text(path: Path) -> str:
    """Return the text of a PDF without white space, since lines may break anywhere."""
    return "".join(tool("pdftotext", path, "-").stdout.split())


def structure(pdf: pikepdf.Pdf) -> Iterator[pikepdf.Object]:
    """Yield every structure element."""
    waiting = [pdf.Root.StructTreeRoot]
    while waiting:
        node = waiting.pop()
        if isinstance(node, pikepdf.Array):
            waiting.extend(node)
        elif isinstance(node, pikepdf.Dictionary):
            if "/S" in node and node.get("/Type") != "/StructTreeRoot":
                yield node
            if "/K" in node:
                waiting.append(node.K)


def outline_titles(pdf: pikepdf.Pdf) -> list[str]:
    def titles(items: list[pikepdf.OutlineItem]) -> Iterator[str]:
        for item in items:
            yield item.title
            yield from titles(item.children)

    with pdf.open_outline() as outline:
        return list(titles(list(outline.root)))


@with_language
def test_tagged_and_described(pdfs: Mapping[str, bytes], views: Mapping[str, ReportView], language: str) -> None:
    with pikepdf.open(BytesIO(pdfs[language])) as pdf:
        assert pdf.Root.MarkInfo.Marked
        assert str(pdf.Root.Lang) == LANGUAGE_TAGS[language]
        assert pdf.Root.ViewerPreferences.DisplayDocTitle
        assert str(pdf.docinfo["/Title"]) == views[language].title
        assert str(pdf.docinfo["/Author"]).startswith("attnx ")
        assert str(pdf.docinfo["/CreationDate"]).startswith("D:20231114")
        with pdf.open_metadata() as metadata:
            assert metadata["pdfuaid:part"] == "1"
            assert views[language].title in str(metadata["dc:title"])


@with_language
def test_every_figure_has_words(pdfs: Mapping[str, bytes], language: str) -> None:
    with pikepdf.open(BytesIO(pdfs[language])) as pdf:
        figures = [node for node in structure(pdf) if node.S == "/Figure"]
        assert len(figures) > 144
        assert all(str(figure.get("/Alt", "")).strip() for figure in figures)


@with_language
def test_outline_has_sections_and_layers(
    pdfs: Mapping[str, bytes], views: Mapping[str, ReportView], language: str
) -> None:
    with pikepdf.open(BytesIO(pdfs[language])) as pdf:
        titles = outline_titles(pdf)
    assert {entry.title for entry in views[language].contents} <= set(titles)
    assert {load_catalog(language).text("heads.layer", layer=layer) for layer in range(1, 13)} <= set(titles)


@with_language
def test_the_twin_is_attached(pdfs: Mapping[str, bytes], documents: Mapping[str, Document], language: str) -> None:
    with pikepdf.open(BytesIO(pdfs[language])) as pdf:
        assert list(pdf.attachments) == ["report.json"]
        assert pdf.attachments["report.json"].get_file().read_bytes() == to_json(documents[language]).encode()


@with_language
def test_nothing_runs_or_leads_outside(pdfs: Mapping[str, bytes], language: str) -> None:
    with pikepdf.open(BytesIO(pdfs[language])) as pdf:
        actions = {str(o.S) for o in pdf.objects if isinstance(o, pikepdf.Dictionary) and o.get("/Type") == "/Action"}
        actions |= {str(a.A.S) for page in pdf.pages for a in page.get("/Annots", []) if "/A" in a}
        assert actions <= {"/GoTo"}
        assert not any("/JS" in o for o in pdf.objects if isinstance(o, pikepdf.Dictionary))
        assert "/OpenAction" not in pdf.Root
        assert "/JavaScript" not in pdf.Root.get("/Names", {})


@with_language
def test_144_heads_take_at_most_400_kb(pdfs: Mapping[str, bytes], language: str) -> None:
    assert len(pdfs[language]) <= 400_000


@with_language
def test_only_our_font_is_embedded(files: Mapping[str, Path], language: str) -> None:
    lines = tool("pdffonts", files[language]).stdout.splitlines()[2:]
    assert lines
    for line in lines:
        assert re.match(r"[A-Z]{6}\+attnx\s", line), line
        assert line.split()[-5:-2] == ["yes", "yes", "yes"], line  # embedded, subset, with Unicode


@with_language
def test_text_comes_back(
    files: Mapping[str, Path], documents: Mapping[str, Document], views: Mapping[str, ReportView], language: str
) -> None:
    text = plain_text(files[language])
    assert "".join(documents[language].sentences[0].text.split()) in text
    for finding in views[language].sentences[0].findings:
        assert "".join(finding.statement.split()) in text
    assert "L12·H12" in text


@with_language
def test_other_programs_have_no_complaint(files: Mapping[str, Path], language: str, tmp_path: Path) -> None:
    check = tool("qpdf", "--check", files[language])
    assert check.returncode == 0, check.stdout + check.stderr
    drawn = tool("pdftoppm", "-r", "20", files[language], tmp_path / "page")
    assert (drawn.returncode, drawn.stderr) == (0, "")
    pages = [np.asarray(Image.open(path).convert("L")) for path in sorted(tmp_path.glob("page*.ppm"))]
    assert len(pages) > 12
    assert all(page.min() < 200 for page in pages), "an empty page"


def drawn_images(pdf: pikepdf.Pdf) -> Iterator[pikepdf.Object]:
    """Yield the pictures in the order in which the pages draw them."""

    def walk(stream: Any, resources: Any) -> Iterator[pikepdf.Object]:
        for operands, operator in pikepdf.parse_content_stream(stream):
            if str(operator) == "Do":
                item = resources.XObject[operands[0]]
                if item.Subtype == "/Image":
                    yield item
                else:
                    yield from walk(item, item.get("/Resources", resources))

    for page in pdf.pages:
        yield from walk(page, page.Resources)


@with_language
def test_heatmaps_are_indexed_and_show_the_weights(
    pdfs: Mapping[str, bytes], documents: Mapping[str, Document], language: str
) -> None:
    sentence = documents[language].sentences[0]
    levels = np.rint(np.minimum(sentence.maps / 255 / scale_top(sentence), 1) * (len(SEQUENTIAL) - 1)).astype(int)
    expected = np.array(SEQUENTIAL, np.uint8)[levels].reshape(144, 16, 16, 3)
    with pikepdf.open(BytesIO(pdfs[language])) as pdf:
        heatmaps = [image for image in drawn_images(pdf) if (image.Width, image.Height) == (16, 16)]
        assert all(image.ColorSpace[0] == "/Indexed" for image in heatmaps)
        shown = [np.asarray(pikepdf.PdfImage(image).as_pil_image().convert("RGB")) for image in heatmaps]
    assert len(shown) == 145  # the example, then all
    for pixels, colors in zip(shown[1:], expected, strict=True):
        np.testing.assert_array_equal(pixels, colors)


LONG = {
    "zh": "王者荣耀怎么玩" * 43,
    "ru": "превысокомногорассмотрительствующий" * 3,
    "en": "https://example.org/" + "a1b2c3d4e5/" * 18,
}


@with_language
def test_long_words_stay_on_the_page(
    render_small: Callable[..., tuple[str, bytes]], language: str, tmp_path: Path
) -> None:
    text = LONG[language]
    path = tmp_path / "x.pdf"
    path.write_bytes(render_small(text, language=language, layers=1, heads=1)[1])
    boxes = tool("pdftotext", "-bbox", path, "-").stdout
    width = float(re.findall(r'<page width="([\d.]+)"', boxes)[0])
    lefts, rights = (
        [float(x) for x in re.findall(rf'<word [^>]*{side}="([-\d.]+)"', boxes)] for side in ("xMin", "xMax")
    )
    assert len(rights) > 100
    assert min(lefts) >= 0
    assert max(rights) <= width


EMOJI = "👨\u200d👩\u200d👧 семья 𠮷 क 123"


def test_characters_without_glyphs_are_named(render_small: Callable[..., tuple[str, bytes]], tmp_path: Path) -> None:
    """No box is drawn: the code points stand for what the font lacks, in both formats, and are listed."""
    page, content = render_small(EMOJI, language="ru")
    path = tmp_path / "x.pdf"
    path.write_bytes(content)
    text = plain_text(path)
    notice = "".join(
        load_catalog("ru").text("notices.uncovered", characters="U+1F468, U+1F469, U+1F467, U+20BB7, U+0915").split()
    )
    for shown in (text, "".join(page.split())):
        assert notice in shown
        assert "U+1F468…семьяU+20BB7U+0915123" in shown
        assert not any(character in shown for character in "👨👩👧𠮷क")
    fonts = tool("pdffonts", path).stdout.splitlines()[2:]
    assert [re.match(r"[A-Z]{6}\+(\w+)", line)[1] for line in fonts] == ["attnx"]  # type: ignore[index]
