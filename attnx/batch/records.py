"""What a job is asked to do, and what has been done of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from attnx.corpus.records import CorpusOptions
from attnx.encoders.records import ModelRequest


@dataclass(frozen=True)
class Job:
    """The wish: which inputs (files, or ``-``), where to, by which model and how.

    `long` is ``cut`` or ``error``: what to do with a text longer than the model takes. `language` is that of
    the report, None for that of most sentences. `each` adds a report for every sentence, `strict` stops at the first
    record that cannot be used. `command` is quoted in the reports.
    """

    inputs: tuple[str, ...]
    output: Path
    model: ModelRequest
    reading: CorpusOptions
    long: str = "cut"
    language: str | None = None
    each: bool = False
    strict: bool = False
    command: str = ""


@dataclass(frozen=True)
class Counts:
    """What became of the records of one input.

    So many were measured, refused with an error, and left out because they are empty. `cut` of the measured ones are
    longer than the model takes; `shortest` and `longest` are the measured ones' tokens, 0 where there are none.
    """

    measured: int = 0
    refused: int = 0
    empty: int = 0
    cut: int = 0
    shortest: int = 0
    longest: int = 0

    @property
    def seen(self) -> int:
        """The records that came with a text: measured or refused."""
        return self.measured + self.refused

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.measured + other.measured,
            self.refused + other.refused,
            self.empty + other.empty,
            self.cut + other.cut,
            min((size for size in (self.shortest, other.shortest) if size), default=0),
            max(self.longest, other.longest),
        )


@dataclass(frozen=True)
class Progress:
    """How far a job has come.

    `shards` are done, `items` of the reader are behind them; `counts` has one entry an input; `languages` counts the
    sentences measured in each language; `finished` is true once there is nothing left to read.
    """

    counts: tuple[Counts, ...]
    shards: int = 0
    items: int = 0
    languages: Mapping[str, int] = field(default_factory=dict)
    finished: bool = False

    @property
    def total(self) -> Counts:
        """The counts of all inputs together."""
        return sum(self.counts, Counts())
