"""How far apart the heads of a corpus are: the matrix of all pairs, the nearest of them, the spread within layers."""

from collections.abc import Iterator

import numpy as np

from attnx.i18n import Catalog
from attnx.naming import head_name, layer_name
from attnx.report.corpus.document import CorpusDocument, Distances
from attnx.report.corpus.figures import Axis, Points, layer_color, matrix_png, plot_png, value_axis
from attnx.report.corpus.views import FigureView
from attnx.report.figures import data_uri

PAIRS = 5
QUANTILE = 0.98  # of all distances; those above share the darkest color


def matrices(document: CorpusDocument, t: Catalog) -> Iterator[FigureView]:
    """Yield the matrix of each scope, where there are distances."""
    heads = document.model.heads
    for scope, distances in _measured(document).items():
        top = float(np.nanquantile(distances.mean, QUANTILE)) or 1.0
        yield FigureView(
            t.text(f"scopes.{scope}"),
            data_uri(matrix_png(distances.mean, top, heads)),
            t.text("corpus.distances.alt", n=len(distances.mean)),
            tuple(_matrix_notes(distances, heads, top, t)),
        )


def distance_notes(document: CorpusDocument, t: Catalog) -> Iterator[str]:
    """Yield on how many sentences distances were measured, and how the spread within layers goes with depth."""
    distances = document.distances["content"]
    if not np.isfinite(distances.mean).any():
        yield t.text("corpus.distances.none")
        return
    yield t.text("corpus.distances.sample", n=distances.n)
    if np.isfinite(distances.within) and np.isfinite(distances.between):
        yield t.text("corpus.distances.within", within=distances.within, between=distances.between)
    if np.isfinite(distances.trend):
        interval = np.isfinite(distances.trend_low)
        key = "corpus.distances.trend" if interval else "corpus.distances.trend_only"
        yield t.text(key, rho=distances.trend, low=distances.trend_low, high=distances.trend_high)


def _matrix_notes(distances: Distances, heads: int, top: float, t: Catalog) -> Iterator[str]:
    yield t.text("corpus.distances.scale", top=top)
    upper = np.where(np.triu(np.ones_like(distances.mean, dtype=bool), 1), distances.mean, np.nan)
    order = np.argsort(upper, axis=None)[: min(PAIRS, int(np.isfinite(upper).sum()))]
    pairs = [np.unravel_index(int(flat), upper.shape) for flat in order]
    words = [
        t.text(
            "corpus.distances.pair",
            first=head_name(*divmod(int(a), heads)),
            second=head_name(*divmod(int(b), heads)),
            value=float(upper[a, b]),
        )
        for a, b in pairs
    ]
    yield t.text("corpus.distances.nearest", pairs=t.text("corpus.list_separator").join(words))


def _measured(document: CorpusDocument) -> dict[str, Distances]:
    return {scope: distances for scope, distances in document.distances.items() if np.isfinite(distances.mean).any()}


def depth_figure(document: CorpusDocument, t: Catalog) -> FigureView | None:
    """Return the spread within layers by depth, None where there are no pairs of heads in a layer."""
    measured = {scope: of for scope, of in _measured(document).items() if np.isfinite(of.spread).any()}
    layers = document.model.layers
    if not measured or layers < 2:
        return None
    depth = np.arange(layers, dtype=np.float64)
    step = -(-layers // 12)
    ticks = tuple((float(layer), layer_name(layer)) for layer in range(0, layers, step))
    x = Axis("", -0.5, layers - 0.5, ticks)
    spread = np.concatenate([distances.spread for distances in measured.values()])
    y = value_axis(t.text("corpus.distances.spread"), spread, t)
    series = [
        Points(depth, distances.spread, layer_color(2, 4), filled=scope == "content", joined=True)
        for scope, distances in measured.items()
    ]
    return FigureView(
        t.text("corpus.distances.depth"),
        data_uri(plot_png(x, y, series)),
        t.text("corpus.distances.depth_alt"),
        (t.text("corpus.distances.depth_note"),),
    )
