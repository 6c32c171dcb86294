"""Tables: CSV and TSV with a header, where a record of the wrong shape is reported and never shifted into place."""

import csv
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from attnx.corpus.columns import find_column, listed, text_column
from attnx.corpus.lines import MAXIMUM_LINE, Line
from attnx.corpus.records import BadRow, CorpusOptions, Found, FoundItem
from attnx.errors import InputError

COMMA, TAB = ",", "\t"
DELIMITERS = (COMMA, TAB, ";", "|")  # that a header of one column may really be divided by
TAB_NAMES = ("\\t", "tab")
REREADING = 4  # times the characters of a file; many more are needed only where someone means it

Record = tuple[int, list[str]]  # the number of its first line, and its fields


def read_csv(name: str, lines: Iterable[Line], options: CorpusOptions) -> Iterator[FoundItem]:
    """Yield the rows of a table divided by commas, or by what the options say."""
    return _read_table(name, lines, options, COMMA)


def read_tsv(name: str, lines: Iterable[Line], options: CorpusOptions) -> Iterator[FoundItem]:
    """Yield the rows of a table divided by tabs, or by what the options say."""
    return _read_table(name, lines, options, TAB)


def check_delimiter(delimiter: str) -> str:
    """Return the delimiter as one character: itself, or a tab where its escape or its name is written for it.

    Raises InputError for what cannot divide fields.
    """
    if delimiter in TAB_NAMES:
        return TAB
    if len(delimiter) != 1 or delimiter in '"\r\n\0 ':
        raise InputError("delimiter_invalid", delimiter=delimiter)
    return delimiter


def _read_table(name: str, lines: Iterable[Line], options: CorpusOptions, delimiter: str) -> Iterator[FoundItem]:
    delimiter = check_delimiter(options.delimiter) if options.delimiter else delimiter
    records = _read_records(name, lines, delimiter)
    first = next(records, None)
    if first is None:
        return
    if isinstance(first, BadRow):
        raise InputError("table_header_broken", path=name, line=first.line)
    header = first[1]
    text, id_place = _places(name, header, delimiter, options)
    for record in records:
        yield record if isinstance(record, BadRow) else _found(name, record, len(header), text, id_place)


def _places(name: str, header: Sequence[str], delimiter: str, options: CorpusOptions) -> tuple[int, int | None]:
    """Return where the text is and where the id."""
    others = [mark for mark in DELIMITERS if mark != delimiter and mark in header[0]]
    if len(header) == 1 and options.column is None and others:
        raise InputError("delimiter_unclear", path=name, header=listed(header))
    text = text_column(name, header, options.column)
    return text, None if options.id_column is None else find_column(name, header, options.id_column)


def _found(name: str, record: Record, width: int, text: int, id_place: int | None) -> FoundItem:
    line, fields = record
    if len(fields) != width:
        return BadRow(name, line, "row_fields", {"n": len(fields), "expected": width})
    if id_place is None:
        return Found(line, fields[text])
    if not fields[id_place]:
        return BadRow(name, line, "row_id_missing")
    return Found(line, fields[text], fields[id_place])


def _read_records(name: str, lines: Iterable[Line], delimiter: str) -> Iterator[Record | BadRow]:
    """Yield the records that are not blank.

    After a record that is broken, reading goes on with its second line: a quotation mark that is not closed costs
    one line, not the rest of the file.
    """
    feed = _Feed(lines)
    reader = csv.reader(feed, delimiter=delimiter, strict=True)
    while True:
        feed.begin_record()
        try:
            fields = next(reader)
        except StopIteration:
            return
        except _RecordTooLongError:
            yield BadRow(name, feed.first, "row_too_long", {"limit": MAXIMUM_LINE})
            feed.take_back()
        except csv.Error:
            yield BadRow(name, feed.first, "row_quotes")
            feed.take_back()
        else:
            if fields:
                yield feed.first, fields


class _RecordTooLongError(Exception):
    """A record goes on for more than MAXIMUM_LINE characters."""


class _Feed:
    """Lines for csv.reader, which can be taken back."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = iter(lines)
        self.taken: list[Line] = []
        self.waiting: deque[Line] = deque()
        self.length = 0  # characters taken for this record
        self.budget = 0  # characters that may still be taken back

    @property
    def first(self) -> int:
        """The number of the first line of the record."""
        return self.taken[0][0]

    def begin_record(self) -> None:
        self.taken = []
        self.length = 0

    def take_back(self) -> None:
        """Let all lines of the record but the first come again, unless that has been done too often."""
        if self.length <= self.budget:
            self.budget -= self.length
            self.waiting.extendleft(reversed(self.taken[1:]))

    def __iter__(self) -> "_Feed":
        return self

    def __next__(self) -> str:
        if self.waiting:
            line = self.waiting.popleft()
        else:
            line = next(self.lines)
            self.budget += REREADING * len(line[1])
        self.taken.append(line)
        self.length += len(line[1])
        if self.length > MAXIMUM_LINE:
            raise _RecordTooLongError
        return line[1]
