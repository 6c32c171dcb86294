"""Which word each token belongs to."""

from collections.abc import Sequence

from attnx.texts.spans import Span, trim


def number_words(text: str, spans: Sequence[Span], own: Sequence[int | None]) -> tuple[int, ...]:
    """Return the index of the word of every token that is not special, counted from 0, never falling.

    `spans` are half-open character ranges in `text`, `own` what the tokenizer calls the token's word. A word ends
    where the tokenizer ends it, and also at white space: a tokenizer without a pre-tokenizer has the whole text as
    one word, one without word numbers says nothing. The space in a token is no part of a word; a token of white
    space alone belongs to the word after it, and behind the last word it is one more.
    """
    words: list[int] = []
    word, end, name, spaces = -1, 0, None, 0
    for span, own_word in zip(spans, own, strict=True):
        first, last = trim(text, *span)
        if first == last:
            spaces += 1
            continue
        if word < 0 or own_word != name or (first > end and any(map(str.isspace, text[end:first]))):
            word += 1
        words += [word] * (spaces + 1)
        end, name, spaces = max(end, last), own_word, 0
    return (*words, *[word + 1] * spaces)
