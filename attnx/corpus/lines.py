"""The lines of a text file: decoded strictly, numbered, none longer than memory allows."""

import io
from collections.abc import Iterator
from typing import BinaryIO, TextIO

from attnx.corpus.encodings import SAMPLE_BYTES, wrong_encoding

MAXIMUM_LINE = 1_000_000  # characters: ten texts of the greatest length, for what else is in a record
LINE_ENDS = ("\n", "\r")
BOM = "\ufeff"

Line = tuple[int, str]  # its number from 1, and its text with the line end


class Source(io.BufferedIOBase):
    """The bytes of a file, of which `head` are the first and known before; `handed` counts those given out."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        self.name = name
        self.head = file.read(SAMPLE_BYTES)
        self.file = file
        self.handed = 0

    def readable(self) -> bool:
        """Tell TextIOWrapper that this can be read."""
        return True

    def read1(self, size: int = -1, /) -> bytes:
        """Return the next bytes, at most `size`, empty at the end."""
        begun = self.handed < len(self.head)
        data = self.head[self.handed : self.handed + size] if begun else self.file.read(size)
        self.handed += len(data)
        return data


def read_lines(source: Source, encoding: str) -> Iterator[Line]:
    """Yield the numbered lines of a text file.

    A line ends as in any Python text file, and keeps its end. One that is longer than MAXIMUM_LINE is cut to one
    character more, which shows it; the rest is read and dropped. A byte order mark begins a file, not a text.

    Raises InputError at the first byte that `encoding` does not have, with its place in the file.
    """
    text = io.TextIOWrapper(source, encoding, errors="strict", newline="")
    number = 0
    try:
        while line := text.readline(MAXIMUM_LINE + 1):
            number += 1
            if len(line) > MAXIMUM_LINE:
                _skip_line(text, line)
            yield number, line.removeprefix(BOM) if number == 1 else line
    except UnicodeError as error:
        raise wrong_encoding(source.name, encoding, source.head, _position(source, error)) from error


def _skip_line(text: TextIO, piece: str) -> None:
    while piece and not piece.endswith(LINE_ENDS):
        piece = text.readline(MAXIMUM_LINE)


def _position(source: Source, error: UnicodeError) -> int:
    """Return where in the file the byte stands: what the decoder had in hand ends where the source has got to."""
    if isinstance(error, UnicodeDecodeError):
        return source.handed - len(error.object) + error.start
    return source.handed
