"""A sentence as the user gave it, and the language it is written in."""

import unicodedata
from dataclasses import dataclass

import regex

from attnx.errors import InputError

HAN = regex.compile(r"\p{Script=Han}")
CYRILLIC = regex.compile(r"\p{Script=Cyrillic}")
LATIN = regex.compile(r"\p{Script=Latin}")
BOM = "\ufeff"
MAXIMUM_CHARACTERS = 100_000  # many times what any encoder takes


@dataclass(frozen=True)
class Sentence:
    """One sentence: the text exactly as given (a leading byte order mark apart) and its language (zh, ru or en)."""

    text: str
    language: str


def read_sentence(text: str) -> Sentence:
    """Return the sentence for a text from the command line.

    Raises InputError when nothing in it can be seen (empty, white space, only invisible characters), or when it is so
    long that it cannot be meant as one text.
    """
    if len(text) > MAXIMUM_CHARACTERS:
        raise InputError("text_too_large", length=len(text), limit=MAXIMUM_CHARACTERS)
    text = text.removeprefix(BOM)
    if not text.strip():
        raise InputError("empty_text")
    if not any(is_visible(character) for character in text):
        raise InputError("invisible_text", codes=" ".join(code_point(c) for c in text[:8]))
    return Sentence(valid_unicode(text), guess_language(text))


def valid_unicode(argument: str) -> str:
    """Return an argument without lone surrogates (undecodable bytes), which can be neither tokenized nor written."""
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def guess_language(text: str) -> str:
    """Return zh, ru or en by the script that most of the text is written in; en where there is none of the three.

    A Han character counts as two letters, for it is worth about a word's half where a letter is a fifth.
    """
    counts = {"zh": 2 * len(HAN.findall(text)), "ru": len(CYRILLIC.findall(text)), "en": len(LATIN.findall(text))}
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] else "en"


def is_visible(character: str) -> bool:
    """Tell whether a character leaves ink: not white space, control, format, unassigned or a combining mark alone."""
    return unicodedata.category(character)[0] not in "ZCM"


def code_point(character: str) -> str:
    """Return the code point of a character as people write it: ``U+200B``."""
    return f"U+{ord(character):04X}"
