"""What passes between a corpus file and whoever measures it."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class CorpusOptions:
    """How to read the inputs; None is the default that `read_corpus` describes.

    `sample` rows are drawn from the first `limit` rows, the same for the same `seed`.
    """

    column: str | None = None
    id_column: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    format: str | None = None
    limit: int | None = None
    sample: int | None = None
    seed: int = 0


@dataclass(frozen=True)
class CorpusRow:
    """One text: `number` counts the rows of all inputs from 0, `line` the physical lines of `file` from 1.

    A record may take several lines, and `line` is its first; in Parquet it is the row. `id` is what the file says,
    otherwise ``file:line``.
    """

    number: int
    id: str
    text: str
    file: str
    line: int


@dataclass(frozen=True)
class BadRow:
    """A record that cannot be used, and why: `key` is a message under ``errors``, `values` what it names."""

    file: str
    line: int
    key: str
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class EmptyRow:
    """A record whose text is null, empty or white space: left out, and no error. Blank lines are not even that."""

    file: str
    line: int


@dataclass(frozen=True)
class DetectedEncoding:
    """A notice before the rows of a file that is not Unicode and whose encoding nobody named."""

    file: str
    encoding: str


@dataclass(frozen=True)
class Found:
    """A record as a reader found it, before what holds for all formats is checked; `id` None: the file has none."""

    line: int
    text: str
    id: str | None = None


CorpusItem = CorpusRow | BadRow | EmptyRow | DetectedEncoding
FoundItem = Found | BadRow | EmptyRow
