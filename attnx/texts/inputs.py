"""The inputs of ``attnx measure``: sentences as arguments, text files with one a line, or standard input."""

import codecs
import io
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from attnx.errors import InputError, os_reason

STDIN = "-"
STDIN_NAME = "stdin"
MAXIMUM_LINES = 10_000


@dataclass(frozen=True)
class InputText:
    """A text and where it stands: a file's name and line (from 1), or None for an argument."""

    text: str
    path: str | None
    line: int | None


def read_inputs(arguments: Iterable[str]) -> Iterator[InputText]:
    """Yield the texts of the arguments in order.

    ``-`` is standard input and an argument that names a file is that file, both UTF-8 with one sentence a line,
    blank lines left out; anything else is itself the sentence.

    Raises InputError for a file that cannot be read or is not UTF-8.
    """
    for argument in arguments:
        if argument == STDIN:
            yield from _lines(_stdin(), STDIN_NAME)
        elif _is_file(argument):
            try:
                with Path(argument).open("rb") as file:
                    yield from _lines(file, argument)
            except OSError as error:
                raise InputError("input_unreadable", path=argument, reason=os_reason(error)) from error
        else:
            yield InputText(argument, None, None)


def read_stdin() -> str:
    """Return standard input as one text without the line end that a shell adds, UTF-8 whatever the locale."""
    return _decode(_stdin().read(), STDIN_NAME, 0).strip("\r\n")


def _stdin() -> IO[bytes]:
    return sys.stdin.buffer if sys.stdin else io.BytesIO()  # there is none where it was closed


def _is_file(argument: str) -> bool:
    try:
        return Path(argument).is_file()
    except (OSError, ValueError):  # a sentence can be too long for a name, or hold a null byte
        return False


def _lines(file: Iterable[bytes], path: str) -> Iterator[InputText]:
    position = 0
    for number, line in enumerate(islice(file, MAXIMUM_LINES + 1), start=1):
        if number > MAXIMUM_LINES:
            raise InputError("input_too_many", path=path, limit=MAXIMUM_LINES)
        text = _decode(line, path, position).strip("\r\n")
        position += len(line)
        if text.strip():
            yield InputText(text, path, number)


def _decode(data: bytes, path: str, position: int) -> str:
    """Return UTF-8 bytes that begin at `position` in a file as text; a byte order mark begins a file, not a text."""
    body = data.removeprefix(codecs.BOM_UTF8) if position == 0 else data
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            "input_not_utf8", path=path, position=position + len(data) - len(body) + error.start
        ) from error
