"""What goes into an experiment and what comes out: a verdict with its numbers, and exhibits that show it.

Words are never here. A key names them in the locales, below ``experiments.<name>``: a verdict under ``verdicts``, an
exhibit's ``title`` and ``reading`` under ``exhibits.<key>``, any other label under ``labels``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder
    from attnx.texts.sentence import Sentence

Floats = NDArray[np.float64]
VERDICTS = ("holds", "mixed", "fails", "unclear")
# What a message can name; NaN is undefined.
Values = Mapping[str, float | int | str]
Advance = Callable[[int], None]


@dataclass(frozen=True)
class Words:
    """A label in the reader's language: ``labels.<key>`` with `values`, or the name of the statistic of that key.

    A plain string is a label that stays as it is.
    """

    key: str
    values: Values = field(default_factory=dict)


Label = str | Words


@dataclass(frozen=True)
class HeadMap:
    """One number a head, float64 ``[L, H]``, NaN where undefined; `unit` is one of ``units`` in the locales.

    A `signed` map has a scale that is as long below zero as above.
    """

    key: str
    values: Floats
    unit: str
    signed: bool = False


@dataclass(frozen=True)
class TokenMap:
    """One square map of a head, float64 ``[T, T]``, with the labels of its tokens and a label of its own."""

    label: Label
    values: Floats
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class TokenMaps:
    """Maps side by side on one scale: from 0 to the largest, or from −largest to it if `signed`; `unit` as above."""

    key: str
    maps: tuple[TokenMap, ...]
    signed: bool = False
    unit: str = "share"


@dataclass(frozen=True)
class Curve:
    """A line from point to point, float64 ``[N]`` each; `low` and `high` are the band around it, if there is one."""

    label: Label
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None


@dataclass(frozen=True)
class Curves:
    """Lines between two axes, whose names are `axes`: x, y."""

    key: str
    axes: tuple[Label, Label]
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Points:
    """A point a head between two axes, float64 ``[L, H]`` each; `axes` are named x, y.

    It has the color of its layer, or, where there are `roles` ``[L][H]``, the sign and the color of its role, by its
    name in `attnx.statistics.roles`; empty is none.
    """

    key: str
    axes: tuple[Label, Label]
    x: Floats
    y: Floats
    roles: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Row:
    """A row of a table: its label, and numbers (NaN where undefined) or labels."""

    label: Label
    cells: tuple[float | Label, ...]


@dataclass(frozen=True)
class Table:
    """A table; the head of its first column is the label ``<key>``, `columns` are the others.

    `units` says how the numbers of each column are written: one of ``units`` in the locales, or ``count``; labels of
    the unit ``formula`` have lowered and raised parts: ``W_Q``, ``K^T``.
    """

    key: str
    columns: tuple[Label, ...]
    units: tuple[str, ...]
    rows: tuple[Row, ...]


Exhibit = HeadMap | TokenMaps | Curves | Points | Table


@dataclass(frozen=True)
class Result:
    """What an experiment found.

    `verdict` is one of VERDICTS; `numbers` are what its words name. `notes` are keys
    under ``notes``, with values: what could mislead here.
    """

    verdict: str
    numbers: Values
    exhibits: tuple[Exhibit, ...]
    notes: tuple[Words, ...] = ()


@dataclass(frozen=True)
class Options:
    """What a user may choose: the seed of all chance, other orders of the first text, a head (layer, head) from 0.

    `other` is a second model, to compare the first with.
    """

    seed: int = 0
    variants: tuple[str, ...] = ()
    head: tuple[int, int] | None = None
    other: Encoder | None = None


class Progress:
    """Hears how many forward passes there will be, and how many more are done. This one keeps it to itself."""

    def expect(self, passes: int) -> None:
        """Hear how many there will be."""

    def advance(self, passes: int) -> None:
        """Hear that so many more are done."""


class Experiment(Protocol):
    """The function `run` of an experiment's file."""

    def __call__(self, encoder: Encoder, sentences: Sequence[Sentence], options: Options, progress: Progress) -> Result:
        """Run it. Raises InputError where it cannot be run on this model or these texts."""
