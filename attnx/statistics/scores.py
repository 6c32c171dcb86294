"""The record of all per-head scores of one text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SCOPES = ("all", "content")


@dataclass(frozen=True)
class HeadScores:
    """Scores of every head over one text, in one scope (``all`` or ``content``).

    `values` maps a statistic's name to float64 ``[layers, heads]``; NaN marks what is not defined (written as
    null). `details` holds what belongs to a score but is no score: ``sink_position``, the position in the
    sentence of the token that takes the sink (int64 ``[layers, heads]``, -1 where undefined);
    ``positional_offset``, the offset of the positional rate (likewise, 0 where undefined); ``nearest_head_index``,
    the flat index ``layer * heads + head`` of the nearest head (likewise, -1); and ``within_layer_spread``, in
    nats (float64 ``[layers]``). `tokens` counts the positions in scope; `skipped_rows` the rows left out because
    their attention in scope was below 1e-6 (int64 ``[layers, heads]``).

    Of a text that was measured in windows, `values` and `skipped_rows` are about the rows of all windows, each
    counted once; `details` and `tokens` are those of the first window.
    """

    scope: str
    values: Mapping[str, Floats]
    details: Mapping[str, NDArray[Any]]
    tokens: int
    skipped_rows: NDArray[np.int64]
