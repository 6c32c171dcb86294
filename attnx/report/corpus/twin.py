"""The JSON twin of a corpus report (format 1, kind ``corpus``): everything that a report of it shows."""

import base64
import json
from dataclasses import asdict
from typing import Any

import numpy as np

from attnx.report.corpus.document import (
    CorpusDocument,
    Details,
    Distances,
    Example,
    Group,
    LengthMeans,
    MeanMaps,
    Means,
)
from attnx.report.document import FORMAT, Maps, plain
from attnx.statistics.accumulators.quadrants import QUADRANTS
from attnx.statistics.accumulators.results import GroupComparison
from attnx.statistics.scores import Floats

KIND = "corpus"
MEANS, DETAILS = ("n", "mean", "low", "high"), ("rows", "sd", "micro")  # of a scope
COUNTS = ("n", "rows")  # of these
MEASURED = ("peakedness", "variability", "sink")  # of quadrants
SCALARS = ("within", "between", "trend", "trend_low", "trend_high")  # of distances


def to_json(document: CorpusDocument) -> str:
    """Return the document as JSON: numbers to six decimals, null for what is not defined, the same bytes each time.

    Means by length, profiles and distances have four decimals. Statistics are ``[layers][heads]`` below their scope and
    name. ``follows`` names what each head follows. The matrix of distances is written as the list of its upper
    triangle, row by row without the diagonal.
    """
    twin = {
        "format": FORMAT,
        "kind": KIND,
        "model": asdict(document.model),
        "provenance": asdict(document.provenance),
        "files": [asdict(file) for file in document.files],
        "settings": asdict(document.settings),
        "whole": _group_twin(document.whole),
        "details": {
            scope: _by_statistic(details, document.whole.scopes[scope].names, DETAILS)
            for scope, details in document.details.items()
        },
        "groups": [_group_twin(group) for group in document.groups],
        "comparisons": {scope: _comparison_twin(each) for scope, each in document.comparisons.items()},
        "lengths": [_length_twin(length, document.whole) for length in document.lengths],
        "maps": [_maps_twin(maps) for maps in document.maps],
        "varied": document.varied,
        "profiles": {"offsets": plain(document.profiles.offsets), "values": plain(document.profiles.values)},
        "distances": {scope: _distances_twin(distances) for scope, distances in document.distances.items()},
        "examples": [_example_twin(example) for example in document.examples],
    }
    return json.dumps(twin, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _group_twin(group: Group) -> dict[str, Any]:
    quadrants = group.quadrants
    names = [[QUADRANTS[index] if index >= 0 else None for index in row] for row in quadrants.index.tolist()]
    measured = {name: plain(getattr(quadrants, name)) for name in MEASURED}
    return {
        "sentences": group.sentences,
        "tokens": group.tokens,
        "scopes": {scope: _by_statistic(means, means.names, MEANS) for scope, means in group.scopes.items()},
        "quadrants": {"follows": names, **measured, "measure": quadrants.measure},
    }


def _by_statistic(record: Means | Details, names: tuple[str, ...], fields: tuple[str, ...]) -> dict[str, Any]:
    return {
        name: {field: plain(getattr(record, field)[..., place]) for field in fields} for place, name in enumerate(names)
    }


def _comparison_twin(comparison: GroupComparison) -> dict[str, Any]:
    statistics = {
        name: {field: plain(getattr(comparison, field)[place]) for field in ("correlation", "overlap")}
        for place, name in enumerate(comparison.names)
    }
    return {"top": comparison.top, "statistics": statistics}


def _length_twin(length: LengthMeans, whole: Group) -> dict[str, Any]:
    means = {scope: _by_name(values, whole.scopes[scope].names) for scope, values in length.means.items()}
    return {
        "shortest": length.shortest,
        "longest": length.longest,
        "sentences": length.sentences,
        "means": means,
    }


def _by_name(values: Floats, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: plain(values[..., place]) for place, name in enumerate(names)}


def _maps_twin(maps: MeanMaps) -> dict[str, Any]:
    return {"tokens": maps.tokens, "sentences": maps.sentences, "weights": _bytes_twin(maps.weights)}


def _distances_twin(distances: Distances) -> dict[str, Any]:
    rows, columns = np.triu_indices(len(distances.mean), 1)
    return {
        "n": distances.n,
        "pairs": plain(distances.mean[rows, columns]),
        "spread": plain(distances.spread),
        **{name: plain(float(getattr(distances, name))) for name in SCALARS},
    }


def _example_twin(example: Example) -> dict[str, Any]:
    tokens = [asdict(token) for token in example.tokens]
    replaced = {"value": plain(example.value), "tokens": tokens, "weights": _bytes_twin(example.weights)}
    return {name: value for name, value in vars(example).items() if name not in replaced} | replaced


def _bytes_twin(maps: Maps) -> dict[str, Any]:
    return {
        "shape": list(maps.shape),
        "dtype": "uint8",
        "data": base64.b64encode(maps.tobytes()).decode("ascii"),
    }
