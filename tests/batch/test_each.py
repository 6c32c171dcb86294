"""A report on every sentence (SEC-3): inside the folder, under its own name, with its true id in it, and listed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import html5lib
import pytest

from attnx.i18n import load_catalog
from attnx.report.each import Listed, index_page
from tests.batch.runs import said, some_sentences, write_lines

Cli = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("without_pages")
CORPORA = Path(__file__).parents[1] / "data/corpora"
IDS = ("../escape", "/tmp/abs", "a/b", "CON", "дом", "Дом", "长" * 100)


def parse(page: bytes) -> Any:
    return html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)


def links(page: bytes) -> list[tuple[str, str, str]]:
    """Every line of the list: id, text, and the file that the link leads to."""
    rows = parse(page).findall(".//tr")
    return [
        (row.findtext("th"), row.findtext("td/a"), unquote(row.find("td/a").get("href")))
        for row in rows
        if row.find("td/a") is not None
    ]


def test_ids_that_are_paths_stay_inside_and_are_shown_as_they_are(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    around = {*tmp_path.iterdir(), Path("/tmp/abs.html"), Path("/tmp/abs")}
    path = CORPORA / "f17_ids.csv"
    result = cli("batch", path, "--id-column", "id", "--each", "-m", tiny, "-o", "work/out", "-l", "en")
    assert result.exit_code == 0, result.stderr
    assert {*tmp_path.iterdir()} | {Path("/tmp/abs.html"), Path("/tmp/abs")} == around
    assert not Path("/tmp/abs.html").exists() and [p.name for p in work.iterdir()] == ["out"]
    each = work / "out/each"
    names = sorted(p.name for p in each.iterdir() if p.name != "index.html")
    assert len(names) == 7 and len({name.casefold() for name in names}) == 7
    assert all(len(name.encode()) <= 255 for name in names)
    listed = links((each / "index.html").read_bytes())
    assert [(id_, text) for id_, text, _ in listed] == list(
        zip(IDS, ("one", "two", "three", "four", "five", "six", "seven"), strict=True)
    )
    assert sorted(name for *_, name in listed) == names
    for id_, text, name in listed:
        page = parse((each / name).read_bytes())
        assert "".join(page.find(".//p[@class='eyebrow']").itertext()).endswith(id_)
        assert "".join(page.find(".//h1").itertext()).strip() == text


def test_a_sentence_that_cannot_be_measured_has_no_report(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.txt", ["мама мыла", "\u200b", "the cat"])
    assert cli("batch", "a.txt", "--each", "-m", tiny, "-o", "out").exit_code == 1
    listed = links((tmp_path / "out/each/index.html").read_bytes())
    assert [(id_, name) for id_, _, name in listed] == [
        ("a.txt:1", "000000-a-txt-1.html"),
        ("a.txt:3", "000002-a-txt-3.html"),
    ]
    languages = [parse((tmp_path / "out/each" / name).read_bytes()).get("lang") for *_, name in listed]
    assert languages == ["ru", "en"]  # each in the language of its text


def test_too_many_sentences_are_refused_before_anything_is_measured(cli: Cli, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.txt", some_sentences(1001))
    result = cli("batch", "a.txt", "--each", "-o", "out")
    assert result.exit_code == 2 and "1,000" in said(result)
    assert not (tmp_path / "out").exists()


def test_a_sample_of_many_sentences_is_few_enough(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.txt", some_sentences(1001))
    assert cli("batch", "a.txt", "--each", "--sample", "2", "-m", tiny, "-o", "out").exit_code == 0
    assert len(list((tmp_path / "out/each").iterdir())) == 3


@pytest.mark.parametrize("language", ["zh", "ru", "en"])
def test_markup_in_ids_and_texts_stays_text(language: str) -> None:
    hostile = ("<script>alert(1)</script>", '"><img src=x>', "{{ 7*7 }}", "a\u202eb")
    page = index_page([Listed(text, text, f"{n}.html") for n, text in enumerate(hostile)], load_catalog(language))
    tree = parse(page)
    assert tree.get("lang") == load_catalog(language).html_lang
    assert tree.findall(".//script") == tree.findall(".//img") == []
    assert [id_ for id_, *_ in links(page)][:3] == list(hostile[:3])
