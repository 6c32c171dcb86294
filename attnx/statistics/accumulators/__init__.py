"""What the heads do over a corpus: accumulators that are fed batch by batch, and that merge."""

from attnx.statistics.accumulators.corpus import MOST_GROUPS, Corpus
from attnx.statistics.accumulators.quadrants import QUADRANT_THRESHOLDS, QUADRANTS, QuadrantThresholds
from attnx.statistics.accumulators.results import CorpusResult, GroupComparison, GroupResult
from attnx.statistics.accumulators.shape import Shape
from attnx.statistics.accumulators.state import StateError

__all__ = [
    "MOST_GROUPS",
    "QUADRANTS",
    "QUADRANT_THRESHOLDS",
    "Corpus",
    "CorpusResult",
    "GroupComparison",
    "GroupResult",
    "QuadrantThresholds",
    "Shape",
    "StateError",
]
