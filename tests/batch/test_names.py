"""Names of reports made from ids that come from anywhere (SEC-3)."""

from pathlib import PureWindowsPath

from hypothesis import given
from hypothesis import strategies as st

from attnx.batch.each import report_name
from attnx.batch.folder import EACH_NAME
from attnx.corpus.records import CorpusRow

HOSTILE = (
    "../escape",
    "/tmp/abs",
    "a/b",
    "CON",
    "nul.txt",
    "дом",
    "Дом",
    "长" * 100,
    "..",
    ".",
    "",
    " ",
    "a:b",
    "x\u202e",
)


def row(number: int, id_: str) -> CorpusRow:
    return CorpusRow(number, id_, "text", "f.csv", number + 2)


def check(names: list[str]) -> None:
    assert len({name.casefold() for name in names}) == len(names)
    for name in names:
        assert len(name.encode()) <= 255
        assert all(character.isalnum() or character in "._-" for character in name), name
        assert not PureWindowsPath(name).is_reserved() and EACH_NAME.fullmatch(name)
        assert name[0].isdigit() and name.endswith(".html")


def test_hostile_ids_become_plain_names() -> None:
    names = [report_name(row(number, id_)) for number, id_ in enumerate(HOSTILE)]
    check(names)
    assert names[0] == "000000-escape.html" and names[3] == "000003-CON.html" and names[8] == "000008.html"


@given(st.lists(st.text(max_size=300), min_size=1, max_size=10))
def test_any_ids_become_plain_and_distinct_names(ids: list[str]) -> None:
    check([report_name(row(number, id_)) for number, id_ in enumerate(ids)])
