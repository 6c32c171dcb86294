"""Numbers and names as a corpus report writes them."""

from collections.abc import Sequence

import numpy as np

from attnx.i18n import Catalog
from attnx.naming import head_name
from attnx.report.corpus.document import CorpusDocument
from attnx.report.corpus.roles import Scores
from attnx.report.fonts import display_label
from attnx.report.grids import number
from attnx.report.typography import cut_middle

FILE_CHARACTERS = 40
DIGITS = {"share": 1, "tokens": 2, "nats": 3, "number": 2}


def amount(value: float, unit: str, t: Catalog) -> str:
    """Write a mean over sentences: a percentage, or decimals; a dash where it is not defined."""
    if np.isnan(value):
        return t.text("table.undefined")
    return t.percent(value, DIGITS[unit]) if unit == "share" else t.decimal(value, DIGITS[unit])


def plus_minus(mean: float, low: float, high: float, unit: str, t: Catalog) -> str:
    """Write a mean with half the width of its interval, shares in percent without the sign."""
    if np.isnan(mean):
        return t.text("table.undefined")
    factor, digits = (100, 1) if unit == "share" else (1, 2)
    middle = t.decimal(factor * mean, digits)
    if np.isnan(low):
        return middle
    return t.text("corpus.table.interval", mean=middle, half=t.decimal(factor * (high - low) / 2, digits))


def head_scores(scores: Scores, head: tuple[int, int], unit: str, t: Catalog) -> str:
    """Write one head's mean with half the width of its interval."""
    mean, low, high = (float(values[head]) for values in (scores.mean, scores.low, scores.high))
    return plus_minus(mean, low, high, unit, t)


def span(values: Sequence[float], unit: str, t: Catalog) -> tuple[str, ...]:
    """Write numbers as the maps do: shares in percent without the sign."""
    return tuple(number(value, unit, t) for value in values)


def listed(heads: Sequence[tuple[int, int]], most: int, t: Catalog) -> str:
    """Name heads, the first `most` of them."""
    names = t.text("corpus.list_separator").join(head_name(*head) for head in heads[:most])
    return names if len(heads) <= most else t.text("corpus.and_more", names=names, more=len(heads) - most)


def file_name(document: CorpusDocument, index: int) -> str:
    """Return the name of an input as a report writes it."""
    return cut_middle(display_label(document.files[index].name), FILE_CHARACTERS)
