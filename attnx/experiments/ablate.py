"""Which heads can go: experiment E7.

Each head alone is changed in four ways, all heads of a layer but one are removed, and heads are removed one after the
other, the least important first. What counts is how far the last hidden states move and, where the model has a
masked-LM head, how much its loss rises.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from attnx.encoders.baseline import random_twin
from attnx.encoders.encoder import Encoder
from attnx.encoders.interventions.gates import importances
from attnx.encoders.masked_lm import find_masked_lm
from attnx.errors import InputError
from attnx.experiments.ablating import moves
from attnx.experiments.losses import loss_of, mask_some, rises
from attnx.experiments.pruning import CLOSER, ORDERS, PARTS, Found, measure, of_each, passes
from attnx.experiments.records import (
    Curve,
    Curves,
    Exhibit,
    Floats,
    HeadMap,
    Options,
    Points,
    Progress,
    Result,
    Row,
    Table,
    Words,
)
from attnx.naming import head_name
from attnx.statistics.accumulators.ranks import spearman
from attnx.texts.sentence import Sentence

SLIGHT = 0.05  # of the distance between two tokens
MOST, SOME = 0.75, 0.25  # of all heads
DIRECTIONS = 16
LEAST_TOKENS = 2
FEW = 10  # texts


def run(encoder: Encoder, sentences: Sequence[Sentence], options: Options, progress: Progress) -> Result:
    """Remove every head from every text; all else on the first texts only, and on the twin with random weights."""
    encodings = [encoder.encode(sentence) for sentence in sentences]
    for encoding in encodings:
        if encoding.special.count(False) < LEAST_TOKENS:
            raise InputError("experiment_short", text=encoding.sentence.text, least=LEAST_TOKENS)
    first = encodings[:CLOSER]
    head = find_masked_lm(encoder, first[0].ids)
    progress.expect(passes(encoder, len(encodings), losses=head is not None))
    gradients = np.mean([importances(encoder, text, DIRECTIONS, options.seed).numpy() for text in first], 0)
    states = measure(
        encoder, encodings, lambda text, some: moves(encoder, text, some, progress.advance), gradients, options.seed
    )
    twin = random_twin(encoder, options.seed)
    chance = of_each(twin, first, lambda text, some: moves(twin, text, some, progress.advance), "removed").mean(0)
    exhibits, notes = _state_exhibits(states, gradients), [Words("closer", {"n": len(first)})]
    if head:
        masked = {text: mask_some(text, head.mask_id, options.seed) for text in encodings}
        losses = measure(
            encoder,
            encodings,
            lambda text, some: rises(encoder, head, masked[text], some, progress.advance),
            gradients,
            options.seed,
        )
        exhibits += _loss_exhibits(losses, states, gradients)
        before = float(np.mean([loss_of(encoder, head, masked[text]) for text in encodings]))
        notes.append(_loss_note(losses, before, sum(len(masked[text].places) for text in encodings)))
    else:
        notes.append(Words("no_loss"))
    if len(encodings) < FEW:
        notes.append(Words("small", {"n": len(encodings)}))
    return Result(verdict_of(states.removed), _numbers(states, chance, len(encodings)), exhibits, tuple(notes))


def verdict_of(removed: Floats) -> str:
    """Return whether most heads can go, each alone: their removal hardly moves the states."""
    share = (removed < SLIGHT).mean()
    return "holds" if share >= MOST else "mixed" if share >= SOME else "fails"


def _numbers(states: Found, chance: Floats, texts: int) -> dict[str, float | int | str]:
    removed = states.removed
    half = PARTS // 2
    return {
        "n": texts,
        "heads": removed.size,
        "free": int((removed < SLIGHT).sum()),
        "slight": SLIGHT,
        "median": float(np.median(removed)),
        "top": _largest(removed),
        "top_moved": float(removed.max()),
        "half_least": float(states.pruned[0, half]),
        "half_random": float(states.pruned[-1, half]),
        "chance_free": int((chance < SLIGHT).sum()),
        "chance_median": float(np.median(chance)),
    }


def _largest(values: Floats) -> str:
    """Return the name of the head with the largest of some values ``[L, H]``."""
    return head_name(*divmod(int(values.argmax()), values.shape[1]))


def _curves(key: str, axis: str, found: Found) -> Curves:
    x = np.linspace(0, 1, PARTS + 1)
    curves = [Curve(Words(name), x, y) for name, y in zip(ORDERS, found.pruned, strict=True)]
    return Curves(key, (Words("removed_axis"), Words(axis)), tuple(curves))


def _closer(found: Found) -> Iterator[tuple[str, Floats]]:
    """Yield the mean effects on the first texts, ``[L, H]``, of each way to change a head and of all others gone."""
    for name, values in {**found.kinds, "alone": found.alone}.items():
        yield name, values[: len(found.alone)].mean(0)


def _table(found: Found, gradients: Floats) -> Table:
    """Return for each way to change a head what it does to the first texts, and whether gradients foretell it."""
    rows = []
    for name, moved in _closer(found):
        numbers = (float((moved < SLIGHT).sum()), float(np.median(moved)), float(moved.max()))
        rows.append(Row(Words(name), (*numbers, _largest(moved), spearman(moved.ravel(), gradients.ravel()))))
    columns = tuple(map(Words, ("free", "median", "largest", "head", "correlation")))
    return Table("change", columns, ("count", "share", "share", "count", "number"), tuple(rows))


def _state_exhibits(states: Found, gradients: Floats) -> tuple[Exhibit, ...]:
    return (
        HeadMap("removed", 100 * states.removed, "number"),
        _curves("pruning", "moved_axis", states),
        _table(states, gradients),
        HeadMap("gradient", gradients, "number"),
        Points("agreement", (Words("gradient_axis"), Words("moved_axis")), gradients, states.removed),
    )


def _loss_exhibits(losses: Found, states: Found, gradients: Floats) -> tuple[Exhibit, ...]:
    rows = []
    for (name, rise), (_, moved) in zip(_closer(losses), _closer(states), strict=True):
        numbers = (float((rise < 0).sum()), float(np.median(rise)), float(rise.max()))
        agreement = (spearman(rise.ravel(), other.ravel()) for other in (gradients, moved))
        rows.append(Row(Words(name), (*numbers, _largest(rise), *agreement)))
    columns = tuple(map(Words, ("better", "median", "largest", "head", "correlation", "with_moves")))
    units = ("count", "nats", "nats", "count", "number", "number")
    return (
        HeadMap("loss", losses.removed, "nats", signed=True),
        _curves("loss_pruning", "loss_axis", losses),
        Table("loss_change", columns, units, tuple(rows)),
    )


def _loss_note(losses: Found, before: float, hidden: int) -> Words:
    """Return what the loss of the masked LM says."""
    removed = losses.removed
    better, rise = int((removed < 0).sum()), float(removed.max())
    numbers = {"before": before, "hidden": hidden, "rise": rise, "better": better, "heads": removed.size}
    return Words("loss", {**numbers, "top": _largest(removed)})
