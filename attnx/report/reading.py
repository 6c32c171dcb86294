"""Read a report's JSON back, trusting nothing in it: a file may come from anywhere."""

import base64
import json
import math
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnx.encoders.records import ModelInfo, Note, Token
from attnx.encoders.windows import Windows
from attnx.errors import InputError, os_reason
from attnx.findings import RULES, Finding
from attnx.i18n import languages, load_catalog
from attnx.report.document import FORMAT, KIND, Baseline, Document, Maps, Provenance, SentenceReport
from attnx.report.model_notes import model_notes
from attnx.report.typography import short_text
from attnx.report.wording import rule, statement
from attnx.statistics import REGISTRY
from attnx.statistics.scores import SCOPES, Floats, HeadScores

SOURCES = ("builtin", "hub", "local")  # of a model
REASON_CHARACTERS = 120
LARGEST_SEED = 2**63 - 1
LARGEST_SCORE = 1e9  # tokens, nats and shares stay far below; more cannot be written out
MAXIMUM_WEIGHTS = 2**30  # of the maps in a file: 512 tokens take 38 million for 144 heads


def read_document(path: Path) -> Document:
    """Return the document saved at `path`. Raises InputError when it cannot be read or is not one."""
    try:
        return from_json(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError("input_unreadable", path=path, reason=os_reason(error)) from error
    except UnicodeDecodeError as error:
        raise InputError("input_not_utf8", path=path, position=error.start) from error


def from_json(text: str) -> Document:
    """Return the document that `text` is the twin of.

    Raises InputError when it is not JSON, not a report of this format, or does not hold together.
    """
    try:
        twin = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputError("report_not_json", reason=_one_line(str(error))) from error
    if not isinstance(twin, dict) or twin.get("format") != FORMAT or twin.get("kind") != KIND:
        raise InputError("report_unknown_format", wanted=f"format {FORMAT}, kind {KIND}")
    try:
        model = _read_model(twin["model"])
        provenance = Provenance(**twin["provenance"])
        _require(all(_is_text(value) for value in twin["provenance"].values()), "provenance")
        datetime.fromisoformat(provenance.created)
        sentences = tuple(_read_sentence(sentence, model) for sentence in twin["sentences"])
        _require(len(sentences) > 0, "sentences")
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise InputError("report_broken", reason=_one_line(f"{type(error).__name__}: {error}")) from error
    return Document(model, provenance, sentences)


def _read_model(twin: Mapping[str, Any]) -> ModelInfo:
    reach = tuple((back, ahead) for back, ahead in twin.get("reach", ()))
    notes = tuple(Note(note["key"], note["values"]) for note in twin.get("notes", ()))
    model = ModelInfo(**{**twin, "reach": reach, "notes": notes})
    _require(all(_is_text(text) for text in (model.name, model.type, model.dtype)), "model")
    _require(model.revision is None or _is_text(model.revision), "model")
    _require(model.source in SOURCES, "model")
    _require(all(_is_index(count, 1, MAXIMUM_WEIGHTS) for count in (model.layers, model.heads)), "model")
    _require(len(reach) in (0, model.layers), "reach")
    _require(all(limit is None or _is_index(limit, 0) for limits in reach for limit in limits), "reach")
    values = [value for note in notes for value in note.values.values()]
    _require(all(_is_number(value) or _is_text(value) for value in values), "notes")
    for language in languages():
        list(model_notes(model, load_catalog(language)))
    return model


def _read_sentence(twin: Mapping[str, Any], model: ModelInfo) -> SentenceReport:
    if twin["maps"] is None:
        raise InputError("report_without_maps")
    text, language, cut = twin["text"], twin["language"], twin["truncated_from"]
    _require(_is_text(text) and language in languages(), "text")
    tokens = tuple(Token(**token) for token in twin["tokens"])
    _require(all(_is_token(token, len(text)) for token in tokens), "tokens")
    size = len(tokens)
    _require(cut is None or _is_index(cut, size + 1), "truncated_from")
    windows = _read_windows(twin.get("windows"), size)
    _require(cut is None or windows is None, "windows")
    rows = windows.count * size if windows else size
    return SentenceReport(
        text,
        language,
        cut,
        tokens,
        {scope: _read_scores(scope, twin["scopes"][scope], model, size, rows) for scope in SCOPES},
        _read_maps(twin["maps"], (model.layers, model.heads, size, size)),
        tuple(_read_finding(finding, model) for finding in twin["findings"]),
        windows,
        _read_baseline(twin.get("baseline"), model, size, rows),
    )


def _read_baseline(twin: Mapping[str, Any] | None, model: ModelInfo, size: int, rows: int) -> Baseline | None:
    if twin is None:
        return None
    _require(twin["kind"] == "random" and _is_index(twin["seed"], 0, LARGEST_SEED), "baseline")
    scopes = {scope: _read_scores(scope, twin["scopes"][scope], model, size, rows) for scope in SCOPES}
    return Baseline(twin["seed"], scopes)


def _read_windows(twin: Mapping[str, Any] | None, size: int) -> Windows | None:
    """Return how windows of `size` tokens lie; they must cover the text and no more."""
    if twin is None:
        return None
    windows = Windows(**twin)
    _require(_is_index(windows.count, 2, LARGEST_SCORE) and _is_index(windows.length, size, size), "windows")
    _require(_is_index(windows.overlap, 0, size - 1), "windows")
    _require(_is_index(windows.total, size + 1, windows.count * size), "windows")
    return windows


def _read_maps(twin: Mapping[str, Any], shape: tuple[int, ...]) -> Maps:
    _require(twin["shape"] == list(shape) and twin["dtype"] == "uint8", "maps")
    _require(0 < math.prod(shape) <= MAXIMUM_WEIGHTS, "maps")
    data = base64.b64decode(twin["data"], validate=True)
    _require(len(data) == math.prod(shape), "maps")
    return np.frombuffer(data, np.uint8).reshape(shape)


def _is_token(token: Token, length: int) -> bool:
    return (
        _is_text(token.text)
        and isinstance(token.special, bool)
        and isinstance(token.unknown, bool)
        and _is_index(token.end, 0, length)
        and _is_index(token.start, 0, token.end)
        and (token.word is None or _is_index(token.word, 0))
    )


def _read_scores(scope: str, twin: Mapping[str, Any], model: ModelInfo, size: int, rows: int) -> HeadScores:
    """Return the scores of one scope: positions are below `size`, and no head has more than `rows` rows."""
    shape = (model.layers, model.heads)
    bounds = {
        "sink_position": (-1, size - 1),
        "positional_offset": (-size, size),
        "nearest_head_index": (-1, model.layers * model.heads - 1),
    }
    _require(_is_index(twin["tokens"], 0, size), "scopes")
    return HeadScores(
        scope,
        {
            name: _read_numbers(twin[name], shape, name)
            for name, statistic in REGISTRY.items()
            if scope in statistic.scopes
        },
        {
            name: _read_indices(value, shape, bounds[name], name)
            if name in bounds
            else _read_numbers(value, shape[:1], name)
            for name, value in twin["details"].items()
        },
        twin["tokens"],
        _read_indices(twin["skipped_rows"], shape, (0, rows), "skipped_rows"),
    )


def _read_numbers(value: Any, shape: tuple[int, ...], what: str) -> Floats:  # noqa: ANN401 - what JSON holds
    items = np.array(value, dtype=object)
    _require(items.shape == shape and all(item is None or _is_number(item) for item in items.flat), what)
    return items.astype(np.float64)


def _read_indices(
    value: Any,  # noqa: ANN401 - what JSON holds
    shape: tuple[int, ...],
    bounds: tuple[int, int],
    what: str,
) -> NDArray[np.int64]:
    items = np.array(value, dtype=object)
    _require(items.shape == shape and all(_is_index(item, *bounds) for item in items.flat), what)
    return items.astype(np.int64)


def _read_finding(twin: Mapping[str, Any], model: ModelInfo) -> Finding:
    own = ("key", "layer", "head", "value", "threshold")
    details = {key: value for key, value in twin.items() if key not in own}
    _require(all(_is_number(value) or _is_text(value) for value in details.values()), "findings")
    finding = Finding(**{name: twin[name] for name in own}, details=details)
    _require(_is_number(finding.value) and (finding.threshold is None or _is_number(finding.threshold)), "findings")
    layers, heads = (finding.layer, details.get("partner_layer")), (finding.head, details.get("partner_head"))
    _require(all(layer is None or _is_index(layer, 0, model.layers - 1) for layer in layers), "findings")
    _require(all(head is None or _is_index(head, 0, model.heads - 1) for head in heads), "findings")
    _require(finding.key.removesuffix("_none") in {rule.__name__ for rule in RULES}, "findings")
    # What a message needs is known to the catalogs alone.
    for language in languages():
        statement(finding, load_catalog(language))
        rule(finding, load_catalog(language))
    return finding


def _is_text(value: object) -> bool:
    """Tell whether a value is a string that can be written as UTF-8."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def _is_number(value: object) -> bool:
    """Tell whether a value is a number that a score could be; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST_SCORE


def _is_index(value: object, low: int, high: float = math.inf) -> bool:
    """Tell whether a value is a whole number from `low` to `high`, both included."""
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _refuse(constant: str) -> None:
    raise ValueError(constant)  # NaN and Infinity, which Python's reader takes and JSON has not


def _one_line(reason: str) -> str:
    """Return what an exception says, which may quote the file, as something a terminal can show."""
    return "".join(c if c.isprintable() else " " for c in short_text(reason, REASON_CHARACTERS))


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(what)
