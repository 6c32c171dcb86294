"""From an exhibit to its view: the words are those of the experiment's own messages."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnx.experiments.records import Curves, Exhibit, HeadMap, Label, Points, Table, TokenMap, TokenMaps, Words
from attnx.i18n import Catalog
from attnx.report.colors import DIVERGING, SEQUENTIAL, Rgb, css
from attnx.report.corpus.figures import FAINT, Axis, layer_color, plot_png, value_axis
from attnx.report.corpus.figures import Points as Dots
from attnx.report.corpus.views import FigureView, PlainTable
from attnx.report.corpus.wording import amount
from attnx.report.experiment.roles import role_series
from attnx.report.experiment.views import ExhibitView, TokenMapView
from attnx.report.figures import data_uri, palette_png, scale_bar_png
from attnx.report.fonts import display_label
from attnx.report.grids import grid
from attnx.report.sentence import labels_frame
from attnx.report.typography import cut_middle, formula_html
from attnx.report.views import RowView
from attnx.statistics import REGISTRY
from attnx.statistics.scores import Floats

LABEL_CHARACTERS = 60
COLUMN_CHARACTERS = 24
CURVE_COLORS: tuple[Rgb, ...] = (SEQUENTIAL[52], DIVERGING[-8], SEQUENTIAL[30], DIVERGING[-24], (90, 103, 115))


@dataclass(frozen=True)
class Speaker:
    """The messages of one experiment in one language; `places` numbers its token maps."""

    experiment: str
    t: Catalog
    places: "count[int]"

    def label(self, label: Label) -> str:
        """Return a label as it is written: a string that may be anybody's, a statistic's name, or a message."""
        if isinstance(label, str):
            return cut_middle(display_label(label), LABEL_CHARACTERS)
        if label.key in REGISTRY:
            return self.t.text(f"statistics.{label.key}.name")
        return self.t.text(f"experiments.{self.experiment}.labels.{label.key}", **label.values)


def exhibit_view(exhibit: Exhibit, speaker: Speaker) -> ExhibitView:
    """Return the view of an exhibit."""
    t, name = speaker.t, speaker.experiment
    title = t.text(f"experiments.{name}.exhibits.{exhibit.key}.title")
    reading = t.text(f"experiments.{name}.exhibits.{exhibit.key}.reading")
    if not any(np.isfinite(values).any() for values in _numbers(exhibit)):
        return ExhibitView(title, reading, t.text("experiments.undefined"))
    return ExhibitView(title, reading, **DRAWN[type(exhibit)](exhibit, speaker, title))


def _numbers(exhibit: Exhibit) -> Iterator[Floats]:
    """Yield the arrays that an exhibit draws; a table writes dashes, and is never without what it says."""
    match exhibit:
        case HeadMap():
            yield exhibit.values
        case TokenMaps():
            yield from (one.values for one in exhibit.maps)
        case Curves():
            yield from (one.y for one in exhibit.curves)
        case Points():
            yield exhibit.x + exhibit.y
        case Table():
            yield np.zeros(1)


def _head_map(exhibit: HeadMap, speaker: Speaker, title: str) -> dict[str, Any]:
    return {"grid": grid(title, "", exhibit.values, exhibit.unit, speaker.t, signed=exhibit.signed)}


def _token_maps(exhibit: TokenMaps, speaker: Speaker, title: str) -> dict[str, Any]:
    t = speaker.t
    top = max(float(np.nan_to_num(np.abs(one.values)).max()) for one in exhibit.maps) or 1.0
    palette = DIVERGING if exhibit.signed else SEQUENTIAL
    low, high = (_weight(end, exhibit.unit, t) for end in (-top if exhibit.signed else 0.0, top))
    return {
        "maps": tuple(_token_map(one, top, palette, exhibit, speaker) for one in exhibit.maps),
        "scale": t.text(f"experiments.scales.{exhibit.unit}", low=low, high=high),
        "bar": data_uri(scale_bar_png(palette)),
    }


def _weight(value: float, unit: str, t: Catalog) -> str:
    """Write a number of a token map."""
    written = t.percent(abs(value)) if unit == "share" else t.decimal(abs(value), 1)
    return f"−{written}" if value < 0 else written


def _token_map(
    one: TokenMap, top: float, palette: tuple[Rgb, ...], exhibit: TokenMaps, speaker: Speaker
) -> TokenMapView:
    share = one.values / top
    share = (share + 1) / 2 if exhibit.signed else share
    levels: NDArray[np.int64] = np.rint(np.nan_to_num(share).clip(0, 1) * (len(palette) - 1)).astype(np.int64)
    levels[np.isnan(share)] = len(palette)
    return TokenMapView(
        next(speaker.places),
        speaker.label(one.label),
        data_uri(palette_png(levels, (*palette, FAINT))),
        _in_words(one, exhibit, speaker),
        labels_frame(one.tokens),
    )


def _in_words(one: TokenMap, exhibit: TokenMaps, speaker: Speaker) -> str:
    """Return the largest number of a map, for those who cannot see it."""
    label = speaker.label(one.label)
    if np.isnan(one.values).all():
        return speaker.t.text("experiments.map_undefined", label=label)
    row, column = np.unravel_index(int(np.nanargmax(np.abs(one.values))), one.values.shape)
    return speaker.t.text(
        "experiments.map_alt",
        label=label,
        query=display_label(one.tokens[int(row)]),
        target=display_label(one.tokens[int(column)]),
        value=_weight(float(one.values[row, column]), exhibit.unit, speaker.t),
    )


def _curves(exhibit: Curves, speaker: Speaker, title: str) -> dict[str, Any]:
    x, y = _axes(
        exhibit.axes, [np.concatenate([getattr(one, axis) for one in exhibit.curves]) for axis in "xy"], speaker
    )
    series, legend = [], []
    for one, color in zip(exhibit.curves, _colors(len(exhibit.curves)), strict=True):
        series += [Dots(one.x, edge, color, filled=False) for edge in (one.low, one.high) if edge is not None]
        series.append(Dots(one.x, one.y, color, joined=True))
        legend.append((css(color), speaker.label(one.label)))
    return {"figure": _figure(x, y, series, title, ()), "legend": tuple(legend)}


def _points(exhibit: Points, speaker: Speaker, title: str) -> dict[str, Any]:
    x, y = _axes(exhibit.axes, [exhibit.x.ravel(), exhibit.y.ravel()], speaker)
    if exhibit.roles:
        signs, legend = role_series(exhibit, speaker.t)
        return {"figure": _figure(x, y, signs, title, ()), "legend": tuple(legend)}
    layers = len(exhibit.x)
    series = [Dots(exhibit.x[i], exhibit.y[i], layer_color(i, layers)) for i in range(layers)]
    return {"figure": _figure(x, y, series, title, (speaker.t.text("experiments.points"),))}


def _table(exhibit: Table, speaker: Speaker, title: str) -> dict[str, Any]:
    rows = tuple(
        RowView(speaker.label(row.label), tuple(map(_cell, row.cells, exhibit.units, [speaker] * len(row.cells))))
        for row in exhibit.rows
    )
    columns = (speaker.label(Words(exhibit.key)), *(_column(label, speaker) for label in exhibit.columns))
    return {"table": PlainTable("", columns, rows)}


def _column(label: Label, speaker: Speaker) -> str:
    """Return the head of a column: a short text of anybody's, or words of ours, where a formula can stand."""
    text = speaker.label(label)
    return formula_html(text) if isinstance(label, Words) else cut_middle(text, COLUMN_CHARACTERS)


