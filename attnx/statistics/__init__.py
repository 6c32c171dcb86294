"""Every per-head statistic: the registry, the scores of one sentence, the pattern classes."""

from attnx.statistics.even import even_scores
from attnx.statistics.merging import PartScores, merge_parts
from attnx.statistics.patterns import PATTERN_THRESHOLDS, PATTERNS, PatternThresholds, pattern_class
from attnx.statistics.registry import REGISTRY, MapStatistic, RowStatistic, Statistic, map_statistic, row_statistic
from attnx.statistics.scores import SCOPES, HeadScores
from attnx.statistics.scoring import row_means, score_heads, score_part
from attnx.statistics.view import ScopeView, scope_view

__all__ = [
    "PATTERNS",
    "PATTERN_THRESHOLDS",
    "REGISTRY",
    "SCOPES",
    "HeadScores",
    "MapStatistic",
    "PartScores",
    "PatternThresholds",
    "RowStatistic",
    "ScopeView",
    "Statistic",
    "even_scores",
    "map_statistic",
    "merge_parts",
    "pattern_class",
    "row_means",
    "row_statistic",
    "scope_view",
    "score_heads",
    "score_part",
]
