"""What stays of a head's map when positions are taken away: experiment E3.

A text is run with positions and without them (`attnx.encoders.interventions.positions`: all that a model knows of
places is switched off). D is the mean Jensen–Shannon divergence between the rows of the two maps of a head, special
tokens left out. A head that looks evenly has little to lose, so D is set against chance: D_chance is the divergence
from the same map without positions once its columns are in a random order.

    change = D / D_chance

0: the map stays as it is. 1: what is left is no closer to it than chance. Undefined where D_chance is next to
nothing, as for an even map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from attnx.encoders.baseline import random_twin
from attnx.encoders.encoder import Encoder
from attnx.encoders.interventions.positions import positions_off
from attnx.encoders.records import AttentionMap, Encoding
from attnx.experiments.batching import in_batches
from attnx.experiments.divergence import between
from attnx.experiments.intervals import interval, mean_of
from attnx.experiments.measuring import long_enough
from attnx.experiments.records import (
    Advance,
    Curve,
    Curves,
    Floats,
    HeadMap,
    Options,
    Points,
    Progress,
    Result,
    Row,
    Table,
    TokenMap,
    TokenMaps,
    Words,
)
from attnx.naming import head_name
from attnx.statistics.accumulators.ranks import spearman
from attnx.statistics.maps import positional_rate
from attnx.statistics.view import scope_view
from attnx.texts.sentence import Sentence

KEPT, LOST = 0.25, 0.75  # of the change
RISING = 0.3  # of the rank correlation
EVEN = 1e-3  # nats of D_chance
DRAWS = 4  # orders of the columns
SHOWN = 20  # tokens of the maps that are shown
LEAST_TOKENS = 4  # content tokens
FEW = 10  # texts


@dataclass(frozen=True)
class Measured:
    """D and D_chance in nats and the positional rate with positions, of each text, ``[n, 3, L, H]``, and their mean."""

    texts: Floats

    @property
    def mean(self) -> Floats:
        """The means over texts, ``[3, L, H]``."""
        return mean_of(self.texts)

    @property
    def change(self) -> Floats:
        """D / D_chance, ``[L, H]``."""
        return change_of(self.mean)


def run(encoder: Encoder, sentences: Sequence[Sentence], options: Options, progress: Progress) -> Result:
    """Measure every text with and without positions, on the model and on its twin with random weights."""
    encodings = [encoder.encode(sentence) for sentence in long_enough(encoder, sentences, LEAST_TOKENS)]
    models = encoder, random_twin(encoder, options.seed)
    progress.expect(2 * len(encodings))
    found, twin = (measure(model, encodings, options.seed, progress.advance) for model in models)
    return Result(
        verdict_of(found.mean),
        _numbers(found, twin),
        (
            _summary(found, twin, options.seed),
            *_changes(found),
            _depth(found, twin),
            *_maps(encoder, encodings, found.change),
        ),
        _notes(len(sentences), encodings),
    )


def measure(encoder: Encoder, encodings: Sequence[Encoding], seed: int, advance: Advance) -> Measured:
    """Measure every text. Raises InputError where positions cannot be taken away."""
    generator = torch.Generator().manual_seed(seed)
    found = []
    for batch in in_batches(encoder, encodings):
        before = encoder.observe_batch(batch)
        with positions_off(encoder, batch[0]):
            after = encoder.observe_batch(batch)
        for pair in zip(before, after, strict=True):
            found.append(compare(*pair, generator))
            advance(1)
    return Measured(np.array(found))


def compare(before: AttentionMap, after: AttentionMap, generator: torch.Generator) -> Floats:
    """Return D, D_chance and the positional rate of one text, ``[3, L, H]``."""
    places = torch.tensor([i for i, special in enumerate(before.encoding.special) if not special])
    own, chance = [], []
    # Layer by layer, for the memory.
    for layers in zip(before.weights, after.weights, strict=True):
        old, new = (layer[:, places[:, None], places] for layer in layers)
        own.append(between(old, new))
        orders = [torch.randperm(len(places), generator=generator) for _ in range(DRAWS)]
        chance.append(torch.stack([between(old, new[..., order]) for order in orders]).mean(0))
    rate, _ = positional_rate(scope_view(before, "content"))
    return np.stack([torch.stack(own).numpy(), torch.stack(chance).numpy(), rate.numpy()])


def change_of(mean: Floats) -> Floats:
    """Return D / D_chance, ``[L, H]`` from ``[3, L, H]``, NaN for an even head."""
    divergence, chance, _ = mean
    return np.where(chance >= EVEN, divergence / np.fmax(chance, EVEN), np.nan)


def rising_of(mean: Floats) -> float:
    """Return the rank correlation of the positional rate with the change over heads, NaN where undefined."""
    return spearman(mean[2].ravel(), change_of(mean).ravel())


def verdict_of(mean: Floats) -> str:
    """Return whether some heads keep their maps and others lose them, and whether these look at fixed distances."""
    change = change_of(mean)
    if np.isnan(change).all():
        return "unclear"
    both = bool((change <= KEPT).any()), bool((change >= LOST).any())
    return "holds" if all(both) and rising_of(mean) >= RISING else "mixed" if any(both) else "fails"


def counts(change: Floats) -> dict[str, int]:
    """Return how many heads keep their maps, lose them, and have none to lose."""
    return {
        "kept": int((change <= KEPT).sum()),
        "lost": int((change >= LOST).sum()),
        "even": int(np.isnan(change).sum()),
    }


def _numbers(found: Measured, twin: Measured) -> dict[str, float | int]:
    return {
        "n": len(found.texts),
        "kept_bound": KEPT,
        "lost_bound": LOST,
        **counts(found.change),
        "rho": rising_of(found.mean),
        "rho_chance": rising_of(twin.mean),
    }


def _summary(found: Measured, twin: Measured, seed: int) -> Table:
    """Return the means over heads and the counts, for the model and its twin."""
    rows = []
    for key, one in (("model", found), ("twin", twin)):
        means = np.nanmean(one.mean[:2], (1, 2)).tolist()
        rising = rising_of(one.mean), *interval(one.texts, rising_of, seed)
        rows.append(Row(Words(key), (*means, *map(float, counts(one.change).values()), *rising)))
    columns = tuple(Words(key) for key in ("divergence", "chance", "kept", "lost", "even", "rising", "low", "high"))
    units = ("nats", "nats", "count", "count", "count", "number", "number", "number")
    return Table("summary", columns, units, tuple(rows))


def _changes(found: Measured) -> tuple[HeadMap | Points, ...]:
    """Return the change of each head, and against its positional rate; nothing where all heads are even."""
    if np.isnan(found.change).all():
        return ()
    axes = Words("rate_axis"), Words("change_axis")
    return HeadMap("change", found.change, "number"), Points("rate", axes, found.mean[2], found.change)


def _depth(found: Measured, twin: Measured) -> Curves:
    """Return the mean divergence of each layer."""
    layers = np.arange(1.0, len(found.change) + 1)
    means = [(key, np.nanmean(one.mean[0], 1)) for key, one in (("model", found), ("twin", twin))]
    curves = tuple(Curve(Words(key), layers, mean) for key, mean in means)
    return Curves("depth", (Words("layer_axis"), Words("divergence_axis")), curves)


def _maps(encoder: Encoder, encodings: Sequence[Encoding], change: Floats) -> list[TokenMaps]:
    """Return the maps of the heads that keep most and lose most, of a short text: with, without, the difference."""
    encoding = next((one for one in encodings if len(one.ids) <= SHOWN), None)
    if encoding is None or np.isnan(change).all():
        return []
    before = encoder.observe(encoding).weights
    with positions_off(encoder, encoding):
        after = encoder.observe(encoding).weights
    tokens = tuple(token.text for token in encoding.tokens)
    exhibits = []
    for key, pick in (("keeps", np.nanargmin), ("loses", np.nanargmax)):
        layer, head = divmod(int(pick(change)), change.shape[1])
        old, new = (weights[layer, head].double().numpy() for weights in (before, after))
        shown = (("with", old), ("without", new), ("difference", new - old))
        named = {"head": head_name(layer, head)}
        maps = tuple(TokenMap(Words(label, named), values, tokens) for label, values in shown)
        exhibits.append(TokenMaps(key, maps, signed=True))
    return exhibits


def _notes(given: int, encodings: Sequence[Encoding]) -> tuple[Words, ...]:
    """Return what could mislead: texts left out, long texts and few texts."""
    measured = len(encodings)
    notes = []
    if measured < given:
        notes.append(Words("left_out", {"n": given - measured, "least": LEAST_TOKENS}))
    if all(len(encoding.ids) > SHOWN for encoding in encodings):
        notes.append(Words("no_maps", {"most": SHOWN}))
    if measured < FEW:
        notes.append(Words("small", {"n": measured}))
    return tuple(notes)
