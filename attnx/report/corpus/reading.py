"""Read the JSON of a corpus report back, trusting nothing in it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from attnx.encoders.records import ModelInfo, Token
from attnx.i18n import languages
from attnx.report.checks import (
    BROKEN,
    LARGEST_SCORE,
    LARGEST_SEED,
    MAXIMUM_WEIGHTS,
    broken,
    is_index,
    is_number,
    is_text,
    read_indices,
    read_maps,
    read_numbers,
    require,
)
from attnx.report.corpus.document import (
    CorpusDocument,
    CorpusFile,
    CorpusSettings,
    Details,
    Distances,
    Example,
    Group,
    LengthMeans,
    MeanMaps,
    Means,
    Profiles,
)
from attnx.report.corpus.twin import COUNTS, DETAILS, MEANS, MEASURED, SCALARS
from attnx.report.reading import is_token, read_model, read_provenance
from attnx.statistics.accumulators.quadrants import QUADRANTS
from attnx.statistics.accumulators.results import GroupComparison, QuadrantResult
from attnx.statistics.scores import SCOPES, Floats
from attnx.streaming.records import NAMES

LONG = ("cut", "windows", "error")
MEASURES_OF_VARIATION = ("variability", "relative_information")
MOST_COUNTED = int(LARGEST_SCORE)
MOST_OFFSETS = 1000


def corpus_from_twin(twin: Mapping[str, Any]) -> CorpusDocument:
    """Return the document that a corpus report's JSON, once parsed, is the twin of; raises InputError as above."""
    try:
        model = read_model(twin["model"])
        files = tuple(_file(file) for file in twin["files"])
        require(len(files) > 0, "files")
        whole = _group(twin["whole"], model)
        require(whole.sentences > 0 and whole.tokens > 0, "whole")
        groups = tuple(_group(group, model) for group in twin["groups"])
        require(len(groups) in (0, len(files)) and len(groups) != 1, "groups")
        return CorpusDocument(
            model,
            read_provenance(twin["provenance"]),
            files,
            _settings(twin["settings"]),
            whole,
            {scope: Details(**_fields(twin["details"][scope], scope, DETAILS, model)) for scope in SCOPES},
            groups,
            {scope: _comparison(twin["comparisons"][scope], scope, len(groups)) for scope in SCOPES if groups},
            tuple(_length(length, model) for length in twin["lengths"]),
            tuple(_mean_maps(maps, model) for maps in twin["maps"]),
            _count(twin["varied"]),
            _profiles(twin["profiles"], model),
            {scope: _distances(twin["distances"][scope], model) for scope in SCOPES},
            tuple(_example(example, model, len(files)) for example in twin["examples"]),
        )
    except BROKEN as error:
        raise broken(error) from error


def _file(twin: Mapping[str, Any]) -> CorpusFile:
    require(is_text(twin["name"]), "files")
    counts = {name: _count(value) for name, value in twin.items() if name != "name"}
    return CorpusFile(name=twin["name"], **counts)


def _settings(twin: Mapping[str, Any]) -> CorpusSettings:
    settings = CorpusSettings(**twin)
    require(settings.long in LONG and is_index(settings.seed, 0, LARGEST_SEED), "settings")
    limits = (settings.limit, settings.sample)
    require(all(limit is None or is_index(limit, 0, MOST_COUNTED) for limit in limits), "settings")
    return settings


def _group(twin: Mapping[str, Any], model: ModelInfo) -> Group:
    shape = (model.layers, model.heads)
    quadrants = twin["quadrants"]
    names = [name for row in quadrants["follows"] for name in row]
    index = np.array([-1 if name is None else QUADRANTS.index(name) for name in names], dtype=np.int64).reshape(shape)
    measured = {name: read_numbers(quadrants[name], shape, name) for name in MEASURED}
    require(quadrants["measure"] in MEASURES_OF_VARIATION, "quadrants")
    return Group(
        _count(twin["sentences"]),
        _count(twin["tokens"]),
        {scope: Means(NAMES[scope], **_fields(twin["scopes"][scope], scope, MEANS, model)) for scope in SCOPES},
        QuadrantResult(index=index, measure=quadrants["measure"], **measured),
    )


