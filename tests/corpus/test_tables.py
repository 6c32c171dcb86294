"""CSV and TSV: cells stay text, records of the wrong shape are named, nothing is shifted or swallowed."""

import csv
import io
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnx.corpus.reading import read_corpus
from attnx.corpus.records import BadRow, CorpusOptions, CorpusRow, EmptyRow
from attnx.errors import AttnxError, InputError


def test_a_byte_order_mark_is_no_part_of_the_first_column(case: Any, read: Any, texts: Any) -> None:
    assert texts(read(case("f03_bom.csv"))) == ["今天下雨了", "Сегодня дождь"]


def test_words_for_nothing_are_text_and_an_empty_cell_is_none(case: Any, read: Any, texts: Any) -> None:
    items = read(case("f05_na_words.csv"), id_column="id")
    assert texts(items) == ["NA", "null", "None", "nan", "ok"]
    assert items[4] == EmptyRow(str(case("f05_na_words.csv")), 6)
    assert [(row.id, row.number) for row in items if isinstance(row, CorpusRow)][-2:] == [("4", 3), ("6", 4)]


def test_numbers_and_dates_stay_as_written(case: Any, read: Any, texts: Any) -> None:
    assert texts(read(case("f14_number_like.csv"))) == ["007", "1e5", "3.0", "True", "2024-01-02"]


def test_a_field_too_many_is_named_and_shifts_nothing(case: Any, read: Any, texts: Any) -> None:
    path = str(case("f30_tab_in_text.tsv"))
    items = read(path)
    assert items[0] == BadRow(path, 2, "row_fields", {"n": 4, "expected": 3})
    assert str(AttnxError(items[0].key, **items[0].values)) == "4 fields, 3 expected."
    assert texts(items) == ["хорошая строка"]


def test_ragged_records_are_named_and_the_rest_goes_on(case: Any, read: Any) -> None:
    path = str(case("f11_ragged.csv"))
    assert read(path) == [
        CorpusRow(0, f"{path}:2", "one", path, 2),
        BadRow(path, 3, "row_fields", {"n": 3, "expected": 2}),
        BadRow(path, 4, "row_fields", {"n": 1, "expected": 2}),
        CorpusRow(1, f"{path}:5", "four, with comma", path, 5),
    ]


def test_line_numbers_are_physical(read: Any) -> None:
    items = read("a.csv", '\r\nid,text\r\n1,"one\r\ntwo"\r\n\r\n2,three\r\n3\r\n')
    assert items == [
        CorpusRow(0, "a.csv:3", "one\r\ntwo", "a.csv", 3),
        CorpusRow(1, "a.csv:6", "three", "a.csv", 6),
        BadRow("a.csv", 7, "row_fields", {"n": 1, "expected": 2}),
    ]


@pytest.mark.parametrize(
    ("body", "expected", "keys"),
    [
        ('1,"open\n2,two\n3,three\n', ["two", "three"], [(2, "row_quotes")]),
        ('1,"open\n2,"two"\n3,three\n', ["two", "three"], [(2, "row_quotes")]),
        ('1,"shut"x\n2,two\n', ["two"], [(2, "row_quotes")]),
        ('1,"open\n' + "2,two\n" * 50_000, ["two"] * 50_000, [(2, "row_quotes")]),
        ('1,"open' + "\n" * 1_100_000 + "2,two\n", ["two"], [(2, "row_quotes")]),
        ('1,"' + "x" * 200_000 + '"\n2,two\n', ["two"], [(2, "row_quotes")]),
        ("1," + "x" * 1_200_000 + "\n2,two\n", ["two"], [(2, "row_too_long")]),
    ],
)
def test_a_quotation_mark_out_of_place_costs_one_line(
    body: str, expected: list[str], keys: list[tuple[int, str]], read: Any, texts: Any, bad: Any
) -> None:
    items = read("a.csv", "id,text\n" + body)
    assert texts(items) == expected
    assert bad(items)[:1] == keys


