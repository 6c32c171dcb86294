"""Encodings: Unicode with its marks, the named one, the clear one, and refusal of all that could be another."""

import codecs
import random
from pathlib import Path
from typing import Any

import pytest

from attnx.corpus.encodings import SAMPLE_BYTES
from attnx.corpus.reading import read_corpus
from attnx.corpus.records import CorpusOptions, CorpusRow, DetectedEncoding
from attnx.errors import InputError

SAMPLES = Path(__file__).parents[2] / "samples"
RUSSIAN = (SAMPLES / "ru.txt").read_text(encoding="utf-8").translate(dict.fromkeys(map(ord, "«»—"), "-"))
CHINESE = (SAMPLES / "zh.txt").read_text(encoding="utf-8")
GERMAN = "Die Straße ist für Fußgänger gesperrt, schöne Vögel fliegen über den Flüssen.\n" * 8


def refused(read: Any, name: str, content: bytes | None = None, **options: object) -> InputError:
    with pytest.raises(InputError) as caught:
        read(name, content, **options)
    error: InputError = caught.value
    assert str(name) in str(error)
    return error


def test_gb18030_with_four_byte_characters_is_read_when_named(case: Any, read: Any) -> None:
    rows = read(case("f01_gb18030_4byte.txt"), encoding="gb18030")
    assert [row.text for row in rows] == ["今天㐀字和𠮷字都在句子里。", "价格是20€左右。"]


@pytest.mark.parametrize(("encoding", "position"), [("gbk", 4), ("utf-8", 0)])
def test_a_wrong_name_is_refused_with_the_byte_and_a_hint(encoding: str, position: int, case: Any, read: Any) -> None:
    error = refused(read, case("f01_gb18030_4byte.txt"), encoding=encoding)
    assert error.key == "encoding_wrong_try"
    assert error.values["position"] == position
    assert "gb18030" in str(error) and "--encoding" in str(error)


def test_few_bytes_are_not_enough_to_tell_an_encoding(case: Any, read: Any) -> None:
    error = refused(read, case("f01_gb18030_4byte.txt"))
    assert error.key == "encoding_unclear"
    assert error.values["candidates"] == "gb18030"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("named", [False, True])
def test_a_byte_order_mark_tells_the_encoding_and_is_no_text(encoding: str, named: bool, read: Any) -> None:
    content = "Первая строка\nвторая 𠮷\n".encode(encoding)
    rows = read("a.txt", content, encoding=encoding if named else None)
    assert [row.text for row in rows] == ["Первая строка", "вторая 𠮷"]


def test_big_endian_marks_are_known_too(read: Any) -> None:
    assert read("a.txt", codecs.BOM_UTF16_BE + "слово".encode("utf-16-be"))[0].text == "слово"
    assert read("a.txt", codecs.BOM_UTF32_BE + "слово".encode("utf-32-be"))[0].text == "слово"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (CHINESE, "gb18030"),
        (CHINESE.replace("馅", ""), "gbk"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8-r"),
        (RUSSIAN, "cp866"),
    ],
)
def test_a_clear_encoding_is_used_and_said(text: str, encoding: str, read: Any) -> None:
    notice, *rows = read("a.txt", text.encode(encoding))
    assert notice == DetectedEncoding("a.txt", "gb18030" if encoding == "gbk" else encoding)
    assert [row.text for row in rows] == text.splitlines()


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (GERMAN, "cp1252"),
        (RUSSIAN, "mac-cyrillic"),
        (RUSSIAN, "iso8859-5"),
        (RUSSIAN[:40], "cp1251"),
        (RUSSIAN, "utf-16-le"),
        (CHINESE, "utf-16-be"),
        ("私たちは公園に行きました。\n" * 9, "iso2022-jp"),
    ],
)
def test_an_unclear_encoding_is_refused_with_the_candidates(text: str, encoding: str, read: Any) -> None:
    error = refused(read, "a.txt", text.encode(encoding))
    assert error.key == "encoding_unclear"
    assert encoding in error.values["candidates"].split(", ")
    assert [row.text for row in read("a.txt", encoding=encoding)] == text.splitlines()


def test_what_is_no_text_is_refused(read: Any) -> None:
    assert refused(read, "a.txt", random.Random(0).randbytes(5000)).key == "encoding_none"


def test_null_bytes_in_a_text_are_bad_rows_not_another_encoding(read: Any, bad: Any) -> None:
    assert bad(read("a.txt", "строка без нуля\n" * 50 + "с ну\0лём\n")) == [(51, "row_null")]


@pytest.mark.parametrize(
    ("encoding", "wrong"),
    [
        ("utf-8", b"\xff"),
        ("gb18030", b"\xff\xff"),
        ("euc-kr", b"\xff"),
        ("cp1251", b"\x98"),
        ("utf-16-le", b"\x00\xdc"),
    ],
)
def test_a_damaged_byte_far_into_a_file_is_named_by_its_offset(encoding: str, wrong: bytes, read: Any) -> None:
    """Beyond the sample, and inside what a decoder takes at once."""
    text = "слово и ещё слово\n".encode(encoding)
    begin = text * (SAMPLE_BYTES // len(text) + 777)
    error = refused(read, "a.txt", begin + wrong + text, encoding=encoding)
    assert error.key.startswith("encoding_wrong")
    assert error.values["position"] == len(begin)


@pytest.mark.parametrize(("encoding", "cut"), [("utf-8", b"\xe4\xbd"), ("gb18030", b"\xc4"), ("utf-16-le", b"\x60")])
def test_a_character_cut_at_the_end_is_named_by_its_offset(encoding: str, cut: bytes, read: Any) -> None:
    text = "слово\n".encode(encoding)
    error = refused(read, "a.txt", text + cut, encoding=encoding)
    assert error.values["position"] == len(text)


def test_a_damaged_byte_stops_a_file_of_unnamed_encoding_too(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    good = "строка\n".encode()
    path.write_bytes(good * 200_000 + b"\xff\n")
    items = read_corpus([path], CorpusOptions())
    assert isinstance(next(items), CorpusRow)
    with pytest.raises(InputError) as caught:
        for _ in items:
            pass
    assert caught.value.key == "encoding_wrong"
    assert caught.value.values["position"] == 200_000 * len(good)


def test_a_file_of_all_sizes_around_the_sample_is_read_whole(read: Any) -> None:
    """The sample cuts a character; it is neither lost nor called wrong."""
    line = "字" * 1000
    for extra in range(3):
        rows = read("a.txt", "x" * extra + f"\n{line}" * 400)
        assert [row.text for row in rows if row.text != "x" * extra] == [line] * 400
