from datetime import UTC, datetime

import pytest

from attnx.i18n import Catalog, is_traditional, languages, load_catalog, match_language, terminal_language

NO_BREAK_SPACE = "\u00a0"


def test_three_languages() -> None:
    assert languages() == ("en", "ru", "zh")


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("zh", "zh"),
        ("zh_CN", "zh"),
        ("zh-CN", "zh"),
        ("zh-Hans", "zh"),
        ("zh_CN.UTF-8", "zh"),
        ("ZH", "zh"),
        ("zh_TW", "zh"),
        ("ru_RU.UTF-8", "ru"),
        ("ru-RU", "ru"),
        ("ru_RU@euro", "ru"),
        ("en-GB", "en"),
        ("C", "en"),
        ("C.UTF-8", "en"),
        ("POSIX", "en"),
        ("xx", None),
        ("", None),
        ("../ru", None),
    ],
)
def test_match_language(name: str, language: str | None) -> None:
    assert match_language(name) == language


@pytest.mark.parametrize(
    ("name", "traditional"),
    [("zh_TW", True), ("zh-Hant", True), ("zh_HK.UTF-8", True), ("zh_CN", False), ("zh", False), ("en_HK", False)],
)
def test_is_traditional(name: str, traditional: bool) -> None:
    assert is_traditional(name) == traditional


@pytest.mark.parametrize(
    ("variables", "language"),
    [
        ({}, "en"),
        ({"LANG": "ru_RU.UTF-8"}, "ru"),
        ({"LANG": "ru_RU.UTF-8", "LC_ALL": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "ru_RU.UTF-8", "LC_MESSAGES": "C"}, "en"),
        ({"LANG": "fr_FR.UTF-8"}, "en"),
        ({"LANG": "ru_RU.UTF-8", "LC_ALL": ""}, "ru"),
    ],
)
def test_terminal_language(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], language: str) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert terminal_language() == language


@pytest.mark.parametrize(
    ("n", "words"),
    [
        (0, "0 токенов"),
        (1, "1 токен"),
        (2, "2 токена"),
        (5, "5 токенов"),
        (11, "11 токенов"),
        (12, "12 токенов"),
        (21, "21 токен"),
        (22, "22 токена"),
        (25, "25 токенов"),
        (101, "101 токен"),
        (111, "111 токенов"),
        (112, "112 токенов"),
        (12345, "12 345 токенов"),
    ],
)
def test_russian_plurals(n: int, words: str) -> None:
    assert load_catalog("ru").text("report.tokens", n=n).replace(NO_BREAK_SPACE, " ") == words


@pytest.mark.parametrize(
    ("language", "n", "words"),
    [
        ("en", 0, "0 tokens"),
        ("en", 1, "1 token"),
        ("en", 2, "2 tokens"),
        ("en", 1000, "1,000 tokens"),
        ("zh", 1, "1 个词元"),
        ("zh", 21, "21 个词元"),
    ],
)
def test_plurals(language: str, n: int, words: str) -> None:
    assert load_catalog(language).text("report.tokens", n=n) == words


@pytest.mark.parametrize(
    ("language", "percent", "decimal"),
    [
        ("zh", "12.5%", "−1,234.50"),
        ("en", "12.5%", "−1,234.50"),
        ("ru", f"12,5{NO_BREAK_SPACE}%", f"−1{NO_BREAK_SPACE}234,50"),
    ],
)
def test_numbers(language: str, percent: str, decimal: str) -> None:
    catalog = load_catalog(language)
    assert catalog.percent(0.125, 1) == percent
    assert catalog.decimal(-1234.5, 2) == decimal
    assert catalog.decimal(-0.004, 2) == catalog.decimal(0, 2)


@pytest.mark.parametrize(
    ("language", "words"), [("zh", "2026年11月5日"), ("en", "November 5, 2026"), ("ru", "5 ноября 2026 г.")]
)
def test_date(language: str, words: str) -> None:
    shown = load_catalog(language).date(datetime(2026, 11, 5, tzinfo=UTC))
    assert shown.replace(NO_BREAK_SPACE, " ").replace("\u202f", " ") == words


@pytest.mark.parametrize(("language", "tag"), [("zh", "zh-Hans"), ("ru", "ru"), ("en", "en")])
def test_html_lang(language: str, tag: str) -> None:
    assert load_catalog(language).html_lang == tag


def test_placeholders_are_written_as_they_ask() -> None:
    catalog = Catalog("ru", {"x": "{a:percent} {a:percent1} {b:decimal3} {b:integer} {c}"})
    assert (
        catalog.text("x", a=0.5, b=1234.5678, c="<c>").replace(NO_BREAK_SPACE, " ") == "50 % 50,0 % 1 234,568 1 235 <c>"
    )


def test_values_are_not_messages() -> None:
    """What a user typed is put in as it is, braces and all."""
    assert Catalog("en", {"x": "“{text}”"}).text("x", text="{0.__class__} {n}") == "“{0.__class__} {n}”"


@pytest.mark.parametrize("key", ["nothing", "report.nothing", "report.title.nothing", "report.tokens"])
def test_gap_is_an_error(key: str) -> None:
    with pytest.raises(KeyError):
        load_catalog("en").text(key)
