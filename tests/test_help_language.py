"""The help and Click's own messages in Chinese and Russian: by ``--lang``, by ``ATTNX_LANG`` and by the locale."""

import os
import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from attnx.cli import COMMANDS
from attnx.cli.translation import KEYS
from attnx.i18n import load_catalog

Attnx = Callable[..., subprocess.CompletedProcess[str]]
ENGLISH = re.compile(r"Usage|Options|Commands|Show (this|the)|default:|required|Error|Missing|No such|Try |Invalid")
SCRIPT = {"zh": re.compile("[\u4e00-\u9fff]{2}"), "ru": re.compile("[а-яё]{3}")}
with_language = pytest.mark.parametrize("language", ["zh", "ru"])
# What each of these does wrong is in the message of the key.
WRONG = [
    (["show", "x", "--foo"], "click.no_option", {"name": "'--foo'"}),
    (["shw"], "click.no_command", {"name": "'shw'"}),
    (["report"], "click.missing_argument", {}),
    (["batch", "x"], "click.missing_option", {}),
    (["show", "x", "--debu"], "click.no_option", {"name": "'--debu'"}),
    (["show", "a", "b", "c"], "click.extra_arguments", {"n": 2, "args": "'b c'"}),
    (["show", "x", "--scope", "y"], "click.not_a_choice", {"value": "'y'", "choices": "'all', 'content'"}),
    (["batch", "x", "-o", "y", "--limit", "a"], "click.not_a_number", {"value": "'a'"}),
    (["batch", "x", "-o", "y", "--limit", "0"], "click.not_in_range", {"value": "0", "range": "x>=1"}),
    (["batch", "x", "--strict=1"], "click.no_value", {"name": "'--strict'"}),
    (["show", "x", "-m"], "click.needs_value", {"name": "'-m'"}),
    (["experiment"], "click.choose_from", {"choices": "order"}),
]


@with_language
def test_the_help_of_the_group(attnx: Attnx, language: str) -> None:
    """``--lang`` wins over the locale, and may stand before or after ``--help``."""
    t = load_catalog(language)
    page = attnx("--lang", language, "--help", env={"LC_ALL": "en_US.UTF-8"}).stdout
    assert not ENGLISH.search(page)
    for key in ("click.usage", "click.options", "click.commands", "help.help", "help.version", "help.debug"):
        assert t.text(key) in page
    for command in COMMANDS:
        line = next(line for line in page.splitlines() if line.strip().startswith(f"{command} "))
        assert SCRIPT[language].search(line)
    assert attnx("--help", "--lang", language).stdout == page
    assert attnx("--help", env={"ATTNX_LANG": language, "LC_ALL": "C"}).stdout == page
    assert attnx("--help", env={"LC_ALL": {"zh": "zh_CN.UTF-8", "ru": "ru_RU.UTF-8"}[language]}).stdout == page


@with_language
def test_the_help_of_commands(attnx: Attnx, language: str) -> None:
    for command in ("show", "batch"):
        page = attnx("--lang", language, command, "--help").stdout
        assert not ENGLISH.search(page)
        assert load_catalog(language).text("help.help") in page
        assert "[" + load_catalog(language).text("click.default_value", default="builtin") in page


@with_language
@pytest.mark.parametrize(("arguments", "key", "values"), WRONG)
def test_wrong_use_is_said_in_the_language_of_the_terminal(
    cli: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    language: str,
    arguments: list[str],
    key: str,
    values: dict[str, Any],
) -> None:
    monkeypatch.setenv("ATTNX_LANG", language)
    result = cli(*arguments)
    assert result.exit_code == 2
    assert load_catalog(language).text(key, **values) in result.stderr
    assert not ENGLISH.search(result.stderr)


def test_what_a_user_typed_cannot_steer_the_terminal(cli: Callable[..., Any]) -> None:
    for arguments in (
        ["show", "a", "\x1b[31m"],
        ["\x1b[31m"],
        ["show", "a", "--\x1b[31m"],
        ["batch", "a", "--limit", "\x1b"],
    ):
        result = cli(*arguments)
        assert result.exit_code == 2 and "\x1b" not in result.stderr and "\\x1b" in result.stderr


def test_an_unknown_language_is_refused(cli: Callable[..., Any]) -> None:
    result = cli("--lang", "xx", "--help")
    assert result.exit_code == 2 and "xx" in result.stderr and len(result.stderr.splitlines()) == 1


def test_the_language_ends_with_the_run(cli: Callable[..., Any]) -> None:
    assert load_catalog("ru").text("click.no_command", name="'x'") in cli("--lang", "ru", "x").stderr
    assert "ATTNX_LANG" not in os.environ
    assert "There is no command 'x'." in cli("x").stderr
    assert "Show this message and exit." in cli("--help").stdout


def test_every_message_of_the_list_is_one_of_clicks() -> None:
    """A new version of Click that says something in other words is noticed here."""
    from inspect import getsource

    from click import core, decorators, exceptions, formatting, parser, types

    said = "".join(getsource(module) for module in (core, decorators, exceptions, formatting, parser, types))
    plain = re.sub(r'"\s*\n\s*"', "", said).replace("\\n", "\n").replace("\\t", "\t")
    assert [message for message in KEYS if f'"{message}"' not in plain] == []
