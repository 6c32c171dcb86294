"""Spans: half-open ranges of characters in a text."""

from collections.abc import Iterable

Span = tuple[int, int]


def trim(text: str, start: int, end: int) -> Span:
    """Return the span without the white space at its ends; an empty one where there is nothing else."""
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    return start, start + len(part.strip())


def clamp(spans: Iterable[Span], length: int) -> tuple[Span, ...]:
    """Return the spans inside a text of `length` characters, none of them starting before an earlier one.

    Some normalizers reorder characters, and the offsets with them: what would start too early takes the span before
    it. A token of nothing in the text has an empty span.
    """
    clamped: list[Span] = []
    before = (0, 0)
    for start, end in spans:
        start, end = max(0, min(start, length)), min(end, length)
        if start >= end:
            start = end = max(start, before[0])
        elif start < before[0]:
            start, end = before
        before = (start, end)
        clamped.append(before)
    return tuple(clamped)