def _cell(cell: float | Label, unit: str, speaker: Speaker) -> str:
    if not isinstance(cell, float | int):
        return formula_html(speaker.label(cell)) if unit == "formula" else speaker.label(cell)
    return speaker.t.decimal(cell, 0) if unit == "count" and cell == cell else amount(cell, unit, speaker.t)


def _axes(names: tuple[Label, Label], values: list[Floats], speaker: Speaker) -> tuple[Axis, Axis]:
    x, y = (value_axis(speaker.label(name), of, speaker.t) for name, of in zip(names, values, strict=True))
    return x, y


def _figure(x: Axis, y: Axis, series: list[Dots], title: str, notes: tuple[str, ...]) -> FigureView:
    return FigureView("", data_uri(plot_png(x, y, series)), f"{title}. {y.name}; {x.name}.", notes)


def _colors(number: int) -> list[Rgb]:
    """Return a color for each of some curves: distinct ones for a few, else from light to dark."""
    if number <= len(CURVE_COLORS):
        return list(CURVE_COLORS[:number])
    return [layer_color(i, number) for i in range(number)]


DRAWN: Mapping[type[Exhibit], Callable[[Any, Speaker, str], dict[str, Any]]] = {
    HeadMap: _head_map,
    TokenMaps: _token_maps,
    Curves: _curves,
    Points: _points,
    Table: _table,
}
