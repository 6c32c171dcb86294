import hashlib
import os
import subprocess
import sys
from io import BytesIO

import pytest
from fontTools.ttLib import TTFont

from attnx.report.fonts import display_label, font_characters, font_path, missing_characters, subset_font

FAMILY = "👨\u200d👩\u200d👧"
SENTENCES = "我爱北京天安门。Съешь же ещё этих мягких французских булок, да выпей чаю. «Ёж» — naïve café…"
SPACES = frozenset(" \u202f\u2009\u3000")


@pytest.fixture(scope="module")
def cmap() -> dict[int, str]:
    with TTFont(font_path()) as font:
        return font.getBestCmap()


def test_font_characters_are_those_fonttools_finds(cmap: dict[int, str]) -> None:
    assert font_characters() == {chr(code) for code in cmap}


def test_nothing_is_missing_for_the_three_languages() -> None:
    assert missing_characters(SENTENCES) == ()


def test_missing_characters_are_listed_once_in_order() -> None:
    assert missing_characters("𠮷a👍𠮷") == ("𠮷", "👍")


def test_characters_without_ink_are_never_missing() -> None:
    assert missing_characters("a\u202fb\u200d\ufe0f\u00ad\u200b\n\t") == ()


def test_accented_letters_are_looked_up_composed() -> None:
    assert "\u0306" not in font_characters()
    assert missing_characters("мои\u0306") == ()
    assert missing_characters("q\u0306") == ("\u0306",)


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("мама", "мама"),
        ("мои\u0306", "мой"),
        (FAMILY, "U+1F468…"),
        (f"{FAMILY} семья", "U+1F468… семья"),
        ("👍", "U+1F44D"),
        ("❤\ufe0f", "U+2764"),
        ("𠮷字", "U+20BB7字"),
        ("q\u0306", "qU+0306"),
        ("سلام", "U+0633…"),
        ("\U0001f1f7\U0001f1fa", "U+1F1F7…"),
        ("a\u202fb", "a b"),
        ("我³", "我³"),
        ("👍⁴", "U+1F44D⁴"),
        (f"{FAMILY}⁵", "U+1F468…(5)"),
        (f"{FAMILY}¹⁰", "U+1F468…(10)"),
        (f"{FAMILY}¹²", "U+1F468…(12)"),
        ("▁", "␣"),
        ("[x]^-\\", "[x]^-\\"),
    ],
)
def test_display_label(label: str, shown: str) -> None:
    assert display_label(label) == shown
    assert set(shown) <= font_characters()


@pytest.mark.parametrize("flavor", ["otf", "woff"])
def test_subset_has_a_drawn_glyph_for_each_character(flavor: str) -> None:
    with TTFont(BytesIO(subset_font(SENTENCES, flavor, "ru"))) as font:
        cmap, glyphs = font.getBestCmap(), font["CFF "].cff.topDictIndex[0].CharStrings
        assert font.flavor == (None if flavor == "otf" else "woff")
        assert set(map(ord, SENTENCES)) <= set(cmap)
        assert set(range(0x20, 0x7F)) <= set(cmap)
        empty = {chr(code) for code, name in cmap.items() if glyphs[name].calcBounds(None) is None}
        assert empty <= SPACES
        assert glyphs[".notdef"].calcBounds(None) is not None
        assert "GSUB" not in font


def test_subset_holds_the_composed_letter_too() -> None:
    with TTFont(BytesIO(subset_font("мои\u0306", "otf", "ru"))) as font:
        assert ord("й") in font.getBestCmap()


@pytest.mark.parametrize(("language", "widths"), [("zh", [1000] * 5), ("en", [279, 279, 475, 475, 1059])])
def test_quotes_are_full_width_in_chinese_only(language: str, widths: list[int]) -> None:
    with TTFont(BytesIO(subset_font("‘’“”…", "otf", language))) as font:
        assert [font["hmtx"][font.getBestCmap()[ord(mark)]][0] for mark in "‘’“”…"] == widths


def test_subset_is_small() -> None:
    text = "".join(chr(0x4E00 + 37 * index) for index in range(150))
    assert len(subset_font(text, "woff", "zh")) < 35_000


def test_subset_depends_on_the_characters_alone() -> None:
    assert subset_font(SENTENCES, "otf", "ru") == subset_font(SENTENCES[::-1] * 2, "otf", "ru")


@pytest.mark.parametrize("flavor", ["otf", "woff"])
def test_subset_is_the_same_in_another_process(flavor: str) -> None:
    program = (
        "import hashlib, sys; from attnx.report.fonts import subset_font;"
        "print(hashlib.sha256(subset_font(sys.argv[1], sys.argv[2], 'ru')).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program, SENTENCES, flavor]
    other = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()
    assert other == hashlib.sha256(subset_font(SENTENCES, flavor, "ru")).hexdigest()
