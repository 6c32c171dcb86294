"""Which column holds the texts."""

from collections.abc import Sequence

from attnx.errors import InputError

DEFAULT_COLUMN = "text"
LISTED = 20
NAME_LENGTH = 40


def text_column(path: str, names: Sequence[str], asked: str | None) -> int:
    """Return the place of the column of the texts: `asked`, else the one called ``text``, else the only one.

    Raises InputError that lists the columns where there is no such column, or more than one of the name.
    """
    if asked is None and DEFAULT_COLUMN not in names:
        if len(names) == 1:
            return 0
        raise InputError("column_unclear", path=path, columns=listed(names))
    return find_column(path, names, asked or DEFAULT_COLUMN)


def find_column(path: str, names: Sequence[str], name: str) -> int:
    """Return the place of the column `name`; raises InputError when it is not there exactly once."""
    count = names.count(name)
    if count == 1:
        return names.index(name)
    raise InputError("column_twice" if count else "column_missing", path=path, column=name, columns=listed(names))


def listed(names: Sequence[str]) -> str:
    """Return the names in one line of bounded length."""
    shown = [name if len(name) <= NAME_LENGTH else f"{name[:NAME_LENGTH]}…" for name in names[:LISTED]]
    return ", ".join(shown if len(names) <= LISTED else [*shown, "…"])
