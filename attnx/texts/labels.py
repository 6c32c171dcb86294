"""Readable labels for tokens, cut from the sentence itself and never from the vocabulary.

A vocabulary holds folded, prefixed or byte-encoded strings ("мои" for "мой", "##ing", "Ð¼"): fine for the model,
wrong for a reader.
"""

from collections import Counter
from collections.abc import Sequence

import regex

from attnx.texts.sentence import code_point
from attnx.texts.spans import Span, trim

SPACE_LABEL = "▁"
# The pieces that stand for a space alone; their offsets may cover the next character.
SPACE_PIECES = frozenset({"▁", "Ġ"})
DOTTED_CIRCLE = "◌"
CLUSTER = regex.compile(r"\X")
# Controls, format characters, line ends; and a joiner or selector that has nothing before it to act on.
INVISIBLE = regex.compile(r"[\p{GCB=Control}\p{GCB=CR}\p{GCB=LF}]|^\p{Default_Ignorable_Code_Point}")
LEADING_MARK = regex.compile(r"\p{M}")
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def label_tokens(text: str, spans: Sequence[Span], pieces: Sequence[str], special: Sequence[bool]) -> tuple[str, ...]:
    """Return one label a token.

    `spans` are half-open character ranges in `text`, `pieces` the vocabulary strings, `special` marks tokens the
    tokenizer added. A special token is labeled by its piece, any other by its part of `text`: without white
    space around it, widened to whole grapheme clusters, ``▁`` if nothing is left. Tokens that share one
    part of the text (byte-level BPE cuts letters into bytes) are numbered: 我¹ 我² 我³. Characters that
    cannot be seen are written as code points.
    """
    clusters = [match.span() for match in CLUSTER.finditer(text)]
    starts = {position: start for start, end in clusters for position in range(start, end)}
    ends = {position: end for start, end in clusters for position in range(start, end)}
    parts: list[Span | None] = []
    for (start, end), piece, is_special in zip(spans, pieces, special, strict=True):
        start, end = trim(text, start, end)
        is_space = start == end or (piece in SPACE_PIECES and text[start:end] != piece)
        parts.append(None if is_special or is_space else (starts[start], ends[end - 1]))
    shares = Counter(parts)
    seen: Counter[Span | None] = Counter()
    labels = []
    for part, piece, is_special in zip(parts, pieces, special, strict=True):
        seen[part] += 1
        if part is None:
            labels.append(visible(piece) if is_special else SPACE_LABEL)
        else:
            number = str(seen[part]).translate(SUPERSCRIPTS) if shares[part] > 1 else ""
            labels.append(visible(text[slice(*part)]) + number)
    return tuple(labels)


def visible(part: str) -> str:
    """Return the part, ``▁`` if empty, with invisible characters as code points and a circle under a leading mark."""
    label: str = INVISIBLE.sub(lambda match: code_point(match[0]), part.strip())
    return DOTTED_CIRCLE + label if LEADING_MARK.match(label) else label or SPACE_LABEL
