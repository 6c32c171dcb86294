"""What stays of a head's maps when many of them are averaged: experiment E4.

Articles take the mean map of many texts of one length and read it in one way: a clear picture is a head that follows
position, a flat one a head that follows content. That leaves out two cases each: a sink is clear since special tokens
always stand at the same places, and a head that looks at everything alike is as flat as one that follows content. So
peakedness of the mean map Pk and variability of the single maps are measured both, special tokens left out; see
`attnx.statistics.accumulators.quadrants`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnx.encoders.baseline import random_twin
from attnx.encoders.encoder import Encoder
from attnx.errors import InputError
from attnx.experiments.measuring import measured, shape_of
from attnx.experiments.records import (
    Advance,
    Floats,
    HeadMap,
    Label,
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
from attnx.naming import head_name, layer_name
from attnx.statistics.accumulators.averages import Averages
from attnx.statistics.accumulators.mean_maps import FEWEST_SENTENCES, MeanMaps, longest
from attnx.statistics.accumulators.profiles import Profiles
from attnx.statistics.accumulators.quadrants import QUADRANT_THRESHOLDS, QUADRANTS, quadrants
from attnx.statistics.accumulators.results import Integers, LengthMaps, QuadrantResult
from attnx.statistics.accumulators.variability import POSITIONS, Variability
from attnx.texts.sentence import Sentence

# Of all heads that are what the clear or flat mean map says.
CLEAR, SOME = 0.8, 0.5
READ_RIGHT = ("position", "content")
HEADS = {
    "position": "position_head",
    "content": "content_head",
    "sink": "sink_head",
    "broad": "broad_head",
    "mixed": "mixed_head",
}
RULES = {"variability": "rule_variability", "relative_information": "rule_relative_information"}


@dataclass(frozen=True)
class Averaged:
    """What heads follow, the sentences it rests on, and the mean maps ``[L, H, N, N]`` of N ordinary tokens."""

    found: QuadrantResult
    sentences: int
    maps: Floats

    def count(self, quadrant: str) -> int:
        """Return how many heads are of a quadrant."""
        return int((self.found.index == QUADRANTS.index(quadrant)).sum())


def run(encoder: Encoder, sentences: Sequence[Sentence], options: Options, progress: Progress) -> Result:
    """Average the maps of the model and of its twin with random weights."""
    progress.expect(2 * len(sentences))
    own = average(encoder, sentences, options.seed, progress.advance)
    twin = average(random_twin(encoder, options.seed), sentences, options.seed, progress.advance)
    if not all((of.found.index >= 0).any() for of in (own, twin)):
        raise InputError("experiment_undefined")
    found = own.found
    right = share_right(own)
    return Result(
        "holds" if right >= CLEAR else "mixed" if right >= SOME else "fails",
        {
            "right": right,
            "right_chance": share_right(twin),
            "n": own.sentences,
            "heads": found.index.size,
            **{name: own.count(name) for name in QUADRANTS},
        },
        (
            _examples(own),
            _by_layer(own, twin),
            Points("quadrants", (Words("peakedness"), Words(found.measure)), found.peakedness, found.variability),
            HeadMap("peakedness", found.peakedness, "number"),
            HeadMap(found.measure, found.variability, "number"),
            HeadMap("sink", found.sink, "number", signed=True),
        ),
        _notes(own),
    )


def average(encoder: Encoder, sentences: Sequence[Sentence], seed: int, advance: Advance) -> Averaged:
    """Return what heads follow. Raises InputError where too few texts have one length, and too few are long."""
    shape = shape_of(encoder, seed)
    maps, variability = MeanMaps(shape), Variability(shape)
    for _ in measured(encoder, sentences, (Averages(shape, maps, Profiles(shape)), variability), advance):
        pass
    means, sample = maps.result(), variability.result()
    found = quadrants(means, sample)
    if np.isnan(found.peakedness).all():
        values = {"n": len(sentences), "least": FEWEST_SENTENCES, "longest": longest(shape), "positions": POSITIONS}
        raise InputError("experiment_average", **values)
    if not means.lengths:
        return Averaged(found, sample.n, sample.weights)
    return Averaged(found, means.sentences, _inner(max(means.lengths, key=lambda length: length.sentences)))


def _inner(length: LengthMaps) -> Floats:
    """Return the mean map between the places where inner tokens are."""
    weights = length.sets["inner"].weights
    places = np.flatnonzero(weights.any((0, 1, 2)))
    return weights[..., places[:, None], places]


def share_right(averaged: Averaged) -> float:
    """Return the share of heads that follow position if their mean map is clear, content if it is flat."""
    return sum(map(averaged.count, READ_RIGHT)) / int((averaged.found.index >= 0).sum())


def _examples(own: Averaged) -> TokenMaps:
    """Return the mean map of the clearest head of each quadrant that has any."""
    found = own.found
    # How far a head goes into its quadrant.
    depth = {
        "position": found.peakedness,
        "content": found.variability,
        "sink": found.sink,
        "broad": -found.peakedness,
        "mixed": np.minimum(found.peakedness, found.variability),
    }
    tokens = tuple(str(place + 1) for place in range(own.maps.shape[-1]))
    shown = []
    for index, name in enumerate(QUADRANTS):
        if own.count(name):
            best = int(np.argmax(np.where(found.index == index, depth[name], -np.inf)))
            layer, head = divmod(best, found.index.shape[1])
            label = Words(HEADS[name], {"head": head_name(layer, head)})
            shown.append(TokenMap(label, own.maps[layer, head], tokens))
    return TokenMaps("examples", tuple(shown))


def _by_layer(own: Averaged, twin: Averaged) -> Table:
    """Return how many heads of each layer are of each quadrant, then of the whole model and of its twin."""
    counted: list[tuple[Label, Integers]] = [(layer_name(layer), of) for layer, of in enumerate(own.found.index)]
    counted += [(Words("model"), own.found.index), (Words("twin"), twin.found.index)]
    rows = tuple(
        Row(label, tuple(float((index == place).sum()) for place in range(len(QUADRANTS)))) for label, index in counted
    )
    columns = tuple(Words("sinks" if name == "sink" else name) for name in QUADRANTS)
    return Table("layers", columns, ("count",) * len(QUADRANTS), rows)


def _notes(own: Averaged) -> tuple[Words, ...]:
    """Return the thresholds, and what could mislead."""
    limits, measure = QUADRANT_THRESHOLDS, own.found.measure
    values = {"peaked": limits.peakedness, "varied": getattr(limits, measure), "sink": limits.sink}
    return Words(RULES[measure], values), Words("number", {"n": own.sentences})
