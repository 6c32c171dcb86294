"""Other orders of the same tokens: each is a permutation of the places of a sentence's tokens.

``order[i]`` is the place in the original of what stands at place i. Special tokens stay where they are. The tokens
themselves are moved, not the text, so that every variant has the same tokens in the same number.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import regex

from attnx.encoders.records import Encoding
from attnx.errors import InputError

HAN = regex.compile(r"\p{Han}")
MARK = "▁ "  # what stands for the space before a word

Order = tuple[int, ...]
Words = Sequence[Sequence[int]]  # the places of each word's tokens


def words_of(encoding: Encoding) -> list[list[int]]:
    """Return the places of the tokens of each word, special tokens left out; a Han token is a word of its own."""
    tokens = encoding.tokens
    places = [place for place, token in enumerate(tokens) if not token.special]

    def word(place: int) -> tuple[int | None, int]:
        return tokens[place].word, place if HAN.search(tokens[place].text) else -1

    return [list(group) for _, group in groupby(places, key=word)]


def reordered(words: Words, chance: random.Random) -> list[int]:
    """Put the words in another order; each stays whole."""
    mixed = list(words)
    chance.shuffle(mixed)
    return [place for word in mixed for place in word]


def broken(words: Words, chance: random.Random) -> list[int]:
    """Mix the tokens inside each word; the words stay where they are."""
    return [place for word in words for place in chance.sample(list(word), len(word))]


def shuffled(words: Words, chance: random.Random) -> list[int]:
    """Mix all tokens."""
    return broken([[place for word in words for place in word]], chance)


def inverted(words: Words, chance: random.Random) -> list[int]:
    """Put the second half of the words before the first."""
    middle = len(words) // 2
    return [place for word in (*words[middle:], *words[:middle]) for place in word]


RULES: Mapping[str, Callable[[Words, random.Random], list[int]]] = {
    "reordered": reordered,
    "broken": broken,
    "shuffled": shuffled,
    "inverted": inverted,
}


def orders(rule: str, encoding: Encoding, chance: random.Random, draws: int) -> list[Order]:
    """Return different orders that a rule makes, at most so many; none where it changes nothing."""
    words = words_of(encoding)
    content = [place for word in words for place in word]
    found: dict[Order, None] = {}
    for _ in range(draws):
        order = list(range(len(encoding.ids)))
        for place, moved in zip(content, RULES[rule](words, chance), strict=True):
            order[place] = moved
        found[tuple(order)] = None
    found.pop(tuple(range(len(encoding.ids))), None)
    return list(found)


def given_order(encoding: Encoding, other: Encoding) -> Order:
    """Return the order of the first text's tokens that another text is. Raises InputError where it is none.

    Tokens are the same if their text is: a tokenizer may mark the first of a text. One without a text, such as that
    mark, stays where it is. Of equal tokens the first stands for the first.
    """
    own, others = _texts(encoding), _texts(other)
    if sorted(own.values()) != sorted(others.values()):
        raise InputError(
            "variant_other_tokens",
            text=other.sentence.text,
            own=" ".join(own.values()),
            other=" ".join(others.values()),
        )
    left: dict[str, list[int]] = {}
    for place, text in own.items():
        left.setdefault(text, []).append(place)
    order = list(range(len(encoding.ids)))
    for place, text in zip(own, others.values(), strict=True):
        order[place] = left[text].pop(0)
    return tuple(order)


def _texts(encoding: Encoding) -> dict[int, str]:
    """Return the label of every token that has a text of its own, by its place; special tokens left out."""
    found = {i: token.text.strip(MARK) for i, token in enumerate(encoding.tokens) if not token.special}
    return {place: own for place, own in found.items() if own}


def in_order(encoding: Encoding, order: Order) -> Encoding:
    """Return the encoding with its tokens in another order."""
    return replace(
        encoding,
        ids=tuple(encoding.ids[place] for place in order),
        tokens=tuple(encoding.tokens[place] for place in order),
    )
