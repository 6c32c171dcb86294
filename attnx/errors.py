"""Errors a user can cause: a catalogue key with values, never prose, and an exit code.

The words are in ``locales/*.yaml`` under ``errors``; the command line shows them in the user's language.
"""

import os
import re
from typing import IO, Any

import click

from attnx.i18n import terminal_catalog

# Controls, line separators and the marks that turn the direction of writing.
STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class AttnxError(click.ClickException):
    """Something failed that the user can act on. Exit code 1."""

    exit_code = 1

    def __init__(self, key: str, **values: Any) -> None:  # noqa: ANN401 - whatever the message names
        self.key = key
        self.values = values
        super().__init__(key)

    def format_message(self) -> str:
        """Return the message in the language of the user's terminal."""
        return printable(terminal_catalog().text(f"errors.{self.key}", **self.values))

    def __str__(self) -> str:
        return self.format_message()

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message to stderr, one or two plain lines."""
        prefix = terminal_catalog().text("terminal.error_prefix")
        click.echo(f"{prefix}{self.format_message()}", file=file, err=file is None)


class InputError(AttnxError):
    """Wrong use or unusable input (a text, a model name, an output path). Exit code 2."""

    exit_code = 2


def printable(line: str) -> str:
    """Return `line` with control characters as escapes: a name or text in it cannot steer the terminal or break it."""
    return STEERING.sub(lambda match: match[0].encode("unicode_escape").decode(), line)


def os_reason(error: OSError) -> str:
    """Return the operating system's own words for `error`, without numbers and paths."""
    return os.strerror(error.errno) if error.errno else str(error)