def _fields(twin: Mapping[str, Any], scope: str, fields: tuple[str, ...], model: ModelInfo) -> dict[str, Any]:
    """Return the arrays ``[L, H, S]`` of a scope by their names; every statistic must be there, in order."""
    shape, names = (model.layers, model.heads), NAMES[scope]
    require(tuple(twin) == names, "scopes")
    return {
        field: np.stack(
            [
                read_indices(twin[name][field], shape, (0, MOST_COUNTED), field)
                if field in COUNTS
                else read_numbers(twin[name][field], shape, field)
                for name in names
            ],
            axis=-1,
        )
        for field in fields
    }


def _comparison(twin: Mapping[str, Any], scope: str, groups: int) -> GroupComparison:
    names, statistics = NAMES[scope], twin["statistics"]
    require(tuple(statistics) == names, "comparisons")
    matrices = {
        field: np.stack([read_numbers(statistics[name][field], (groups, groups), field) for name in names])
        for field in ("correlation", "overlap")
    }
    return GroupComparison(names=names, top=_count(twin["top"]), **matrices)


def _length(twin: Mapping[str, Any], model: ModelInfo) -> LengthMeans:
    longest = twin["longest"]
    return LengthMeans(
        _count(twin["shortest"]),
        None if longest is None else _count(longest),
        _count(twin["sentences"]),
        {scope: _named(twin["means"][scope], NAMES[scope], (model.layers, model.heads)) for scope in SCOPES},
    )


def _named(twin: Mapping[str, Any], names: tuple[str, ...], shape: tuple[int, int]) -> Floats:
    require(tuple(twin) == names, "means")
    return np.stack([read_numbers(twin[name], shape, name) for name in names], -1)


def _mean_maps(twin: Mapping[str, Any], model: ModelInfo) -> MeanMaps:
    tokens = _count(twin["tokens"])
    weights = read_maps(twin["weights"], (model.layers, model.heads, tokens, tokens))
    return MeanMaps(tokens, _count(twin["sentences"]), weights)


def _profiles(twin: Mapping[str, Any], model: ModelInfo) -> Profiles:
    count = len(twin["offsets"])
    require(0 < count <= MOST_OFFSETS, "profiles")
    offsets = read_indices(twin["offsets"], (count,), (-MOST_OFFSETS, MOST_OFFSETS), "offsets")
    return Profiles(offsets, read_numbers(twin["values"], (model.layers, model.heads, count), "profiles"))


def _distances(twin: Mapping[str, Any], model: ModelInfo) -> Distances:
    size = model.layers * model.heads
    require(size * size <= MAXIMUM_WEIGHTS, "distances")
    rows, columns = np.triu_indices(size, 1)
    mean = np.full((size, size), np.nan)
    mean[rows, columns] = mean[columns, rows] = read_numbers(twin["pairs"], (len(rows),), "distances")
    scalars = {name: np.nan if twin[name] is None else twin[name] for name in SCALARS}
    require(all(is_number(value) or np.isnan(value) for value in scalars.values()), "distances")
    return Distances(_count(twin["n"]), mean, read_numbers(twin["spread"], (model.layers,), "spread"), **scalars)


def _example(twin: Mapping[str, Any], model: ModelInfo, files: int) -> Example:
    tokens = tuple(Token(**token) for token in twin["tokens"])
    weights = read_maps(twin["weights"], (len(tokens), len(tokens)))
    example = Example(**{**twin, "tokens": tokens, "weights": weights})
    require(all(is_text(text) for text in (example.text, example.id)) and example.language in languages(), "examples")
    require(all(is_token(token, len(example.text)) for token in tokens), "tokens")
    require(example.scope in SCOPES and example.statistic in NAMES[example.scope], "examples")
    places = ((example.layer, model.layers), (example.head, model.heads), (example.file, files))
    require(all(is_index(place, 0, size - 1) for place, size in places), "examples")
    require(is_number(example.value) and is_index(example.number, 0) and is_index(example.line, 0), "examples")
    return example


def _count(value: Any) -> int:  # noqa: ANN401 - what JSON holds
    require(is_index(value, 0, MOST_COUNTED), "count")
    return int(value)
