"""Where the pieces of a tokenizer that keeps no offsets stand in the text.

transformers has tokenizers written in Python that turn a text into strings and forget where each came from. The
strings are laid on the text from left to right, both folded: no case, no compatibility forms, no white space, accents
only where both have them, and without the marks by which a vocabulary says that a piece starts, continues or ends a
word.
"""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, groupby, pairwise

import regex

from attnx.texts.spans import Span, trim

START_MARKS = ("##", "▁", "Ġ")
END_MARKS = ("</w>", "@@")
BROKEN = "\ufffd"  # what bytes that are no whole character are read as
REACH = 64  # folded characters that the tokenizer may have dropped before a piece
RUN = regex.compile(r"\S+")
# What many tokenizers part at white space and at punctuation, and Han characters one by one.
WORD = regex.compile(r"\p{Script=Han}|[\p{P}\p{S}]|[^\s\p{P}\p{S}\p{Script=Han}]+")
# What a tokenizer may strip from a letter or a text: accents, controls and other characters without a width.
DROPPED = regex.compile(r"[\p{M}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]")


@dataclass(frozen=True)
class Placed:
    """Where a piece stands: its half-open span in the text, and a name only where the text there does not say it.

    The last resort, for pieces that are not found: they share what lies between their neighbors, and each is called by
    its own letters, marks taken off.
    """

    span: Span
    name: str | None = None


def place_pieces(
    text: str,
    pieces: Sequence[str],
    cut: Callable[[str], Sequence[str]],
    read: Callable[[str], str],
    unknown: str | None,
) -> tuple[Placed, ...]:
    """Return where each of `pieces` stands in `text`.

    `cut` is the tokenizer on a text, `read` turns a piece into text (for vocabularies of bytes), and `unknown` is the
    piece for what the vocabulary lacks: it takes the text up to the next piece that is found. Pieces that are the
    characters or the bytes of the text are placed exactly.
    """
    if exact := _exact_spans(text, pieces):
        return tuple(Placed(span) for span in exact)
    runs = [(match.start(), match[0]) for match in RUN.finditer(text)]
    parts = [list(cut(run)) for _start, run in runs]
    # Mostly a tokenizer cuts what stands between white space by itself; then no doubt goes beyond it.
    if list(chain.from_iterable(parts)) != list(pieces):
        runs, parts = [(0, text)], [list(pieces)]
    return tuple(
        Placed((place.span[0] + shift, place.span[1] + shift), place.name)
        for (shift, run), part in zip(runs, parts, strict=True)
        for place in _place_run(run, part, read, unknown)
    )


def _exact_spans(text: str, pieces: Sequence[str]) -> list[Span]:
    if "".join(pieces) == text:
        ends = [0]
        for piece in pieces:
            ends.append(ends[-1] + len(piece))
        return list(pairwise(ends))
    if list(pieces) == [chr(byte) for byte in text.encode()]:
        return [(i, i + 1) for i, character in enumerate(text) for _byte in character.encode()]
    return []


def _place_run(text: str, pieces: Sequence[str], read: Callable[[str], str], unknown: str | None) -> list[Placed]:
    letters = [(letter, i) for i, character in enumerate(text) for letter in _fold(character)]
    folded, origins = "".join(letter for letter, _i in letters), [i for _letter, i in letters]
    names = [_name(piece, read) for piece in pieces]
    found: list[Span | None] = []
    at = 0
    for piece, name in zip(pieces, names, strict=True):
        spot = None if piece == unknown else _find(folded, at, (_fold_all(piece), _fold_all(name)))
        found.append(spot and (origins[spot[0]], origins[spot[1] - 1] + 1))
        at = spot[1] if spot else at
    placed: list[Placed] = []
    for missing, group in groupby(range(len(pieces)), key=lambda i: found[i] is None):
        if missing:
            these = list(group)
            before = found[these[0] - 1] if these[0] else None
            after = found[these[-1] + 1] if these[-1] + 1 < len(found) else None
            gap = (before[1] if before else 0, after[0] if after else len(text))
            placed += _share(text, gap, [names[i] for i in these], [pieces[i] == unknown for i in these])
        else:
            placed += [Placed(span) for i in group if (span := found[i])]
    return placed


def _share(text: str, gap: Span, names: Sequence[str], unknown: Sequence[bool]) -> list[Placed]:
    """Return the part of the gap that each of the pieces takes which were not found; white space takes none."""
    start, end = trim(text, gap[0], max(gap))
    letters = [(i, i + 1) for i in range(start, end) if not text[i].isspace() and not DROPPED.match(text[i])]
    runs, words = ([match.span() for match in pattern.finditer(text, start, end)] for pattern in (RUN, WORD))
    many = sum(map(bool, names))
    # One piece is all of the gap; more pieces than letters are parts of letters, which labels number.
    fitting = [cut for cut in ([(start, end)], runs, words, letters) if letters and len(cut) == many]
    spans = iter(fitting[0] if fitting else [(start, end)] * many)
    told = bool(fitting) or many > len(letters) > 0
    placed: list[Placed] = []
    at = start
    for name, is_unknown in zip(names, unknown, strict=True):
        span = next(spans) if name else (at, at)
        at = span[1]
        placed.append(Placed(span, None if told or not name or (is_unknown and letters) else name))
    return placed


def _find(folded: str, at: int, wanted: Sequence[str]) -> Span | None:
    """Return the first place of any of `wanted`, from `at` on and within reach."""
    for start in range(at, min(at + REACH, len(folded))):
        for letters in filter(None, wanted):
            if (spot := _match(folded, start, letters)) is not None:
                return spot
    return None


def _match(folded: str, start: int, wanted: str) -> Span | None:
    """Return the span from the first letter of `wanted` to the last if it stands at `start`, accents skipped."""
    at = start
    first: int | None = None
    for letter in wanted:
        while at < len(folded) and folded[at] != letter and DROPPED.match(folded[at]):
            at += 1
        if at == len(folded) or folded[at] != letter:
            return None
        first = at if first is None else first
        at += 1
    return None if first is None else (first, at)


def _name(piece: str, read: Callable[[str], str]) -> str:
    """Return the letters of a piece, without the marks of its vocabulary; nothing for white space."""
    text = read(piece)
    text = (piece if BROKEN in text else text).strip()
    for mark in START_MARKS:
        text = text.removeprefix(mark)
    for mark in END_MARKS:
        text = text.removesuffix(mark)
    return text.strip()


def _fold_all(text: str) -> str:
    return "".join(map(_fold, text))


@lru_cache(maxsize=4096)
def _fold(character: str) -> str:
    """Return a character without case and compatibility forms, an accent after its letter; nothing for white space."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    return "".join(folded.split())
