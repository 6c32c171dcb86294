"""What the statistics are by chance: those of a head that looks evenly at all that it can see."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from attnx.encoders.reach import within_reach
from attnx.encoders.records import AttentionMap, Encoding, Reach
from attnx.statistics.scores import Floats
from attnx.statistics.scoring import score_heads


def even_scores(encoding: Encoding, reach: Sequence[Reach], layers: int) -> dict[str, Mapping[str, Floats]]:
    """Return the values of an even head in every layer, by scope and statistic, float64 ``[layers, 1]``.

    `reach` is the model's: an even head of a causal model gives 1/i to each of i keys, one of a local layer looks
    evenly at its window. What needs several heads is NaN.
    """
    limits = list(reach) or [(None, None)] * layers
    kinds = list(dict.fromkeys(limits))
    places = torch.arange(len(encoding.ids))
    offsets = places - places[:, None]
    weights = torch.stack([_even(offsets, reach) for reach in kinds])[:, None]
    rows = [kinds.index(limit) for limit in limits]
    return {
        scope: {name: np.asarray(value)[rows] for name, value in scores.values.items()}
        for scope, scores in score_heads(AttentionMap(encoding, weights, tuple(kinds))).items()
    }


def _even(offsets: torch.Tensor, reach: Reach) -> torch.Tensor:
    seen = within_reach(offsets, reach)
    return seen / seen.sum(-1, keepdim=True)
