"""How far apart the heads are, and whether they come closer with depth: experiment E6.

The distance of two heads is the Jensen–Shannon divergence of their maps, a mean over rows, then over texts (Clark et
al. 2019, section 6, without smoothing); the spread of a layer is its mean over the pairs of heads of the layer. Clark
et al. claim only that heads of one layer are often close; that the spread falls with depth is claimed by articles.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attnx.encoders.baseline import random_twin
from attnx.encoders.encoder import Encoder
from attnx.errors import InputError
from attnx.experiments.measuring import long_enough
from attnx.experiments.records import (
    Curve,
    Curves,
    HeadMap,
    Options,
    Points,
    Progress,
    Result,
    Row,
    Table,
    Words,
)
from attnx.experiments.scaling import plane
from attnx.experiments.spreads import Spreads, measure
from attnx.naming import layer_name
from attnx.statistics.accumulators.distances import FEWEST_SENTENCES
from attnx.texts.sentence import Sentence

# Of a model, so that depth can have a rank correlation, and a layer a spread.
LAYERS, HEADS = 3, 2
LEAST_TOKENS = 4  # content tokens; maps of fewer are hardly different
TIMES = 2  # as much as in the twin


def run(encoder: Encoder, sentences: Sequence[Sentence], options: Options, progress: Progress) -> Result:
    """Measure the distances of all pairs of heads on the model and on its twin with random weights."""
    info = encoder.info
    if info.layers < LAYERS or info.heads < HEADS:
        raise InputError("experiment_layers", layers=LAYERS, heads=HEADS)
    kept = long_enough(encoder, sentences, LEAST_TOKENS)
    progress.expect(2 * len(kept))
    measured = measure(encoder, kept, options.seed, progress.advance)
    own = measured.scopes
    twin = measure(random_twin(encoder, options.seed), kept, options.seed, progress.advance).scopes
    if not np.isfinite([(of.trend, of.found.within, of.found.between) for of in (*own.values(), *twin.values())]).all():
        raise InputError("experiment_undefined")
    points, share = plane(own["content"].found.mean)
    x, y = points.T.reshape(2, info.layers, info.heads)
    axes = (Words("first_axis"), Words("second_axis"))
    return Result(
        verdict_of(own, twin),
        _numbers(own, twin),
        (
            _depth(own, twin),
            _table(own, twin),
            Points("plane", axes, x, y),
            Points("roles", axes, x, y, measured.roles),
            HeadMap("nearest", own["content"].found.nearest_distance, "nats"),
        ),
        (Words("plane", {"share": share}), *_notes(own, twin, len(sentences) - len(kept))),
    )


def verdict_of(own: dict[str, Spreads], twin: dict[str, Spreads]) -> str:
    """Return whether the spread falls with depth in both scopes, and much more than with random weights.

    A rank correlation alone cannot tell: that of spreads that hardly differ may be as large.
    """
    if np.isnan(own["content"].found.trend_high):
        return "unclear"
    falling = [spreads.falls for spreads in own.values()]
    more = 1 - own["content"].rest > TIMES * max(0.0, 1 - twin["content"].rest)
    return "holds" if all(falling) and more else "mixed" if any(falling) else "fails"


def _numbers(own: dict[str, Spreads], twin: dict[str, Spreads]) -> dict[str, float | int | str]:
    content = own["content"].found
    return {
        "n": content.n,
        "rho": own["content"].trend,
        "rho_all": own["all"].trend,
        "rho_chance": twin["content"].trend,
        "rest": own["content"].rest,
        "rest_chance": twin["content"].rest,
        "widest": layer_name(int(own["content"].by_depth.argmax())),
        "tightest": layer_name(int(own["content"].by_depth.argmin())),
        "within": content.within,
        "between": content.between,
        "within_chance": twin["content"].found.within,
        "between_chance": twin["content"].found.between,
    }


def _depth(own: dict[str, Spreads], twin: dict[str, Spreads]) -> Curves:
    """Return the spread by depth: the model's in both scopes, and the twin's."""
    labelled = {"content": own["content"], "all": own["all"], "twin_content": twin["content"]}
    curves = []
    for label, spreads in labelled.items():
        layers = np.arange(1, len(spreads.by_depth) + 1, dtype=np.float64)
        curves.append(Curve(Words(label), layers, spreads.by_depth, spreads.low, spreads.high))
    return Curves("depth", (Words("layer"), Words("spread")), tuple(curves))


def _table(own: dict[str, Spreads], twin: dict[str, Spreads]) -> Table:
    labelled = {"content": own["content"], "all": own["all"]}
    labelled |= {"twin_content": twin["content"], "twin_all": twin["all"]}
    rows = []
    for label, spreads in labelled.items():
        found = spreads.found
        trend = (spreads.trend, found.trend_low, found.trend_high)
        rows.append(Row(Words(label), (found.within, found.between, *trend)))
    columns = tuple(Words(name) for name in ("within", "between", "trend", "low", "high"))
    return Table("numbers", columns, ("nats", "nats", "number", "number", "number"), tuple(rows))


def _notes(own: dict[str, Spreads], twin: dict[str, Spreads], short: int) -> tuple[Words, ...]:
    """Return what could mislead."""
    n = own["content"].found.n
    notes = [Words("small", {"n": n})] if n < FEWEST_SENTENCES else []
    if short:
        notes.append(Words("short", {"n": short, "least": LEAST_TOKENS}))
    if own["all"].falls != own["content"].falls:
        notes.append(Words("scopes"))
    if twin["content"].falls:
        notes.append(Words("twin"))
    return tuple(notes)
