"""Texts in batches that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from attnx.encoders.encoder import rows_at_once

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder
    from attnx.encoders.interventions.records import Variant
    from attnx.encoders.records import Encoding


# Rows of a batch, beyond which it does not get faster.
ROWS = 48


def variant_batches(encoder: Encoder, encoding: Encoding, variants: Sequence[Variant]) -> Iterator[Sequence[Variant]]:
    """Yield the variants of one text, as many at once as fit."""
    size = min(ROWS, rows_at_once(encoder, len(encoding.ids)))
    for start in range(0, len(variants), size):
        yield variants[start : start + size]


def in_batches(encoder: Encoder, encodings: Sequence[Encoding], copies: int = 1) -> Iterator[list[Encoding]]:
    """Yield all texts, the longest first, as many at once as fit when there are `copies` of each.

    Texts whose weights padding would change are batched with those of their own length alone.
    """
    rest = sorted(encodings, key=lambda encoding: -len(encoding.ids))
    while rest:
        longest = len(rest[0].ids)
        batch = rest[: max(1, rows_at_once(encoder, longest) // copies)]
        if encoder.apart:
            batch = [encoding for encoding in batch if len(encoding.ids) == longest]
        yield batch
        rest = rest[len(batch) :]
