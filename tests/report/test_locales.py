"""The three catalogues against each other, against the code and against their scripts' typography."""

import ast
import re
import string
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2
import jinja2.nodes
import pytest

import attnx
from attnx.encoders.coverage import read_coverage
from attnx.findings import RULES
from attnx.i18n import PLURAL_CATEGORIES, leaves, load_catalog
from attnx.resources import resource_dir
from attnx.statistics import REGISTRY
from attnx.statistics.scores import SCOPES

LANGUAGES = ("zh", "ru", "en")
CATEGORIES = {"zh": {"other"}, "ru": {"one", "few", "many", "other"}, "en": {"one", "other"}}
with_language = pytest.mark.parametrize("language", LANGUAGES)
WIDTHS = r"(percent\d?|decimal\d|integer)?"
# Messages that are put before or between others, so that white space at their ends counts.
GLUE = ("terminal.error_prefix", "provenance.separator", "corpus.list_separator")
HAN = r"[\u4e00-\u9fff]"


def messages(language: str) -> dict[str, Any]:
    return dict(leaves(load_catalog(language).messages))


def forms(message: Any) -> list[str]:
    return list(message.values()) if isinstance(message, dict) else [message]


def placeholders(text: str) -> Counter[str]:
    """Return the placeholders of a form as ``name:format``."""
    return Counter(f"{name}:{spec}" for _, name, spec, _ in string.Formatter().parse(text) if name is not None)


def texts(language: str) -> Iterator[tuple[str, str]]:
    for key, message in messages(language).items():
        yield from ((key, form) for form in forms(message))


@with_language
def test_same_keys(language: str) -> None:
    assert set(messages(language)) == set(messages("en"))


@with_language
def test_messages_are_strings(language: str) -> None:
    assert [key for key, text in texts(language) if not isinstance(text, str)] == []
    assert [key for key, text in texts(language) if text != text.strip(" ") and key not in GLUE] == []


@with_language
def test_same_placeholders(language: str) -> None:
    """A message names the same things in every language; a plural form may leave out some of them."""
    english = messages("en")
    for key, message in messages(language).items():
        fullest = set().union(*(placeholders(form) for form in forms(message)))
        assert fullest == set().union(*(placeholders(form) for form in forms(english[key]))), key
        if isinstance(message, dict):
            assert set(placeholders(message["other"])) == fullest, key
        for name in fullest:
            assert re.fullmatch(rf"[a-z_]+:{WIDTHS}", name), (key, name)


@with_language
def test_plural_categories(language: str) -> None:
    """A plural message has the forms that the language's rule can give, and no other."""
    rule = load_catalog(language).locale.plural_form
    assert {rule(n) for n in range(1000)} <= CATEGORIES[language] <= {rule(n) for n in range(1000)} | {rule(1.5)}
    for key, message in messages(language).items():
        if isinstance(message, dict):
            assert set(message) == CATEGORIES[language], key


def test_no_section_is_named_like_a_plural_category() -> None:
    for key in messages("en"):
        assert not set(key.split(".")) & PLURAL_CATEGORIES, key


