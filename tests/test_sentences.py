"""Texts on their way in: what is refused, what is cleaned, the language by script, files with one sentence a line."""

import codecs
import io
import sys
from pathlib import Path

import pytest

from attnx.errors import InputError
from attnx.i18n import is_traditional, match_language
from attnx.texts.inputs import MAXIMUM_LINES, InputText, read_inputs, read_stdin
from attnx.texts.sentence import MAXIMUM_CHARACTERS, guess_language, read_sentence


@pytest.mark.parametrize("text", ["", " ", "\n", "\t \r\n", "\u3000", "\u00a0\u2003", "\ufeff", "\ufeff \n"])
def test_empty_and_white_text_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_sentence(text)
    assert caught.value.key == "empty_text"
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("\u200b", "U+200B"),
        ("\u200b \u200d", "U+200B U+0020 U+200D"),
        ("\u00ad", "U+00AD"),
        ("\u0301", "U+0301"),
        ("\x00", "U+0000"),
        ("\u202e\u2066", "U+202E U+2066"),
    ],
)
def test_invisible_text_is_refused_by_its_code_points(text: str, codes: str) -> None:
    with pytest.raises(InputError) as caught:
        read_sentence(text)
    assert caught.value.key == "invisible_text"
    assert codes in str(caught.value)


def test_a_long_invisible_text_is_not_listed_in_full() -> None:
    with pytest.raises(InputError) as caught:
        read_sentence("\u200b" * 5000)
    assert str(caught.value).count("U+200B") == 8


def test_more_characters_than_any_encoder_takes_are_refused_with_both_numbers() -> None:
    assert read_sentence("x" * MAXIMUM_CHARACTERS).text == "x" * MAXIMUM_CHARACTERS
    with pytest.raises(InputError) as caught:
        read_sentence("x" * (MAXIMUM_CHARACTERS + 1))
    assert "100,001" in str(caught.value) and "100,000" in str(caught.value)


def test_text_is_kept_as_given_but_for_a_leading_byte_order_mark() -> None:
    assert read_sentence("\ufeff а\ufeffб \u200b").text == " а\ufeffб \u200b"


def test_a_byte_that_is_no_utf8_becomes_a_replacement_character() -> None:
    assert read_sentence("a \udcff b").text == "a \ufffd b"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("王者荣耀怎么玩", "zh"),
        ("Мама мыла раму", "ru"),
        ("The cat sat", "en"),
        ("我爱 Python", "en"),
        ("我爱北京 Python", "zh"),
        ("Слово word слово", "ru"),
        ("12345 !?", "en"),
        ("👍", "en"),
        ("γλώσσα", "en"),
    ],
)
def test_language_is_that_of_most_of_the_script(text: str, language: str) -> None:
    assert guess_language(text) == language


@pytest.mark.parametrize(
    ("name", "language"),
    [
        *((name, "zh") for name in ("zh", "zh_CN", "zh-CN", "zh-Hans", "zh_CN.UTF-8", "ZH", "zh_TW")),
        *((name, "ru") for name in ("ru", "ru_RU.UTF-8", "ru-RU", "ru_RU@euro")),
        *((name, "en") for name in ("en-GB", "C", "C.UTF-8", "POSIX")),
        *((name, None) for name in ("xx", "", "русский", "z", "../en")),
    ],
)
def test_locale_names_are_matched_to_catalogs(name: str, language: str | None) -> None:
    assert match_language(name) == language


@pytest.mark.parametrize(
    ("name", "answer"), [("zh_TW", True), ("zh-Hant", True), ("zh_HK.UTF-8", True), ("zh_CN", False), ("en_HK", False)]
)
def test_traditional_chinese_is_told_apart(name: str, answer: bool) -> None:
    assert is_traditional(name) is answer


# --- files and standard input ---


def write(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


def test_a_file_is_one_sentence_a_line_and_every_line_knows_its_number(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "один\r\n\r\n  \n two \n三".encode())
    assert list(read_inputs([path])) == [
        InputText("один", path, 1),
        InputText(" two ", path, 4),
        InputText("三", path, 5),
    ]


def test_what_names_no_file_is_itself_the_sentence(tmp_path: Path) -> None:
    for text in ("no such file.txt", "x" * 10_000, "null\0byte", str(tmp_path)):
        assert list(read_inputs([text])) == [InputText(text, None, None)]


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = codecs.BOM_UTF8 + "今天\nмама".encode()
    path = write(tmp_path / "bom.txt", data)
    assert [item.text for item in read_inputs([path])] == ["今天", "мама"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="cp1251"))
    assert [item.text for item in read_inputs(["-"])] == ["今天", "мама"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="cp1251"))
    assert read_stdin() == "今天\nмама"


@pytest.mark.parametrize(
    ("data", "position"),
    [
        (b"ab\n\xffcd", "byte 3"),
        (codecs.BOM_UTF8 + b"ab\xff", "byte 5"),
        ("今天".encode("gb18030"), "byte 0"),
        ("привет".encode("cp1251"), "byte 0"),
    ],
)
def test_a_file_that_is_not_utf8_is_refused_with_the_byte(tmp_path: Path, data: bytes, position: str) -> None:
    path = write(tmp_path / "a.txt", data)
    with pytest.raises(InputError) as caught:
        list(read_inputs([path]))
    assert caught.value.key == "input_not_utf8"
    assert position in str(caught.value) and path in str(caught.value)


def test_standard_input_is_one_text_without_the_last_line_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("一\n二\r\n".encode())))
    assert read_stdin() == "一\n二"


def test_closed_standard_input_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert read_stdin() == ""
    assert list(read_inputs(["-"])) == []


def test_too_many_lines_are_refused_with_the_limit(tmp_path: Path) -> None:
    path = write(tmp_path / "long.txt", b"x\n" * (MAXIMUM_LINES + 1))
    with pytest.raises(InputError) as caught:
        list(read_inputs([path]))
    assert "10,000" in str(caught.value)
    assert len(list(read_inputs([write(tmp_path / "ok.txt", b"x\n" * MAXIMUM_LINES)]))) == MAXIMUM_LINES
