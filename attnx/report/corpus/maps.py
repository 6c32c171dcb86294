"""The mean maps of a corpus, and what they say: profiles by relative position, peakedness against variability."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnx.i18n import Catalog
from attnx.naming import layer_name
from attnx.report.corpus.document import CorpusDocument, MeanMaps
from attnx.report.corpus.figures import STRIP_HEIGHT, Points, layer_color, plot_png, profiles_png, value_axis
from attnx.report.corpus.views import FigureView, MeanMapView
from attnx.report.figures import data_uri, overview_png
from attnx.report.sentence import BYTE, SCALE_STEP
from attnx.report.views import OverviewView, ScaleView
from attnx.statistics.accumulators.quadrants import QUADRANT_THRESHOLDS, QUADRANTS

HALF_BYTE = 0.5 / BYTE
SCALE_QUANTILE = 0.98  # of the weights of all mean maps; the few above it share the darkest color


def mean_map_views(document: CorpusDocument, t: Catalog) -> Iterator[MeanMapView]:
    """Yield the mean maps of all heads, and their profiles by relative position."""
    for maps in document.maps:
        yield _mean_map_view(maps, t)
    profiles = document.profiles
    if np.isfinite(profiles.values).any():
        ends = {"first": int(profiles.offsets[0]), "last": int(profiles.offsets[-1])}
        picture, top = profiles_png(profiles.values)
        yield MeanMapView(
            _overview(t.text("corpus.profiles.title"), profiles.values, picture, t.text("corpus.profiles.alt", **ends)),
            f"{(STRIP_HEIGHT + 1) / (len(profiles.offsets) + 2):.4f}",
            _scale(top, float(np.nanmax(profiles.values)), t),
            t.text("corpus.profiles.scale"),
            t.text("corpus.profiles.note", **ends),
        )


def _mean_map_view(maps: MeanMaps, t: Catalog) -> MeanMapView:
    layers, heads = maps.weights.shape[:2]
    top = math.ceil(np.quantile(maps.weights, SCALE_QUANTILE) / BYTE / SCALE_STEP) * SCALE_STEP
    top = min(1.0, max(SCALE_STEP, top))
    alt = t.text("corpus.means.alt", n=layers * heads, tokens=maps.tokens)
    return MeanMapView(
        _overview(t.text("corpus.means.length", n=maps.tokens), maps.weights, overview_png(maps.weights, top), alt),
        "1",
        _scale(top, maps.weights.max() / BYTE, t),
        t.text("corpus.means.scale"),
        t.text("corpus.means.sentences", n=maps.sentences),
    )


def _overview(title: str, of: NDArray[Any], picture: bytes, alt: str) -> OverviewView:
    layers, heads = of.shape[:2]
    return OverviewView(
        title,
        tuple(f"H{head + 1}" for head in range(heads)),
        tuple(layer_name(layer) for layer in range(layers)),
        data_uri(picture),
        alt,
    )


def _scale(top: float, largest: float, t: Catalog) -> ScaleView:
    """Return the ends of a color scale from 0 to `top`, which larger weights share."""
    low, high = t.percent(0), t.percent(top)
    if largest > top + HALF_BYTE:
        high = f"≥ {high}"
    return ScaleView(low, high, t.text("reading.scale_alt", low=low, high=high))


def mean_notes(document: CorpusDocument, t: Catalog) -> Iterator[str]:
    """Yield what must be said of the mean maps: that there are none, or how many sentences the measures are from."""
    if not document.maps:
        yield t.text("corpus.means.none")
    if np.isfinite(document.whole.quadrants.variability).any():
        yield t.text(f"corpus.means.{document.whole.quadrants.measure}", n=document.varied)


def scatter(document: CorpusDocument, t: Catalog) -> FigureView | None:
    """Return the picture of what heads follow, None where it is not known."""
    quadrants = document.whole.quadrants
    if not (quadrants.index >= 0).any():
        return None
    layers = len(quadrants.index)
    is_sink = quadrants.index == QUADRANTS.index("sink")
    measure = t.text(f"corpus.heads.axes.{quadrants.measure}")
    peaked = QUADRANT_THRESHOLDS.peakedness
    varied = getattr(QUADRANT_THRESHOLDS, quadrants.measure)
    x = value_axis(t.text("corpus.heads.axes.peakedness"), quadrants.peakedness, t, marks=(peaked,))
    y = value_axis(measure, quadrants.variability, t, marks=(varied,))
    series = [
        Points(
            quadrants.peakedness[layer][which[layer]],
            quadrants.variability[layer][which[layer]],
            layer_color(layer, layers),
            filled,
        )
        for layer in range(layers)
        for which, filled in ((is_sink, False), (~is_sink, True))
    ]
    return FigureView(
        t.text("corpus.means.scatter"),
        data_uri(plot_png(x, y, series)),
        t.text("corpus.means.scatter_alt", n=quadrants.index.size),
        (t.text("corpus.means.scatter_note", first=layer_name(0), last=layer_name(layers - 1)),),
    )
