"""JSON Lines: one object a line, of which one value is the text."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, NoReturn

from attnx.corpus.columns import DEFAULT_COLUMN, find_column, text_column
from attnx.corpus.lines import MAXIMUM_LINE, Line
from attnx.corpus.records import BadRow, CorpusOptions, Found, FoundItem

LOOKAHEAD = 20  # records in which a column that was asked for has to appear
MISSING = object()

Record = tuple[int, dict[str, Any]]  # the number of its line, and its values


class Number(str):
    """A JSON number as it is written: an id like 1e5 or of many digits stays what it is."""

    __slots__ = ()


class NotANumberError(ValueError):
    """NaN or Infinity, which Python's parser takes and JSON does not have."""


def read_json_lines(name: str, lines: Iterable[Line], options: CorpusOptions) -> Iterator[FoundItem]:
    """Yield the row of every line that is not blank. The columns are the keys of the first objects."""
    records = _read_records(name, lines)
    head = list(_until(records, {column for column in (options.column, options.id_column) if column}))
    names = list(dict.fromkeys(key for record in head if not isinstance(record, BadRow) for key in record[1]))
    column = names[text_column(name, names, options.column)] if names else options.column or DEFAULT_COLUMN
    if names and options.id_column:
        find_column(name, names, options.id_column)
    for record in chain(head, records):
        yield record if isinstance(record, BadRow) else _found(name, record, column, options.id_column)


def _until(records: Iterable[Record | BadRow], wanted: set[str]) -> Iterator[Record | BadRow]:
    """Yield the records up to the first with all keys that are wanted."""
    for record in islice(records, LOOKAHEAD):
        yield record
        if not isinstance(record, BadRow) and wanted <= record[1].keys():
            return


def _found(name: str, record: Record, column: str, id_column: str | None) -> FoundItem:
    line, values = record
    text = values.get(column, MISSING)
    if text is MISSING:
        return BadRow(name, line, "row_column_missing", {"column": column})
    if _type(text) != "string":
        return BadRow(name, line, "row_not_text", {"column": column, "type": _type(text)})
    if id_column is None:
        return Found(line, text)
    own = values.get(id_column)
    if not own or not isinstance(own, str):
        return BadRow(name, line, "row_id_missing")
    return Found(line, text, str(own))


def _read_records(name: str, lines: Iterable[Line]) -> Iterator[Record | BadRow]:
    for number, line in lines:
        if line.strip():
            key, values = _parse(line)
            yield BadRow(name, number, key, values) if key else (number, values)


def _parse(line: str) -> tuple[str, dict[str, Any]]:
    """Return an empty key and the object in the line, or the key and the values of the message why there is none."""
    if len(line) > MAXIMUM_LINE:
        return "row_too_long", {"limit": MAXIMUM_LINE}
    try:
        value = json.loads(line, parse_int=Number, parse_float=Number, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        return "row_not_json", {"position": error.pos + 1}
    except NotANumberError as error:
        return "row_nan", {"value": str(error)}
    except RecursionError:
        return "row_too_deep", {}
    return ("", value) if isinstance(value, dict) else ("row_not_object", {"type": _type(value)})


def _refuse(constant: str) -> NoReturn:
    raise NotANumberError(constant)


def _type(value: object) -> str:
    """Return the type of a value as JSON calls it."""
    if value is None:
        return "null"
    names = {bool: "boolean", Number: "number", str: "string", list: "array", dict: "object"}
    return names[type(value)]
