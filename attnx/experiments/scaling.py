"""Heads as points in a plane: classical multidimensional scaling (Torgerson 1952)."""

from __future__ import annotations

import numpy as np

from attnx.experiments.records import Floats


def plane(divergences: Floats) -> tuple[Floats, float]:
    """Return the points ``[N, 2]`` of N heads, and the share of the spread between them that the plane shows, 0..1.

    `divergences` ``[N, N]`` are Jensen–Shannon divergences, whose roots are distances of points in a space of many
    dimensions (Fuglede and Topsøe 2004). B = −J D J / 2 with J = I − 1/N are the products of these points, taken
    from their middle, and the plane is that of the two largest eigenvalues. An axis has no sign of its own: the
    point that is farthest out on it is on the positive side. A head without a distance to every other is left out: NaN.
    """
    squares = np.where(np.eye(len(divergences), dtype=np.bool_), 0, divergences)
    kept = _complete(squares)
    squares = squares[np.ix_(kept, kept)]
    centered = squares - squares.mean(0) - squares.mean(1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centered / 2)
    values = values.clip(min=0)
    axes = vectors[:, :-3:-1] * np.sqrt(values[:-3:-1])
    farthest = np.take_along_axis(axes, np.abs(axes).argmax(0)[None], 0)
    points = np.full((len(divergences), 2), np.nan)
    points[kept] = axes * np.where(farthest < 0, -1, 1)
    total = float(values.sum())
    return points, float(values[-2:].sum()) / total if total > 0 else 1.0


def _complete(squares: Floats) -> list[int]:
    """Return the heads among which every distance is known: those with the most unknown ones go."""
    kept = list(range(len(squares)))
    while (unknown := np.isnan(squares[np.ix_(kept, kept)]).sum(1)).any():
        kept.pop(int(unknown.argmax()))
    return kept
