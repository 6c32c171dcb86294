"""The stream: sentences in, the scores of batches out, in memory that does not grow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from attnx.encoders.folder import first_line
from attnx.streaming.batches import cut_batches
from attnx.streaming.reading import Item, read
from attnx.streaming.records import Batch, BatchScores, MapObserver, Refused
from attnx.streaming.reduction import Reduction
from attnx.streaming.routes import most_sentences, route_for
from attnx.streaming.scorer import BadRowsError

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder
    from attnx.texts.sentence import Sentence

TOKEN_BUDGET = 1024
LOOK_AHEAD = 2048


def stream(
    encoder: Encoder,
    sentences: Iterable[tuple[int, int, Sentence]],
    observers: Sequence[MapObserver] = (),
    *,
    long: str = "cut",
    token_budget: int = TOKEN_BUDGET,
    look_ahead: int = LOOK_AHEAD,
) -> Iterator[BatchScores | Refused]:
    """Measure the sentences, each with a running number and the index of its file, in batches as they are done.

    A sentence's scores do not depend on the others. `long` is ``cut`` or ``error``: what to do with a text longer than
    the model takes. A sentence that cannot be tokenized or measured is refused, and the others go on; observers
    never see the end of a batch that failed. `look_ahead` sentences are sorted by length at a time.
    """
    for batch in cut_batches(read(encoder, sentences, long), token_budget, look_ahead):
        if isinstance(batch, Refused):
            yield batch
        else:
            yield from _measure(encoder, batch, observers)


def _measure(
    encoder: Encoder, items: Sequence[Item], observers: Sequence[MapObserver]
) -> Iterator[BatchScores | Refused]:
    """Yield the scores of a batch; where it fails, of its parts, down to the sentences that are at fault."""
    batch = Batch(
        np.array([item.number for item in items], dtype=np.int64),
        tuple(item.encoding for item in items),
        np.array([item.group for item in items], dtype=np.int64),
    )
    encodings = [item.encoding for item in items]
    route = route_for(encoder, batch, encodings)
    most = most_sentences(encoder, route, batch.tokens)
    if len(items) > most:
        yield from _measure_parts(encoder, items, most, observers)
        return
    reduction = Reduction(encoder, batch, encodings, observers)
    try:
        route(reduction)
    except BadRowsError as error:
        bad = [item for item, is_bad in zip(items, error.members, strict=True) if is_bad]
        yield from (Refused(item.number, "check_rows", {"type": encoder.info.type}) for item in bad)
        good = [item for item, is_bad in zip(items, error.members, strict=True) if not is_bad]
        yield from _measure_parts(encoder, good, len(items), observers)
    except (MemoryError, RuntimeError, ValueError, TypeError, LookupError) as error:
        if len(items) > 1:
            yield from _measure_parts(encoder, items, -(-len(items) // 2), observers)
        elif isinstance(error, MemoryError):
            yield Refused(items[0].number, "out_of_memory", {})
        else:
            values = {"type": encoder.info.type, "tokens": batch.tokens, "reason": first_line(error)}
            yield Refused(items[0].number, "forward_failed", values)
    else:
        yield reduction.scores()


def _measure_parts(
    encoder: Encoder, items: Sequence[Item], size: int, observers: Sequence[MapObserver]
) -> Iterator[BatchScores | Refused]:
    for start in range(0, len(items), size):
        yield from _measure(encoder, items[start : start + size], observers)
