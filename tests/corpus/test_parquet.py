"""Parquet: text columns however they are stored, and other columns refused by their type."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from attnx.corpus.reading import read_corpus
from attnx.corpus.records import BadRow, CorpusOptions, CorpusRow, EmptyRow
from attnx.errors import InputError


@pytest.fixture
def make(tmp_path: Path) -> Any:
    """Write columns to a Parquet file and return its path."""

    def write(**columns: Any) -> Path:
        path = tmp_path / "a.parquet"
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
        return path

    return write


def test_a_dictionary_column_is_read_and_null_left_out(case: Any, read: Any) -> None:
    path = str(case("f21_types.parquet"))
    assert read(path) == [
        CorpusRow(0, f"{path}:1", "да", path, 1),
        CorpusRow(1, f"{path}:2", "нет", path, 2),
        EmptyRow(path, 3),
        CorpusRow(2, f"{path}:4", "да", path, 4),
    ]


def test_a_large_column_is_read(case: Any, read: Any, texts: Any) -> None:
    assert len(texts(read(case("f21_types.parquet"), column="big"))) == 4


def test_a_view_column_is_read(make: Any, read: Any, texts: Any) -> None:
    path = make(text=pyarrow.array(["one", "два", None], pyarrow.string_view()), id=[3, 4, 5])
    assert [(row.id, row.text) for row in read(path, id_column="id")[:2]] == [("3", "one"), ("4", "два")]


@pytest.mark.parametrize(
    ("column", "key", "named"),
    [
        ("lst", "column_not_text", "list<"),
        ("bin", "column_not_text", "binary"),
        ("num", "column_not_text", "int64"),
        ("missing", "column_missing", "id, text, big, lst, bin, num"),
    ],
)
def test_a_column_that_is_no_text_is_refused_by_its_type(
    column: str, key: str, named: str, case: Any, read: Any
) -> None:
    with pytest.raises(InputError) as caught:
        read(case("f21_types.parquet"), column=column)
    assert caught.value.key == key
    assert named in str(caught.value)


def test_what_is_not_parquet_is_refused(case: Any, read: Any) -> None:
    with pytest.raises(InputError) as caught:
        read(case("f42_not_parquet.parquet"))
    assert caught.value.key == "parquet_not"
    with pytest.raises(InputError) as caught:
        read("empty.parquet", b"")
    assert caught.value.key == "parquet_not"


@pytest.mark.parametrize("cut", [8, 200, 20_000])
def test_a_damaged_file_is_refused_in_one_line(cut: int, make: Any, read: Any) -> None:
    path = make(text=[f"строка {number}" for number in range(5000)])
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.key == "parquet_broken"
    assert "\n" not in str(caught.value)
    path.write_bytes(whole[:40] + bytes(len(whole) - 4000 - 40) + whole[-4000:])
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.key == "parquet_broken"


def test_rows_that_cannot_be_texts_are_named_and_the_rest_goes_on(make: Any, read: Any, texts: Any, bad: Any) -> None:
    broken = pyarrow.Array.from_buffers(
        pyarrow.string(), 3, pyarrow.array([b"one", b"\xff\xfe", b"two"], pyarrow.binary()).buffers()
    )
    assert bad(read(make(text=broken))) == [(2, "row_not_utf8")]
    items = read(
        make(text=["one", "x" * 500_000, "я" * 100_001, "", "two"], id=["1", "2", "3", "4", None]), id_column="id"
    )
    assert texts(items) == ["one"]
    assert bad(items) == [(2, "row_too_long"), (3, "text_too_large"), (5, "row_id_missing")]
    assert EmptyRow(items[0].file, 4) in items


def test_the_text_and_the_id_may_be_one_column(make: Any, read: Any) -> None:
    assert read(make(text=["one"]), id_column="text")[0].id == "one"


def test_parquet_on_standard_input_needs_a_file_behind_it(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(text=["one", "two"])
    command = [
        sys.executable,
        "-c",
        "from attnx.corpus.reading import read_corpus\n"
        "from attnx.corpus.records import CorpusOptions\n"
        "try:\n"
        "    print([row.text for row in read_corpus(['-'], CorpusOptions())])\n"
        "except Exception as error:\n"
        "    print(error.key)\n",
    ]
    with path.open("rb") as file:
        assert subprocess.run(command, stdin=file, capture_output=True, text=True).stdout == "['one', 'two']\n"
    piped = subprocess.run(command, input=path.read_bytes(), capture_output=True)
    assert piped.stdout == b"parquet_piped\n"


def test_a_large_row_group_is_read_in_parts(make: Any) -> None:
    text = "предложение из большого файла " * 10
    path = make(text=[f"{number} {text}" for number in range(100_000)], other=[text] * 100_000)
    before = pyarrow.total_allocated_bytes()
    peak = 0
    for item in read_corpus([path], CorpusOptions()):
        assert not isinstance(item, BadRow)
        peak = max(peak, pyarrow.total_allocated_bytes() - before)
    assert peak < 20_000_000
