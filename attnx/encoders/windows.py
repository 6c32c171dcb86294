"""A text longer than the model takes, as overlapping windows that each hold what the model takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from attnx.encoders.records import Encoding
from attnx.encoders.tokenizing import tokenize

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder
    from attnx.texts.sentence import Sentence


@dataclass(frozen=True)
class Windows:
    """How a text of `total` tokens was measured: in `count` windows of `length` tokens, special ones included.

    Each window has at least `overlap` tokens of the text in common with the next, which is about half of them.
    """

    count: int
    length: int
    overlap: int
    total: int


@dataclass(frozen=True)
class Window:
    """A piece of a text as the model sees it, and for each of its tokens whether its row counts here ``[T]``.

    A token of the text counts in the one window where it is farthest from a border, and so has most around it; the
    special tokens before and after, which every window has of its own, count in each.
    """

    encoding: Encoding
    counted: tuple[bool, ...]


def read_windows(encoder: Encoder, sentence: Sentence, long: str) -> tuple[Windows | None, Iterator[Window]]:
    """Return the windows that a sentence is measured in and how they lie, which is None where one holds it all.

    `long` is ``windows``, or what else `Encoder.encode` takes, which always gives one. Raises what that raises.
    """
    encoding = encoder.encode(sentence, long)
    if long != "windows" or encoding.truncated_from is None:
        return None, iter((Window(encoding, (True,) * len(encoding.ids)),))
    return cut_windows(tokenize(encoder.tokenizer, sentence, None), len(encoding.ids))


def cut_windows(encoding: Encoding, length: int) -> tuple[Windows, Iterator[Window]]:
    """Cut an encoding into windows of `length` tokens, fewer than it has but more than its special ones.

    They lie evenly from the first token of the text to its last, as few as leave each half in common with the next.
    """
    before = sum(1 for _ in takewhile(lambda token: token.special, encoding.tokens))
    after = sum(1 for _ in takewhile(lambda token: token.special, reversed(encoding.tokens)))
    total = len(encoding.ids)
    room = length - before - after
    last = total - before - after - room  # where the last window begins, in tokens of the text
    steps = -(-last // (room - room // 2))
    starts = [before + step * last // steps for step in range(steps + 1)]
    # A row changes over in the middle of what two windows have in common.
    borders = [before, *((left + right + room + 1) // 2 for left, right in pairwise(starts)), total - after]
    overlap = room - max(right - left for left, right in pairwise(starts))
    windows = (
        _window(encoding, range(before), range(start, start + room), range(total - after, total), range(*own))
        for start, own in zip(starts, pairwise(borders), strict=True)
    )
    return Windows(len(starts), length, overlap, total), windows


def _window(encoding: Encoding, before: range, text: range, after: range, own: range) -> Window:
    """Return the window of the tokens at `before`, `text` and `after`, in which those at `own` count."""
    kept = [*before, *text, *after]
    cut = Encoding(
        encoding.sentence,
        tuple(encoding.ids[i] for i in kept),
        tuple(encoding.tokens[i] for i in kept),
        tuple(place for place, i in enumerate(kept) if i in encoding.cls),
        tuple(place for place, i in enumerate(kept) if i in encoding.sep),
        None,
    )
    return Window(cut, tuple(i in own or i not in text for i in kept))
