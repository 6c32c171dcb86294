"""What a reader may choose of a report's looks."""

import json
import subprocess
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import lxml.html
import pikepdf
import pytest
from click.testing import CliRunner, Result

from attnx.cli import attnx

TEXT = "王者荣耀怎么玩"
HOSTILE = '</title><script>alert(1)</script>" onload="x {{ 7*7 }}'
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("presentation") / "report.json"
    assert CliRunner().invoke(attnx, ["report", TEXT, "-o", str(path)]).exit_code == 0
    return path


@pytest.fixture
def render(saved: Path, tmp_path: Path) -> Run:
    def run(suffix: str, *options: str) -> Result:
        return CliRunner().invoke(attnx, ["render", str(saved), "-o", str(tmp_path / f"out{suffix}"), *options])

    return run


def test_the_cover_has_what_is_given(render: Run, tmp_path: Path) -> None:
    assert render(".html", "--title", HOSTILE, "--author", "李雷 & co", "--note", "first\nsecond").exit_code == 0
    root = lxml.html.fromstring((tmp_path / "out.html").read_bytes())
    assert root.findtext(".//title") == HOSTILE and root.findtext(".//h1") == HOSTILE
    [author] = [meta.get("content") for meta in root.iter("meta") if meta.get("name") == "author"]
    assert author == "李雷 & co" == root.find_class("author")[0].text_content()
    assert root.find_class("cover-note")[0].text_content() == "first\nsecond"
    assert TEXT in root.find_class("heading")[0].text_content()  # the sentence does not go


def test_only_the_chosen_parts_and_heads(render: Run, tmp_path: Path) -> None:
    assert render(".html", "--sections", "heads, limits", "--heads", "3.7,5.1,5.2").exit_code == 0
    root = lxml.html.fromstring((tmp_path / "out.html").read_bytes())
    assert [section.get("id") for section in root.iter("section") if section.get("id") != "explorer"] == [
        "heads-1",
        "limits",
    ]
    assert [figure.get("id") for figure in root.find_class("heads")[0].iter("figure")] == [
        "s1-L3H7",
        "s1-L5H1",
        "s1-L5H2",
    ]
    links = [link.get("href") for link in root.find(".//nav").iter("a")]
    assert links == ["#heads-1", "#limits"]


@pytest.mark.parametrize(
    ("options", "size"),
    [((), (595, 842)), (("--landscape",), (842, 595)), (("--paper", "letter"), (612, 792))],
)
def test_paper(render: Run, tmp_path: Path, options: tuple[str, ...], size: tuple[int, int]) -> None:
    assert render(".pdf", *options, "--title", "T", "--author", "A").exit_code == 0
    with pikepdf.open(BytesIO((tmp_path / "out.pdf").read_bytes())) as pdf:
        _, _, width, height = pdf.pages[0].mediabox
        assert (round(float(width)), round(float(height))) == size
        assert str(pdf.docinfo["/Title"]) == "T" and str(pdf.docinfo["/Author"]) == "A"
        assert len(pdf.pages) >= 20
    # All heads of a layer are on one page.
    text = subprocess.run(["pdftotext", tmp_path / "out.pdf", "-"], capture_output=True, check=True).stdout.decode()
    pages = [page for page in text.split("\f") if "L12·H1 " in page]
    assert any(all(f"L12·H{head} " in page for head in range(1, 13)) for page in pages)


def test_a_template_of_ones_own(render: Run, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    (folder / "sections").mkdir(parents=True)
    part = folder / "sections" / "limits.html.j2"
    part.write_text("<h2>Mine</h2><p>{{ report.title }}</p>", encoding="utf-8")
    assert render(".html", "--template", str(folder)).exit_code == 0
    page = lxml.html.fromstring((tmp_path / "out.html").read_bytes())
    assert page.get_element_by_id("limits").findtext("h2") == "Mine"
    assert page.get_element_by_id("definitions").findtext("h2") != "Mine"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{% for %}", "limits.html.j2:1"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ t.text.__globals__ }}", "unsafe"),
        ("{% include '../../etc/passwd' %}", "etc/passwd"),
        ("{% for i in range(1000000000) %}x{% endfor %}", "Range too big"),
        ("{{ nothing }}", "nothing"),
    ],
)
def test_a_template_that_cannot_be_rendered_is_one_line(
    render: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, said: str
) -> None:
    monkeypatch.setenv("LANG", "en")
    folder = tmp_path / "own"
    (folder / "sections").mkdir(parents=True)
    (folder / "sections" / "limits.html.j2").write_text(source, encoding="utf-8")
    result = render(".html", "--template", str(folder))
    assert result.exit_code == 2 and said in result.stderr and len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "out.html").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [(("--sections", "heads,nonsense"), "nonsense"), (("--heads", "13.1"), "13.1"), (("--heads", "x"), "x")],
)
def test_what_there_is_not_is_refused(render: Run, options: tuple[str, ...], said: str) -> None:
    result = render(".html", *options)
    assert result.exit_code == 2 and said in result.stderr


def test_parts_are_of_reports_on_sentences(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = CliRunner().invoke(attnx, ["compare", "the cat sat", "the dog sat", "-o", "compare.json"])
    assert ran.exit_code == 0 and json.loads(Path("compare.json").read_text())["kind"] == "experiment"
    result = CliRunner().invoke(attnx, ["render", "compare.json", "--heads", "1.1"])
    assert result.exit_code == 2 and "--heads" in result.stderr
