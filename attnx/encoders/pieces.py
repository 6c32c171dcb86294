"""A text as its tokenizer cuts it, whether the tokenizer keeps offsets or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnx.encoders.offsets import place_pieces
from attnx.texts.sentence import is_visible
from attnx.texts.spans import Span

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# The roles of special tokens, the most telling name first.
ROLES = ("cls", "sep", "bos", "eos", "mask", "unk", "pad")


@dataclass(frozen=True)
class Pieces:
    """A whole text with its special tokens; every field has one entry a token.

    `strings` are those of the vocabulary, `spans` half-open character ranges in the text, `words` the tokenizer's own
    word numbers, None where it has none. `names` are labels for tokens whose span does not tell what they are.
    """

    ids: tuple[int, ...]
    strings: tuple[str, ...]
    spans: tuple[Span, ...]
    special: tuple[bool, ...]
    words: tuple[int | None, ...]
    names: tuple[str | None, ...]


def cut_texts(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> list[Pieces]:
    """Return each text as the tokenizer cuts it, its special tokens around it.

    A special token that the text spells, such as ``</s>``, is cut like any other text. Where a tokenizer finds it all
    the same, because it is a piece of the vocabulary like the others, it is cut in two before.
    """
    if tokenizer.is_fast:
        return _cut_fast(tokenizer, list(texts))
    return [_cut_python(tokenizer, text) for text in texts]


def python_frame(tokenizer: PreTrainedTokenizerBase) -> tuple[list[int], list[int]]:
    """Return the ids that a tokenizer without offsets puts before and after a text."""
    content = -1  # no token has this id
    framed: list[int] = tokenizer.build_inputs_with_special_tokens([content])
    at = framed.index(content)
    return framed[:at], framed[at + 1 :]


def _cut_fast(tokenizer: Any, texts: list[str]) -> list[Pieces]:  # noqa: ANN401 - the attributes of a fast tokenizer
    # Not verbose: the length is dealt with elsewhere, and transformers would write about it to the terminal.
    options = {"split_special_tokens": True, "return_special_tokens_mask": True, "verbose": False}
    found = tokenizer(texts, **options).encodings
    symbols = [symbol for symbol in tokenizer.all_special_tokens if len(symbol) > 1]
    reserved = set(tokenizer.convert_tokens_to_ids(symbols)) - {tokenizer.unk_token_id}

    def spelled(one: Any) -> bool:  # noqa: ANN401 - tokenizers has no types
        return any(i in reserved and not mark for i, mark in zip(one.ids, one.special_tokens_mask, strict=True))

    again = [place for place, one in enumerate(found) if spelled(one)]
    if again:
        backend = tokenizer.backend_tokenizer
        before = backend.pre_tokenizer
        backend.pre_tokenizer = _symbol_cutter(symbols, before)
        try:
            better = tokenizer([texts[place] for place in again], **options).encodings
        finally:
            backend.pre_tokenizer = before
        found = [better[again.index(place)] if place in again else one for place, one in enumerate(found)]
    return [_pieces(one) for one in found]


def _pieces(found: Any) -> Pieces:  # noqa: ANN401 - tokenizers has no types
    return Pieces(
        tuple(found.ids),
        tuple(found.tokens),
        tuple(found.offsets),
        tuple(map(bool, found.special_tokens_mask)),
        tuple(found.word_ids),
        (None,) * len(found.ids),
    )


def _symbol_cutter(symbols: list[str], before: Any) -> Any:  # noqa: ANN401 - tokenizers has no types
    """Return the pre-tokenizer `before`, and after it one that cuts every symbol behind its first letter."""
    from tokenizers import Regex, pre_tokenizers

    def literally(part: str) -> str:
        return "".join(f"\\x{{{ord(character):x}}}" for character in part)

    pattern = "|".join(f"(?<={literally(symbol[0])})(?={literally(symbol[1:])})" for symbol in symbols)
    cutter = pre_tokenizers.Split(Regex(pattern), "isolated")
    return cutter if before is None else pre_tokenizers.Sequence([before, cutter])


def _cut_python(tokenizer: Any, text: str) -> Pieces:  # noqa: ANN401 - the methods of a Python tokenizer
    symbols = {symbol for symbol in tokenizer.all_special_tokens if len(symbol) > 1} - {tokenizer.unk_token}

    def cut(part: str) -> list[str]:
        # Some never split a special token, others know no other way to split: so it is split after it was found.
        strings: list[str] = []
        for string in tokenizer.tokenize(part):
            spelled = string in symbols and string in part
            strings += [*tokenizer.tokenize(string[0]), *tokenizer.tokenize(string[1:])] if spelled else [string]
        return strings

    strings = cut(text)
    ids = tokenizer.convert_tokens_to_ids(strings)
    places = place_pieces(
        text, strings, cut, lambda string: tokenizer.convert_tokens_to_string([string]), tokenizer.unk_token
    )
    before, after = python_frame(tokenizer)
    return Pieces(
        (*before, *ids, *after),
        (*_symbols(tokenizer, before), *strings, *_symbols(tokenizer, after)),
        (*[(0, 0)] * len(before), *[place.span for place in places], *[(0, 0)] * len(after)),
        (*[True] * len(before), *[False] * len(ids), *[True] * len(after)),
        (None,) * (len(before) + len(ids) + len(after)),
        (*[None] * len(before), *[place.name for place in places], *[None] * len(after)),
    )


def _symbols(tokenizer: Any, ids: list[int]) -> list[str]:  # noqa: ANN401 - the methods of a Python tokenizer
    """Return the names of special tokens, by their roles where they are characters that cannot be seen (CANINE)."""
    roles = {getattr(tokenizer, f"{role}_token_id"): f"[{role.upper()}]" for role in reversed(ROLES)}
    strings = tokenizer.convert_ids_to_tokens(ids)
    return [
        string if any(map(is_visible, string)) else roles.get(i, string) for i, string in zip(ids, strings, strict=True)
    ]
