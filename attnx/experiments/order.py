"""Which heads follow words and which follow places: experiments E1 and E2.

A text and the same tokens in another order, ``new[i] = old[order[i]]``. In the position frame a head's new map is
compared with the old one place by place; in the content frame the old map is put into the new order first. A head
that looks at places has the same map in the position frame, one that looks at tokens in the content frame:

    index = (D_pos − D_cont) / (D_pos + D_cont)

with D the mean Jensen–Shannon divergence over rows, special tokens left out: +1 follows tokens, −1 follows places.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import torch

from attnx.encoders.baseline import random_twin
from attnx.encoders.encoder import Encoder
from attnx.encoders.records import Encoding
from attnx.errors import InputError
from attnx.experiments.batching import in_batches
from attnx.experiments.divergence import between
from attnx.experiments.records import (
    Advance,
    Floats,
    HeadMap,
    Options,
    Progress,
    Result,
    Row,
    Table,
    TokenMap,
    TokenMaps,
    Words,
)
from attnx.experiments.variants import RULES, Order, given_order, in_order, orders
from attnx.naming import head_name
from attnx.texts.sentence import Sentence, read_sentence

DRAWS = 8  # orders of each rule
CLEAR = 0.5  # of the index
SHOWN = 20  # tokens of the maps that are shown
LEAST_TOKENS = 4  # content tokens, fewer have hardly another order
FEW = 10  # texts
GIVEN = "given"
# What is said of a rule that changed nothing.
UNCHANGED = {
    "reordered": "no_reordered",
    "broken": "no_broken",
    "shuffled": "no_shuffled",
    "inverted": "no_inverted",
}


@dataclass(frozen=True)
class Change:
    """One variant of a text: by which rule it was made, and the order."""

    rule: str
    encoding: Encoding
    order: Order


def run(encoder: Encoder, sentences: Sequence[Sentence], options: Options, progress: Progress) -> Result:
    """Measure every variant of every text, on the model and on its twin with random weights."""
    changes = make_changes(encoder, sentences, options)
    twin = random_twin(encoder, options.seed)
    progress.expect(2 * len(changes))
    frames = measure(encoder, changes, progress.advance)
    index, chance = (index_of(*mean_frames(one)) for one in (frames, measure(twin, changes, progress.advance)))
    return Result(
        verdict_of(index),
        _numbers(index, chance, len(changes)),
        (
            HeadMap("index", index, "number", signed=True),
            _table(changes, frames),
            *_maps(encoder, changes, index),
        ),
        _notes(changes),
    )


def make_changes(encoder: Encoder, sentences: Sequence[Sentence], options: Options) -> list[Change]:
    """Return the variants of all texts. Raises InputError where a text has too few tokens, or a variant others."""
    chance = random.Random(options.seed)
    changes = []
    encodings = [encoder.encode(sentence) for sentence in sentences]
    for encoding in encodings:
        if sum(not token.special for token in encoding.tokens) < LEAST_TOKENS:
            raise InputError("experiment_short", text=encoding.sentence.text, least=LEAST_TOKENS)
        for rule in RULES:
            changes += [Change(rule, encoding, order) for order in orders(rule, encoding, chance, DRAWS)]
    for text in options.variants:
        other = encoder.encode(read_sentence(text))
        changes.append(Change(GIVEN, encodings[0], given_order(encodings[0], other)))
    return changes


def measure(encoder: Encoder, changes: Sequence[Change], advance: Advance) -> Floats:
    """Return the divergences of each change in the position and in the content frame, ``[changes, 2, L, H]``."""
    found = []
    for encoding, group in groupby(changes, key=lambda change: change.encoding):
        own = list(group)
        places = torch.tensor([i for i, token in enumerate(encoding.tokens) if not token.special])
        [old] = observed(encoder, [encoding])
        for change, new in zip(own, observed(encoder, [in_order(encoding, c.order) for c in own]), strict=True):
            moved = torch.tensor(change.order)[places]
            frames = [old[..., at[:, None], at] for at in (places, moved)]
            found.append([between(new[..., places[:, None], places], frame).numpy() for frame in frames])
            advance(1)
    return np.array(found)


def observed(encoder: Encoder, encodings: Sequence[Encoding]) -> Iterator[torch.Tensor]:
    """Yield the weights of texts of one length, as many in a batch as memory allows."""
    for batch in in_batches(encoder, encodings):
        yield from (found.weights for found in encoder.observe_batch(batch))


def mean_frames(frames: Floats) -> tuple[Floats, Floats]:
    """Return the mean divergences in both frames, over the changes in which they are defined."""
    position, content = np.nanmean(frames, axis=0)
    return position, content


def index_of(position: Floats, content: Floats) -> Floats:
    """Return the index of each head, NaN where nothing changed in either frame."""
    total = position + content
    return np.where(total > 0, (position - content) / np.where(total > 0, total, 1), np.nan)


def verdict_of(index: Floats) -> str:
    """Return whether some heads clearly follow places and others tokens."""
    followers = bool((index >= CLEAR).any()), bool((index <= -CLEAR).any())
    return "holds" if all(followers) else "mixed" if any(followers) else "fails"


def _weights(encoder: Encoder, encoding: Encoding) -> torch.Tensor:
    return encoder.observe(encoding).weights


def _numbers(index: Floats, chance: Floats, changes: int) -> dict[str, float | int | str]:
    top, bottom = (divmod(int(pick(index)), index.shape[1]) for pick in (np.nanargmax, np.nanargmin))
    return {
        "n": changes,
        "content": int((index >= CLEAR).sum()),
        "position": int((index <= -CLEAR).sum()),
        "clear": CLEAR,
        "top": head_name(*top),
        "top_index": float(index[top]),
        "bottom": head_name(*bottom),
        "bottom_index": float(index[bottom]),
        "chance_low": float(np.nanmin(chance)),
        "chance_high": float(np.nanmax(chance)),
    }


def _table(changes: Sequence[Change], frames: Floats) -> Table:
    """Return the mean divergences and the index of every rule, over all heads."""
    rows = []
    for rule in (*RULES, GIVEN):
        chosen = [i for i, change in enumerate(changes) if change.rule == rule]
        if chosen:
            position, content = mean_frames(frames[chosen])
            index = float(np.nanmean(index_of(position, content)))
            cells = (float(len(chosen)), float(np.nanmean(position)), float(np.nanmean(content)), index)
            rows.append(Row(Words(rule), cells))
    columns = tuple(Words(name) for name in ("variants", "d_pos", "d_cont", "index"))
    return Table("rules", columns, ("count", "nats", "nats", "number"), tuple(rows))


def _maps(encoder: Encoder, changes: Sequence[Change], index: Floats) -> list[TokenMaps]:
    """Return the maps of the two clearest heads, before and after one change of a short text."""
    short = [change for change in changes if len(change.encoding.ids) <= SHOWN]
    # What moves most tokens comes first: an order of the user's own, halves swapped, all tokens mixed.
    shown = next((change for rule in (GIVEN, *reversed([*RULES])) for change in short if change.rule == rule), None)
    if shown is None:
        return []
    after = in_order(shown.encoding, shown.order)
    exhibits = []
    for key, pick in (("follows_content", np.nanargmax), ("follows_position", np.nanargmin)):
        layer, head = divmod(int(pick(index)), index.shape[1])
        maps = [
            TokenMap(
                Words(label, {"head": head_name(layer, head)}),
                _weights(encoder, encoding)[layer, head].double().numpy(),
                tuple(token.text for token in encoding.tokens),
            )
            for label, encoding in (("before", shown.encoding), ("after", after))
        ]
        exhibits.append(TokenMaps(key, tuple(maps)))
    return exhibits


def _notes(changes: Sequence[Change]) -> tuple[Words, ...]:
    """Return what could mislead: a rule that changed nothing, long texts and few texts."""
    missing = [rule for rule in RULES if all(change.rule != rule for change in changes)]
    texts = len({id(change.encoding) for change in changes})
    notes = [Words(UNCHANGED[rule]) for rule in missing]
    if all(len(change.encoding.ids) > SHOWN for change in changes):
        notes.append(Words("no_maps", {"most": SHOWN}))
    return (*notes, *((Words("small", {"n": texts}),) if texts < FEW else ()))
