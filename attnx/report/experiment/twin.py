"""The JSON twin of an experiment's report (format 1, kind ``experiment``): everything that a report of it shows."""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any

from attnx.experiments.records import Curves, Exhibit, HeadMap, Points, Table, TokenMaps
from attnx.report.document import FORMAT, plain
from attnx.report.experiment.document import ExperimentDocument

KIND = "experiment"
EXHIBITS: Mapping[str, type[Exhibit]] = {
    "head_map": HeadMap,
    "token_maps": TokenMaps,
    "curves": Curves,
    "points": Points,
    "table": Table,
}


def to_json(document: ExperimentDocument) -> str:
    """Return the document as JSON: numbers to six decimals, null for what is not defined, the same bytes each time.

    A label is a string, or an object with a key under ``labels`` in the locales and values. Head maps are
    ``[layers][heads]``, counted from 0.
    """
    result = document.result
    names = {kind: name for name, kind in EXHIBITS.items()}
    twin = {
        "format": FORMAT,
        "kind": KIND,
        "experiment": document.experiment,
        "model": asdict(document.model),
        "provenance": asdict(document.provenance),
        "texts": [asdict(text) for text in document.texts],
        "count": document.count,
        "settings": dict(document.settings),
        "verdict": result.verdict,
        "numbers": _twin(result.numbers),
        "notes": _twin(result.notes),
        "exhibits": [{"kind": names[type(exhibit)], **_twin(exhibit)} for exhibit in result.exhibits],
    }
    return json.dumps(twin, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _twin(value: Any) -> Any:  # noqa: ANN401 - records, and what is in them
    if is_dataclass(value):
        return {field.name: _twin(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_twin(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _twin(item) for key, item in value.items()}
    return plain(value)