def test_records_without_an_end_do_not_cost_the_square_of_their_lines(read: Any, texts: Any, bad: Any) -> None:
    """From every line a record begins that goes on to the limit; read again from each, this would take an hour."""
    items = read("a.csv", "id,text\n" + 'x","x\n' * 500_000 + '"\n1,last\n')
    assert texts(items)[-1] == "last"
    assert {key for _, key in bad(items)} == {"row_fields", "row_too_long"}


def test_the_delimiter_can_be_named(read: Any, texts: Any) -> None:
    for delimiter, sign in ((";", ";"), ("\\t", "\t"), ("tab", "\t"), ("|", "|"), ("，", "，")):
        assert texts(read("a.csv", f"id{sign}text\n1{sign}a, b\n", delimiter=delimiter)) == ["a, b"]


def test_the_column_is_the_named_one_or_text_or_the_only_one(read: Any, texts: Any) -> None:
    assert texts(read("a.csv", "text,body\none,two\n", column="body")) == ["two"]
    assert texts(read("a.csv", "body,text\none,two\n")) == ["two"]
    assert texts(read("a.csv", "предложение\nодно\n")) == ["одно"]


@pytest.mark.parametrize(
    ("content", "options", "key", "named"),
    [
        ("id,body\n1,one\n", {}, "column_unclear", "id, body"),
        ("id,body\n1,one\n", {"column": "text"}, "column_missing", "id, body"),
        ("text\none\n", {"id_column": "id"}, "column_missing", "text"),
        ("text,text\none,two\n", {}, "column_twice", "text, text"),
        ("id;text\n1;one\n", {}, "delimiter_unclear", "id;text"),
        ('"id,text\n1,one\n', {}, "table_header_broken", "1"),
        (",".join(f"c{n}" for n in range(5000)) + "\n", {}, "column_unclear", "c19, …"),
        ("x" * 5000 + ",y\n", {}, "column_unclear", "xxx…, y"),
    ],
)
def test_a_column_that_is_not_clear_is_refused_with_the_columns(
    content: str, options: dict[str, str], key: str, named: str, read: Any
) -> None:
    with pytest.raises(InputError) as caught:
        read("a.csv", content, **options)
    assert caught.value.key == key
    assert named in str(caught.value) and len(str(caught.value)) < 400


def test_a_record_without_an_id_is_named(read: Any, bad: Any) -> None:
    items = read("a.csv", "id,text\n7,one\n,two\n", id_column="id")
    assert items[0] == CorpusRow(0, "7", "one", "a.csv", 2)
    assert bad(items) == [(3, "row_id_missing")]


readable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30).filter(
    str.strip
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@given(cells=st.lists(st.tuples(readable, readable), max_size=5), delimiter=st.sampled_from(",\t;|:"))
def test_what_was_written_is_read(cells: list[tuple[str, str]], delimiter: str, folder: Path) -> None:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter).writerows([("id", "text"), *cells])
    path = folder / "a.csv"
    path.write_text(buffer.getvalue(), encoding="utf-8", newline="")
    rows = list(read_corpus([path], CorpusOptions(id_column="id", delimiter=delimiter, encoding="utf-8")))
    assert [(row.id, row.text) for row in rows if isinstance(row, CorpusRow)] == cells


@given(content=st.text(st.sampled_from(string.ascii_letters + '",;\n\r\t \0')))
def test_any_table_is_read_to_its_end(content: str, folder: Path) -> None:
    """Whatever stands in the file, what is yielded comes in the order of its lines, and every text is whole cells."""
    path = folder / "b.csv"
    path.write_text(f"id,text\n{content}\n1,last\n", encoding="utf-8", newline="")
    items = list(read_corpus([path], CorpusOptions(encoding="utf-8")))
    numbers = [item.line for item in items if not hasattr(item, "encoding")]
    assert numbers == sorted(set(numbers))
    assert isinstance(items[-1], CorpusRow) and items[-1].text.endswith("last")
