"""Sentences become ids, many at once; what only a reader needs of an encoding is made when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from attnx.encoders.records import Encoding, Token
from attnx.encoders.tokenizing import Cut, cut_sentences, tokenize
from attnx.errors import InputError
from attnx.statistics.view import only_punctuation
from attnx.streaming.frames import Layout
from attnx.streaming.records import Refused

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder
    from attnx.texts.sentence import Sentence

AT_ONCE = 256  # sentences; a fast tokenizer works on them side by side


class LightEncoding(Encoding):
    """An encoding that knows its ids and classes of tokens, and tokenizes again for the labels and words of a reader.

    `punctuation` ``[T]`` is the class of that name.
    """

    special: tuple[bool, ...]
    punctuation: tuple[bool, ...]

    def __init__(self, encoder: Encoder, cut: Cut) -> None:
        text, spans = cut.sentence.text, cut.spans
        special = cut.special
        punctuation = [
            not alone and only_punctuation(text[slice(*spans[i])]) for i, alone in zip(cut.kept, special, strict=True)
        ]
        vars(self).update(
            sentence=cut.sentence,
            ids=cut.ids,
            special=special,
            punctuation=tuple(punctuation),
            cls=cut.cls,
            sep=cut.sep,
            truncated_from=cut.truncated_from,
            _encoder=encoder,
        )

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens with their labels, spans and words."""
        encoder: Encoder = vars(self)["_encoder"]
        return tokenize(encoder.tokenizer, self.sentence, encoder.max_tokens).tokens

    @property
    def layout(self) -> Layout:
        """The places of the special tokens."""
        return Layout(self.special, self.cls, self.sep)


@dataclass(frozen=True)
class Item:
    """A sentence that is ready for the model."""

    number: int
    group: int
    encoding: LightEncoding


def read(encoder: Encoder, sentences: Iterable[tuple[int, int, Sentence]], long: str) -> Iterator[Item | Refused]:
    """Yield an item for every sentence, or why there is none, in their order; `long` is that of `Encoder.encode`."""
    remaining = iter(sentences)
    while some := list(islice(remaining, AT_ONCE)):
        cuts = cut_sentences(encoder.tokenizer, [sentence for _, _, sentence in some], encoder.max_tokens, long)
        for (number, group, _), cut in zip(some, cuts, strict=True):
            if isinstance(cut, InputError):
                yield Refused(number, cut.key, cut.values)
            else:
                yield Item(number, group, LightEncoding(encoder, cut))