def patterns_of(node: ast.expr) -> Iterator[str]:
    """Yield the keys that an expression can be, as regular expressions: a computed part is a group."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield re.escape(node.value)
    elif isinstance(node, ast.JoinedStr):
        yield "".join(re.escape(str(p.value)) if isinstance(p, ast.Constant) else r"(\w+)" for p in node.values)
    elif isinstance(node, ast.IfExp):
        yield from patterns_of(node.body)
        yield from patterns_of(node.orelse)


PREFIXES = {"text": "", "AttnxError": "errors.", "InputError": "errors.", "stage": "terminal.", "help_text": "help."}


def code() -> Iterator[ast.AST]:
    for path in Path(str(attnx.__file__)).parent.rglob("*.py"):
        yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def python_patterns() -> Iterator[str]:
    """Yield the patterns of the keys that the code asks for."""
    for node in code():
        if isinstance(node, ast.Call) and node.args:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in PREFIXES:
                yield from (re.escape(PREFIXES[name]) + pattern for pattern in patterns_of(node.args[0]))


def template_patterns() -> Iterator[str]:
    environment = jinja2.Environment()
    for path in resource_dir("templates").rglob("*.j2"):
        for call in environment.parse(path.read_text(encoding="utf-8")).find_all(jinja2.nodes.Call):
            if isinstance(call.node, jinja2.nodes.Getattr) and call.node.attr == "text":
                (key,) = call.args
                assert isinstance(key, jinja2.nodes.Const), f"{path}: a key that is not written out"
                yield re.escape(key.value)


def computed_keys() -> set[str]:
    """Return the keys made from names: of statistics, rules, scopes and units."""
    keys = {f"statistics.{name}.{part}" for name in REGISTRY for part in ("name", "short", "definition")}
    keys |= {f"scopes.{scope}" for scope in SCOPES} | {f"units.{statistic.unit}" for statistic in REGISTRY.values()}
    return keys | {f"findings.{rule.__name__}" for rule in RULES}


def test_every_key_that_is_asked_for_exists() -> None:
    keys = set(messages("en"))
    for pattern in {*python_patterns(), *template_patterns()}:
        assert any(re.fullmatch(pattern, key) for key in keys), f"no message for {pattern}"
    assert computed_keys() - keys == set()


def test_no_message_is_unused() -> None:
    """A key is asked for as it stands, or its computed part is a name that the code knows."""
    nodes = list(code())
    literals = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    rules = {rule.__name__ for rule in RULES}
    notes = {note for row in read_coverage() for note in row.note.split()}
    names = literals | set(REGISTRY) | rules | {f"{rule}_none" for rule in rules} | notes
    written = {pattern for node in nodes if isinstance(node, ast.JoinedStr) for pattern in patterns_of(node)}
    asked = [re.compile(pattern) for pattern in {*python_patterns(), *template_patterns(), *written}]

    def used(key: str) -> bool:
        found = [match for pattern in asked if (match := pattern.fullmatch(key))]
        return key in literals or any(set(match.groups()) <= names for match in found)

    assert [key for key in messages("en") if not used(key)] == []


@with_language
def test_every_rule_with_a_threshold_has_its_words(language: str) -> None:
    """A key ``x_none`` (no head passes) and ``rules.x`` go together."""
    keys = set(messages(language))
    passing = {
        key.removeprefix("findings.").removesuffix("_none")
        for key in keys
        if key.endswith("_none") and key.startswith("findings.")
    }
    ruled = {key.removeprefix("findings.rules.") for key in keys if key.startswith("findings.rules.")}
    assert passing <= ruled
    assert ruled - passing == {"pattern_classes"}


def prose(language: str) -> Iterator[tuple[str, str]]:
    """Yield the messages without placeholders, code and commands."""
    for key, text in texts(language):
        plain = text.split("\\b")[0].replace("{offset}", "后").replace("{kind}", "后")
        plain = re.sub(r"\{[^}]*\}", "1", plain)
        if key not in {*GLUE, "report.keywords"}:
            yield key, plain


def test_chinese_punctuation_is_full_width() -> None:
    wrong = [(key, text) for key, text in prose("zh") if re.search(rf"{HAN}[,;:!?(.]|[,;:!?)]{HAN}", text)]
    assert wrong == []


def test_chinese_has_a_space_between_han_and_latin() -> None:
    """As in 用 Python 写; next to full-width punctuation and signs there is none."""
    wrong = [(key, text) for key, text in prose("zh") if re.search(rf"{HAN}[A-Za-z0-9]|[A-Za-z0-9%]{HAN}", text)]
    assert wrong == []


def test_russian_quotes_are_guillemets() -> None:
    wrong = [(key, text) for key, text in prose("ru") if re.search(r"[“”„]|\"(?!attnx)[^\"]*\"", text)]
    assert wrong == []


def test_english_quotes_are_curly() -> None:
    wrong = [(key, text) for key, text in prose("en") if re.search(r"\"(?!attnx)[^\"]*\"|\w'\w|«", text)]
    assert wrong == []


@with_language
def test_no_dash_is_a_hyphen_and_no_ellipsis_three_dots(language: str) -> None:
    wrong = [(key, text) for key, text in prose(language) if re.search(r" - |\.\.\.|--(?![a-z])", text)]
    assert wrong == []
