"""What a head follows: its position, its content, a sink, nothing in particular, or both of the first."""

from dataclasses import dataclass

import numpy as np

from attnx.statistics.accumulators.results import Floats, MeanMapResult, QuadrantResult, VariabilityResult

QUADRANTS = ("position", "content", "sink", "broad", "mixed")


@dataclass(frozen=True)
class QuadrantThresholds:
    """From where on a mean map is peaked, maps vary, and sink tokens take what a head has to give. All own.

    `sink` is a share of the way from an even head (0) to one that looks at nothing else (1): more than half.
    `variability` holds for V, `relative_information` where that stands in for it.
    """

    peakedness: float = 0.2
    variability: float = 0.25
    relative_information: float = 0.1
    sink: float = 0.5


QUADRANT_THRESHOLDS = QuadrantThresholds()


def quadrants(maps: MeanMapResult, sample: VariabilityResult) -> QuadrantResult:
    """Return the quadrant of every head, -1 where there are too few sentences.

    Decided in the set of tokens ``inner``, for averaging maps cannot tell a head that follows position from one that
    looks at a sink, nor one that follows content from one that looks at everything. With the sink tokens removed,
    a peaked mean map and low variability are *position*, a flat one and high variability *content*, flat and low
    *broad*, peaked and high *mixed*; a head that gives sink tokens more than half, above chance, is a *sink* instead.

    Peakedness and sink are those of the mean maps, or of the sample where no length has enough sentences; variability
    is that of the sample, or the relative information of the mean maps where too few sentences are long enough.
    """
    limits = QUADRANT_THRESHOLDS
    with_maps = maps.sentences > 0
    peakedness = maps.peakedness["inner"] if with_maps else sample.peakedness
    sink = _above_chance(maps.sink, maps.even_sink) if with_maps else _above_chance(sample.sink, sample.even_sink)
    sampled = not np.isnan(sample.value).all()
    measure = "variability" if sampled else "relative_information"
    variability = sample.value if sampled else maps.relative_information["inner"]
    peaked = peakedness >= limits.peakedness
    varied = variability >= getattr(limits, measure)
    choices = {
        "sink": sink > limits.sink,
        "mixed": peaked & varied,
        "position": peaked,
        "content": varied,
    }
    index = np.select(list(choices.values()), [QUADRANTS.index(name) for name in choices], QUADRANTS.index("broad"))
    undefined = np.isnan(peakedness) | np.isnan(variability) | np.isnan(sink)
    return QuadrantResult(np.where(undefined, -1, index), peakedness, variability, sink, measure)


def _above_chance(share: Floats, chance: Floats) -> Floats:
    """Return (share - chance) / (1 - chance) for a chance a layer; NaN where chance leaves nothing."""
    rest = 1 - chance[:, None]
    return np.where(rest > 0, (share - chance[:, None]) / np.where(rest > 0, rest, 1), np.nan)
