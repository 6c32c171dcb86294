"""The inputs of ``attnx measure``: sentences as arguments, text files with one a line, or standard input."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from attnx.errors import InputError, os_reason

STDIN = "-"
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
            yield from _lines(sys.stdin.buffer, "stdin")
        elif _is_file(argument):
            try:
                with Path(argument).open("rb") as file:
                    yield from _lines(file, argument)
            except OSError as error:
                raise InputError("input_unreadable", path=argument, reason=os_reason(error)) from error
        else:
            yield InputText(argument, None, None)


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
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip("\r\n")
        except UnicodeDecodeError as error:
            raise InputError("input_not_utf8", path=path, position=position + error.start) from error
        position += len(line)
        if text.strip():
            yield InputText(text, path, number)
