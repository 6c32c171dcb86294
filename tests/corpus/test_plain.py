"""Text files: one sentence a line, by path, without a suffix, through standard input; numbers, ids, limits."""

import io
import os
import sys
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from attnx.corpus.lines import MAXIMUM_LINE
from attnx.corpus.reading import read_corpus
from attnx.corpus.records import CorpusOptions, CorpusRow
from attnx.errors import InputError


def stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_a_row_has_its_text_as_given_and_where_it_stands(read: Any) -> None:
    assert read("a.txt", "one \n\n  two\u2028three\r\nпоследняя") == [
        CorpusRow(0, "a.txt:1", "one ", "a.txt", 1),
        CorpusRow(1, "a.txt:3", "  two\u2028three", "a.txt", 3),
        CorpusRow(2, "a.txt:4", "последняя", "a.txt", 4),
    ]


def test_an_old_mac_line_end_is_one(read: Any) -> None:
    assert [(row.line, row.text) for row in read("a.txt", "one\rtwo\r\nthree\n")] == [
        (1, "one"),
        (2, "two"),
        (3, "three"),
    ]


def test_line_ends_of_two_characters_are_one_wherever_they_fall(read: Any) -> None:
    """A decoder takes 8,192 bytes at once, and the two may come apart."""
    content = "".join("x" * (8186 + shift) + "\r\n" for shift in range(9))
    assert [(row.line, len(row.text)) for row in read("a.txt", content)] == [(n + 1, 8186 + n) for n in range(9)]


