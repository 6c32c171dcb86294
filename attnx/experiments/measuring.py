"""Many texts through the stream, for the experiments that take means over them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from attnx.errors import AttnxError, InputError
from attnx.statistics.accumulators.shape import Shape
from attnx.streaming.engine import stream
from attnx.streaming.records import NAMES, BatchScores, MapObserver, Refused
from attnx.texts.sentence import Sentence

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder
    from attnx.experiments.records import Advance


def shape_of(encoder: Encoder, seed: int) -> Shape:
    """Return what the accumulators have to know of the model."""
    info = encoder.info
    return Shape(info.layers, info.heads, NAMES, info.reach, seed)


def long_enough(encoder: Encoder, sentences: Sequence[Sentence], least: int) -> list[Sentence]:
    """Return the sentences with `least` tokens or more besides the special ones.

    Raises InputError where none has so many.
    """
    kept = [sentence for sentence in sentences if encoder.encode(sentence).special.count(False) >= least]
    if not kept:
        raise InputError("experiment_short", text=sentences[0].text, least=least)
    return kept


def measured(
    encoder: Encoder, sentences: Sequence[Sentence], observers: Sequence[MapObserver], advance: Advance
) -> Iterator[BatchScores]:
    """Yield the scores of all sentences, numbered in their order, in batches of one length.

    Raises the error of a sentence that cannot be measured.
    """
    numbered = ((number, 0, sentence) for number, sentence in enumerate(sentences))
    for found in stream(encoder, numbered, observers):
        if isinstance(found, Refused):
            raise AttnxError(found.key, **found.values)
        advance(len(found.batch.numbers))
        yield found
