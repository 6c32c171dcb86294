"""Which model types of transformers attnx can show, as tests/types measured it with a tiny model of each."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_name("types.csv")


@dataclass(frozen=True)
class TypeCoverage:
    """A row of the table.

    `type` is transformers' ``model_type``. `kind` is ``encoder``, ``encoder-decoder``, ``text-tower``, ``multimodal``
    or ``decoder``. `status` is ``exact`` (the weights are those that the model returns), ``adapted`` (they had to be
    put together first, or the reader must know something of them) or ``refused``. `note` holds the keys of the notes,
    separated by spaces, or that of the refusal; `changes` those of what experiments can change: ``heads``,
    ``positions`` (which can be taken away). The words are under ``coverage`` in the locales.
    """

    type: str
    kind: str
    status: str
    note: str
    changes: str = ""


@cache
def read_coverage() -> tuple[TypeCoverage, ...]:
    """Return the table, in the order of transformers' own list of types."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(TypeCoverage(**row) for row in csv.DictReader(file))
