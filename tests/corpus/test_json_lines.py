"""JSON Lines: only strings are texts, and every other line says what it is instead."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnx.corpus.reading import read_corpus
from attnx.corpus.records import CorpusOptions, CorpusRow, EmptyRow
from attnx.errors import AttnxError, InputError


def test_of_mixed_lines_the_texts_are_read_and_the_others_named(case: Any, read: Any) -> None:
    path = str(case("f09_mixed_types.jsonl"))
    items = read(path, id_column="id")
    assert [(row.id, row.line, row.text) for row in items if isinstance(row, CorpusRow)] == [
        ("1", 1, "обычная строка"),
        ("13", 13, "最后"),
    ]
    assert [(item.line, item.key, item.values.get("type")) for item in items if not isinstance(item, CorpusRow)] == [
        (2, "row_not_text", "number"),
        (3, "row_not_text", "null"),
        (4, "row_not_text", "array"),
        (5, "row_not_text", "object"),
        (6, "row_column_missing", None),
        (7, "row_not_object", "string"),
        (8, "row_not_object", "number"),
        (9, "row_not_json", None),
        (11, "row_not_text", "boolean"),
        (12, "row_nan", None),
    ]


def test_a_byte_order_mark_is_no_part_of_the_first_line(read: Any, texts: Any) -> None:
    assert texts(read("a.jsonl", '\ufeff{"text": "one"}\r\n{"text": "two"}')) == ["one", "two"]


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('{"text": ' + "[" * 100_000 + "]" * 100_000 + "}", "row_too_deep"),
        ('{"text": "' + "x" * 1_100_000 + '"}', "row_too_long"),
        ('{"text": "' + "x" * 100_001 + '"}', "text_too_large"),
        ('{"text": ' + "9" * 10_000 + "}", "row_not_text"),
        ('{"text": -Infinity}', "row_nan"),
        ('{"text": "\\ud83d"}', "row_surrogate"),
        ('{"text": "a\\u0000"}', "row_null"),
        ('{"text": "one"} {"text": "two"}', "row_not_json"),
        ("{'text': 'one'}", "row_not_json"),
        ("[]", "row_not_object"),
        ("}", "row_not_json"),
    ],
)
def test_a_bad_line_is_named_and_the_rest_goes_on(line: str, key: str, read: Any, texts: Any, bad: Any) -> None:
    items = read("a.jsonl", f'{{"text": "first"}}\n{line}\n{{"text": "last"}}\n')
    assert texts(items) == ["first", "last"]
    assert bad(items) == [(2, key)]


def test_the_message_names_the_place_and_the_type(read: Any) -> None:
    broken, wrong = read("a.jsonl", '{"text": x}\n{"text": 1}\n')
    assert "character 10" in str(AttnxError(broken.key, **broken.values))
    assert "“text”" in str(AttnxError(wrong.key, **wrong.values))


def test_of_two_equal_keys_the_last_counts_and_empty_texts_are_left_out(read: Any, texts: Any) -> None:
    items = read("a.jsonl", '{"text": "one", "text": "two"}\n{"text": " "}\n')
    assert texts(items) == ["two"]
    assert items[1] == EmptyRow("a.jsonl", 2)


@pytest.mark.parametrize("own", ['"7"', "7", "1e5", "12345678901234567890123", "007"])
def test_an_id_stays_as_written(own: str, read: Any, bad: Any) -> None:
    items = read("a.jsonl", f'{{"id": {own}, "text": "one"}}\n', id_column="id", column="text")
    if own == "007":
        assert bad(items) == [(1, "row_not_json")]
    else:
        assert items[0].id == own.strip('"')


@pytest.mark.parametrize("own", ["null", "true", "[]", '""', "{}"])
def test_what_is_no_id_is_named(own: str, read: Any, bad: Any) -> None:
    items = read("a.jsonl", f'{{"id": 1, "text": "one"}}\n{{"id": {own}, "text": "two"}}\n', id_column="id")
    assert bad(items) == [(2, "row_id_missing")]


@pytest.mark.parametrize(
    ("content", "options", "key"),
    [
        ('{"id": 1, "body": "one"}\n', {}, "column_unclear"),
        ('{"id": 1, "body": "one"}\n' * 99, {"column": "text"}, "column_missing"),
        ('{"id": 1, "text": "one"}\n' * 99, {"id_column": "key"}, "column_missing"),
    ],
)
def test_a_column_that_no_object_has_is_refused(content: str, options: dict[str, str], key: str, read: Any) -> None:
    with pytest.raises(InputError) as caught:
        read("a.jsonl", content, **options)
    assert caught.value.key == key
    assert "id" in str(caught.value)


def test_the_first_objects_may_lack_the_column(read: Any, texts: Any, bad: Any) -> None:
    items = read("a.jsonl", 'x\n{"body": "one"}\n{"text": "two"}\n{"body": "three"}\n', column="text")
    assert texts(items) == ["two"]
    assert bad(items) == [(1, "row_not_json"), (2, "row_column_missing"), (4, "row_column_missing")]


@given(values=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=5))
def test_what_was_written_is_read(values: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    path: Path = tmp_path_factory.getbasetemp() / "round.jsonl"
    path.write_text("".join(json.dumps({"body": value}) + "\n" for value in values))
    rows = [row for row in read_corpus([path], CorpusOptions()) if isinstance(row, CorpusRow)]
    assert [row.text for row in rows] == [value for value in values if value.strip() and "\0" not in value]
