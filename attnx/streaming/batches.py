"""Batches of sentences of one length, so that nothing is padded and a sentence's numbers depend on no other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, islice

from attnx.streaming.memory import give_back
from attnx.streaming.reading import Item
from attnx.streaming.records import Refused


def cut_batches(items: Iterable[Item | Refused], budget: int, look_ahead: int) -> Iterator[list[Item] | Refused]:
    """Yield batches of one layout and at most `budget` tokens (a longer sentence is one alone), short ones first.

    `look_ahead` sentences at a time are sorted, and all of them are done before the next are read; those that were
    refused come first.
    """
    remaining = iter(items)
    while window := list(islice(remaining, look_ahead)):
        yield from (item for item in window if isinstance(item, Refused))
        ready = [item for item in window if isinstance(item, Item)]
        ready.sort(key=_layout)
        for _, group in groupby(ready, key=_layout):
            same = list(group)
            size = max(1, budget // len(same[0].encoding.ids))
            for start in range(0, len(same), size):
                yield same[start : start + size]
        give_back()


def _layout(item: Item) -> tuple[int, tuple[bool, ...], tuple[int, ...], tuple[int, ...]]:
    layout = item.encoding.layout
    return len(layout.special), layout.special, layout.cls, layout.sep
