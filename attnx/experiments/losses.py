"""How much worse a masked LM guesses hidden tokens when heads are changed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from attnx.encoders.encoder import Encoder
from attnx.encoders.interventions.records import Variant
from attnx.encoders.interventions.run import intervene
from attnx.encoders.masked_lm import MaskedLM
from attnx.encoders.records import Encoding
from attnx.experiments.batching import variant_batches
from attnx.experiments.records import Advance, Floats

# Of the ordinary tokens, as in training (Devlin et al. 2019, section 3.1), though here each becomes the mask.
HIDDEN = 0.15


@dataclass(frozen=True)
class Masked:
    """A text in which the tokens at some `places` are hidden; `targets` are their ids."""

    encoding: Encoding
    places: tuple[int, ...]
    targets: tuple[int, ...]


def mask_some(encoding: Encoding, mask_id: int, seed: int) -> Masked:
    """Hide 15 % of the ordinary tokens, at least one, drawn from the seed and the text."""
    ordinary = [place for place, special in enumerate(encoding.special) if not special]
    chance = random.Random(f"{seed} {encoding.sentence.text}")
    places = tuple(sorted(chance.sample(ordinary, max(1, round(HIDDEN * len(ordinary))))))
    ids = tuple(mask_id if place in places else i for place, i in enumerate(encoding.ids))
    return Masked(replace(encoding, ids=ids), places, tuple(encoding.ids[place] for place in places))


def loss_of(encoder: Encoder, head: MaskedLM, masked: Masked) -> float:
    """Return the mean of −ln p over the hidden tokens of a text, in nats, with all heads as they are."""
    return float(_losses(encoder, head, masked, [Variant()])[0])


def rises(encoder: Encoder, head: MaskedLM, masked: Masked, variants: Sequence[Variant], advance: Advance) -> Floats:
    """Return by how much the loss rises under each variant, in nats, ``[variants]``; below 0 it falls."""
    before = loss_of(encoder, head, masked)
    found = []
    for some in variant_batches(encoder, masked.encoding, variants):
        found.append(_losses(encoder, head, masked, some) - before)
        advance(len(some))
    return np.concatenate(found)


def _losses(encoder: Encoder, head: MaskedLM, masked: Masked, variants: Sequence[Variant]) -> Floats:
    states = intervene(encoder, [masked.encoding] * len(variants), variants).states
    return head.losses(states[:, list(masked.places)], masked.targets).numpy()