def test_rows_are_numbered_over_all_inputs_and_the_limit_counts_rows(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("1\n\n2\n")
    second.write_text("3\n4\n5\n")
    rows = list(read_corpus([first, second], CorpusOptions(limit=4)))
    assert [(row.number, row.text, row.file) for row in rows if isinstance(row, CorpusRow)] == [
        (0, "1", str(first)),
        (1, "2", str(first)),
        (2, "3", str(second)),
        (3, "4", str(second)),
    ]


def test_what_cannot_be_a_text_is_reported_and_the_rest_goes_on(read: Any, texts: Any, bad: Any) -> None:
    long, longer = "я" * 100_001, "x" * (MAXIMUM_LINE + 5)
    items = read("a.txt", f"good\nnu\0ll\n{long}\n{longer}\n \t\nlast\n")
    assert texts(items) == ["good", "last"]
    assert bad(items) == [(2, "row_null"), (3, "text_too_large"), (4, "row_too_long")]
    assert items[-1].line == 6


def test_an_endless_line_is_not_held(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with path.open("wb") as file:
        for _ in range(30):
            file.write(b"x" * 1_000_000)
        file.write(b"\nlast\n")
    tracemalloc.start()
    items = list(read_corpus([path], CorpusOptions()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [item.line for item in items] == [1, 2]
    assert peak < 20_000_000


def test_empty_files_have_no_rows(read: Any) -> None:
    for name in ("a.txt", "a.csv", "a.tsv", "a.jsonl", "a.conllu", "plain"):
        assert read(name, "") == []
        assert read(name, b"\xef\xbb\xbf") == []


@pytest.mark.parametrize("content", [b"\xef\xbb\xbftext,lang\none,en\n", b"text,lang\r\none,en\r\n"])
def test_a_table_on_standard_input_is_known_by_the_column(
    content: bytes, monkeypatch: pytest.MonkeyPatch, texts: Any
) -> None:
    stdin(monkeypatch, content)
    items = list(read_corpus(["-"], CorpusOptions(column="text")))
    assert items == [CorpusRow(0, "stdin:2", "one", "stdin", 2)]


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("one, two\nthree\n", {}, ["one, two", "three"]),
        ('{"text": "one"}\n', {}, ["one"]),
        ("id\ttext\n1\tone, two\n", {"column": "text"}, ["one, two"]),
        ("id;text\n1;one\n", {"delimiter": ";"}, ["one"]),
        ("id,text\n1,one\n", {"id_column": "id"}, ["one"]),
        ("# text = one\n1\tone" + "\t_" * 8 + "\n", {"format": "conllu"}, ["one"]),
        ('{"text"\n', {"format": "txt"}, ['{"text"']),
    ],
)
def test_without_a_suffix_the_options_and_the_first_line_tell_the_format(
    content: str, options: dict[str, str], expected: list[str], read: Any, texts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert texts(read("corpus", content, **options)) == expected
    stdin(monkeypatch, b"\xef\xbb\xbf" + content.encode())
    assert texts(list(read_corpus(["-"], CorpusOptions(**options)))) == expected  # type: ignore[arg-type]


def test_closed_standard_input_has_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert list(read_corpus(["-"], CorpusOptions())) == []


@pytest.mark.parametrize(
    ("name", "options", "key", "named"),
    [
        ("a.docx", {}, "corpus_unknown_format", ".conllu"),
        ("a.json", {}, "corpus_unknown_format", ".jsonl"),
        ("a.txt", {"column": "text"}, "corpus_no_columns", "--column"),
        ("a.conllu", {"id_column": "id"}, "corpus_no_columns", "--id-column"),
        ("a.txt", {"encoding": "utf-9"}, "encoding_unknown", "utf-9"),
        ("a.txt", {"encoding": "rot13"}, "encoding_unknown", "rot13"),
        ("a.txt", {"encoding": "idna"}, "encoding_unknown", "idna"),
        ("a.csv", {"delimiter": ";;"}, "delimiter_invalid", ";;"),
        ("a.csv", {"delimiter": '"'}, "delimiter_invalid", "--delimiter"),
    ],
)
def test_wrong_use_is_refused_by_name(name: str, options: dict[str, str], key: str, named: str, read: Any) -> None:
    with pytest.raises(InputError) as caught:
        read(name, "text\n", **options)
    assert caught.value.key == key
    assert named in str(caught.value)


def test_every_file_is_looked_at_before_the_first_row_is_read(tmp_path: Path) -> None:
    good, table = tmp_path / "a.txt", tmp_path / "b.csv"
    good.write_text("one\n")
    table.write_text("id,body\n1,one\n")
    detected = tmp_path / "c.csv"
    detected.write_bytes(("ид,предложение\n" + "1,Сегодня утром шёл сильный дождь\n" * 9).encode("cp1251"))
    wrong_inputs = ((table, "column_unclear"), (detected, "column_unclear"), (tmp_path / "x.txt", "input_unreadable"))
    for wrong, key in wrong_inputs:
        with pytest.raises(InputError) as caught:
            read_corpus([good, wrong], CorpusOptions())
        assert caught.value.key == key


def test_a_file_name_that_is_no_unicode_spoils_no_row(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.txt"))
    path.write_text("one\n")
    (row,) = read_corpus([path], CorpusOptions())
    assert isinstance(row, CorpusRow) and row.id == f"{tmp_path}/a\ufffd.txt:1"


@pytest.mark.parametrize("name", [".", "x" * 5000, "missing.txt"])
def test_what_is_no_readable_file_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_corpus([tmp_path / name], CorpusOptions())
    assert caught.value.key == "input_unreadable"


def test_only_the_first_rows_of_an_endless_pipe_are_read() -> None:
    source, sink = os.pipe()

    def write() -> None:
        try:
            while True:
                os.write(sink, b"one more\n" * 1000)
        except BrokenPipeError:
            os.close(sink)

    writer = threading.Thread(target=write)
    writer.start()
    rows = list(read_corpus([f"/dev/fd/{source}"], CorpusOptions(limit=3)))
    os.close(source)
    writer.join()
    assert [row.line for row in rows if isinstance(row, CorpusRow)] == [1, 2, 3]


WIDE = "номер в большом файле " * 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "begin", "row"),
    [
        ("a.txt", "", f"{WIDE}\n"),
        ("a.csv", "id,text\n", f'1,"{WIDE}"\n'),
        ("a.jsonl", "", f'{{"id": 1, "text": "{WIDE}"}}\n'),
        ("a.conllu", "", f"# text = {WIDE}\n1\tномер" + "\t_" * 8 + "\n\n"),
    ],
)
def test_a_large_file_is_never_held(name: str, begin: str, row: str, tmp_path: Path) -> None:
    path = tmp_path / name
    count = 1 + 60_000_000 // len(row.encode())
    with path.open("w", encoding="utf-8") as file:
        file.write(begin)
        for _ in range(count):
            file.write(row)
    tracemalloc.start()
    rows = sum(isinstance(item, CorpusRow) for item in read_corpus([path], CorpusOptions()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == count
    assert peak < 20_000_000
