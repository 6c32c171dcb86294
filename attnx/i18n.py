"""Catalogues, plural forms and numbers in Chinese, Russian and English.

A language is one file, ``locales/<language>.yaml``: nested mappings whose leaves are messages. A message is a
string with ``{name}`` placeholders, or a mapping from plural category (Babel's: one, few, many, other) to such
strings, chosen by the value `n`. A placeholder may say how its number is written: ``{share:percent}``,
``{x:decimal2}``, ``{n:integer}``.
"""

import math
import os
import string
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import yaml

from attnx.resources import resource_dir

if TYPE_CHECKING:
    from datetime import datetime

    from babel import Locale

DEFAULT_LANGUAGE = "en"
# Of the language of the terminal; ``attnx --lang`` sets it for one run, so that threads and other processes know it.
LANGUAGE_VARIABLE = "ATTNX_LANG"
# Simplified Chinese is the only Chinese catalogue; the caller says so to readers of the traditional script.
TRADITIONAL = ("tw", "hk", "mo", "hant")


@cache
def languages() -> tuple[str, ...]:
    """Return the codes of the languages that have a catalogue, sorted."""
    return tuple(sorted(path.stem for path in resource_dir("locales").glob("*.yaml")))


def match_language(name: str) -> str | None:
    """Return the catalogue for a locale name such as ``zh_CN.UTF-8``, ``ru-RU`` or ``C``; None if there is none."""
    plain = name.split(".")[0].split("@")[0].replace("_", "-").lower()
    if plain in {"c", "posix"}:
        return DEFAULT_LANGUAGE
    primary = plain.split("-")[0]
    return primary if primary in languages() else None


def html_lang(language: str) -> str:
    """Return the BCP 47 tag of a language: ``zh-Hans``, ``ru``, ``en``."""
    return "zh-Hans" if language == "zh" else language


def is_traditional(name: str) -> bool:
    """Tell whether a locale name asks for traditional Chinese, which is answered in simplified characters."""
    subtags = name.split(".")[0].replace("_", "-").lower().split("-")
    return subtags[0] == "zh" and any(tag in TRADITIONAL for tag in subtags[1:])


class Catalog:
    """The messages of one language, with its plural rule and its way to write numbers."""

    def __init__(self, language: str, messages: Mapping[str, Any]) -> None:
        self.language = language
        self.messages = messages
        self._formatter = _NumberFormatter(self)
        self._decimal = cache(self._write_decimal)

    @cached_property
    def locale(self) -> "Locale":
        """Babel's locale, loaded on first use because the import is slow."""
        from babel import Locale

        return Locale.parse("zh_Hans" if self.language == "zh" else self.language)

    @property
    def html_lang(self) -> str:
        """The BCP 47 tag for documents in this language."""
        return html_lang(self.language)

    def text(self, key: str, **values: Any) -> str:  # noqa: ANN401 - whatever the message names
        """Return the message `key` with its placeholders filled in.

        Raises KeyError for an unknown key or a missing value: a gap in a catalogue is a bug, not a blank.
        """
        message = self._find(key)
        if isinstance(message, Mapping):
            message = message[self.locale.plural_form(values["n"])]
        return self._formatter.vformat(message, (), values)

    def percent(self, share: float, digits: int = 0) -> str:
        """Write a share between 0 and 1 as a percentage, with this language's sign and spacing."""
        from babel.numbers import format_percent

        pattern = str(self.locale.percent_formats[None].pattern)
        if digits:
            pattern = pattern.replace("0", "0." + "0" * digits)
        return str(format_percent(share, format=pattern, locale=self.locale))

    def decimal(self, value: float, digits: int) -> str:
        """Write a number with a fixed count of decimal places; a negative zero is written as zero."""
        # A report writes thousands of numbers, of which few are different once they are rounded.
        return self._decimal(round(value, digits) + 0.0, digits)

    def _write_decimal(self, value: float, digits: int) -> str:
        from babel.numbers import format_decimal

        pattern = "#,##0." + "0" * digits if digits else "#,##0"
        return str(format_decimal(value, format=pattern, locale=self.locale)).replace("-", "−")

    def date(self, moment: "datetime") -> str:
        """Write a date the way this language does in running text."""
        from babel.dates import format_date

        return str(format_date(moment, "long", locale=self.locale))

    def _find(self, key: str) -> Any:  # noqa: ANN401 - a string or a plural mapping
        node: Any = self.messages
        for part in key.split("."):
            try:
                node = node[part]
            except (KeyError, TypeError):
                raise KeyError(f"no message {key!r} in locales/{self.language}.yaml") from None
        return node


class _NumberFormatter(string.Formatter):
    """Format ``{x:percent}`` and its kin the way the catalogue's language writes numbers."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: ANN401 - any placeholder's value
        if isinstance(value, float) and math.isnan(value):
            return self._catalog.text("table.undefined")
        if format_spec.startswith("percent"):
            return self._catalog.percent(value, int(format_spec[7:] or 0))
        if format_spec.startswith("decimal"):
            return self._catalog.decimal(value, int(format_spec[7:]))
        if format_spec == "integer":
            return self._catalog.decimal(value, 0)
        return str(value)


PLURAL_CATEGORIES = frozenset({"zero", "one", "two", "few", "many", "other"})


def leaves(messages: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (dotted key, message) for every message; a plural mapping is one message."""
    for name, node in messages.items():
        if isinstance(node, Mapping) and not set(node) <= PLURAL_CATEGORIES:
            yield from leaves(node, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", node


@cache
def load_catalog(language: str) -> Catalog:
    """Read the catalogue of a language that has one."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with (resource_dir("locales") / f"{language}.yaml").open(encoding="utf-8") as file:
        return Catalog(language, yaml.load(file, Loader=loader))


def terminal_language() -> str:
    """Return the language of the user's terminal, by ``ATTNX_LANG`` or the usual environment variables."""
    for variable in (LANGUAGE_VARIABLE, "LC_ALL", "LC_MESSAGES", "LANG"):
        if name := os.environ.get(variable):
            return match_language(name) or DEFAULT_LANGUAGE
    return DEFAULT_LANGUAGE


def terminal_catalog() -> Catalog:
    """Return the catalogue for messages to the user's terminal."""
    return load_catalog(terminal_language())
