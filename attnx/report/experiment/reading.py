"""Read the JSON of an experiment's report back, trusting nothing in it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from attnx.experiments.records import (
    VERDICTS,
    Curve,
    Curves,
    Exhibit,
    HeadMap,
    Label,
    Points,
    Result,
    Row,
    Table,
    TokenMap,
    TokenMaps,
    Words,
)
from attnx.experiments.registry import COMPARE, NAMES
from attnx.i18n import languages, load_catalog
from attnx.report.checks import BROKEN, broken, is_index, is_number, is_text, read_numbers, require
from attnx.report.experiment.build import experiment_view
from attnx.report.experiment.document import ExperimentDocument, Text
from attnx.report.reading import read_model, read_provenance
from attnx.statistics.roles import ROLES
from attnx.statistics.scores import Floats

ROLE_NAMES = ("", *(role.name for role in ROLES))
MOST = 4096  # of anything along a side


def experiment_from_twin(twin: Mapping[str, Any]) -> ExperimentDocument:
    """Return the document that an experiment's JSON, once parsed, is the twin of.

    Raises InputError where it does not hold together; whether its words exist is tried by writing them.
    """
    try:
        require(twin["experiment"] in (*NAMES, COMPARE), "experiment")
        model = read_model(twin["model"])
        exhibits = tuple(_exhibit(exhibit, (model.layers, model.heads)) for exhibit in twin["exhibits"])
        notes = tuple(_words(note) for note in twin["notes"])
        texts = tuple(Text(**text) for text in twin["texts"])
        require(bool(texts) and all(is_text(x.text) and x.language in languages() for x in texts), "texts")
        require(twin["verdict"] in VERDICTS, "verdict")
        require(is_index(twin["count"], len(texts)), "count")
        document = ExperimentDocument(
            twin["experiment"],
            model,
            read_provenance(twin["provenance"]),
            texts,
            twin["count"],
            dict(_values(twin["settings"])),
            Result(twin["verdict"], _values(twin["numbers"]), exhibits, notes),
        )
        experiment_view(document, load_catalog("en"))
    except BROKEN as error:
        raise broken(error) from error
    return document


def _exhibit(twin: Mapping[str, Any], shape: tuple[int, int]) -> Exhibit:
    kinds: Mapping[str, Callable[[Mapping[str, Any], tuple[int, int]], Exhibit]] = {
        "head_map": _head_map,
        "token_maps": _token_maps,
        "curves": _curves,
        "points": _points,
        "table": _table,
    }
    return kinds[twin["kind"]](twin, shape)


def _head_map(twin: Mapping[str, Any], shape: tuple[int, int]) -> HeadMap:
    return HeadMap(twin["key"], read_numbers(twin["values"], shape, "values"), twin["unit"], bool(twin["signed"]))


def _token_maps(twin: Mapping[str, Any], _: tuple[int, int]) -> TokenMaps:
    maps = tuple(_token_map(one) for one in twin["maps"])
    return TokenMaps(twin["key"], maps, bool(twin["signed"]), twin["unit"])


def _token_map(twin: Mapping[str, Any]) -> TokenMap:
    tokens = tuple(twin["tokens"])
    require(0 < len(tokens) <= MOST and all(is_text(token) for token in tokens), "tokens")
    return TokenMap(_label(twin["label"]), read_numbers(twin["values"], (len(tokens),) * 2, "values"), tokens)


def _curves(twin: Mapping[str, Any], _: tuple[int, int]) -> Curves:
    return Curves(twin["key"], _axes(twin), tuple(_curve(curve) for curve in twin["curves"]))


def _curve(twin: Mapping[str, Any]) -> Curve:
    x = _line(twin["x"])
    edges = [None if twin[name] is None else _line(twin[name], len(x)) for name in ("low", "high")]
    return Curve(_label(twin["label"]), x, _line(twin["y"], len(x)), *edges)


def _line(values: Sequence[Any], count: int | None = None) -> Floats:
    require(0 < len(values) <= MOST, "curves")
    return read_numbers(values, (len(values) if count is None else count,), "curves")


def _points(twin: Mapping[str, Any], shape: tuple[int, int]) -> Points:
    roles = tuple(tuple(row) for row in twin["roles"])
    require(not roles or (len(roles), *{len(row) for row in roles}) == shape, "roles")
    require(all(name in ROLE_NAMES for row in roles for name in row), "roles")
    x, y = (read_numbers(twin[axis], shape, axis) for axis in "xy")
    return Points(twin["key"], _axes(twin), x, y, roles)


def _axes(twin: Mapping[str, Any]) -> tuple[Label, Label]:
    x, y = (_label(name) for name in twin["axes"])
    return x, y


def _table(twin: Mapping[str, Any], _: tuple[int, int]) -> Table:
    columns, units = tuple(_label(column) for column in twin["columns"]), tuple(map(str, twin["units"]))
    rows = tuple(Row(_label(row["label"]), tuple(_cell(cell) for cell in row["cells"])) for row in twin["rows"])
    require(len(units) == len(columns) and all(len(row.cells) == len(units) for row in rows), "table")
    return Table(twin["key"], columns, units, rows)


def _cell(value: Any) -> float | Label:  # noqa: ANN401 - what JSON holds
    return _number(value) if value is None or is_number(value) else _label(value)


def _label(value: Any) -> Label:  # noqa: ANN401 - what JSON holds
    if isinstance(value, Mapping):
        return _words(value)
    require(is_text(value), "label")
    return str(value)


def _words(value: Mapping[str, Any]) -> Words:
    require(is_text(value["key"]), "label")
    return Words(value["key"], _values(value["values"]))


def _values(values: Mapping[str, Any]) -> dict[str, Any]:
    for value in values.values():
        require(value is None or is_number(value) or is_text(value), "values")
    return {name: value if is_text(value) else _number(value) for name, value in values.items()}


def _number(value: float | None) -> float:
    return np.nan if value is None else value
