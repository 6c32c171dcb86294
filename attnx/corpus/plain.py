"""Text files with one sentence a line."""

from collections.abc import Iterable, Iterator

from attnx.corpus.lines import MAXIMUM_LINE, Line
from attnx.corpus.records import BadRow, CorpusOptions, Found, FoundItem


def read_plain(name: str, lines: Iterable[Line], options: CorpusOptions) -> Iterator[FoundItem]:
    """Yield every line that is not blank, as it stands."""
    for number, line in lines:
        if len(line) > MAXIMUM_LINE:
            yield BadRow(name, number, "row_too_long", {"limit": MAXIMUM_LINE})
        elif line.strip():
            yield Found(number, line.rstrip("\r\n"))
