"""Read a report's JSON back, trusting nothing in it: a file may come from anywhere."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from attnx.encoders.records import ModelInfo, Note, Token
from attnx.encoders.windows import Windows
from attnx.errors import InputError, os_reason
from attnx.findings import RULES, Finding
from attnx.i18n import languages, load_catalog
from attnx.report.checks import (
    BROKEN,
    LARGEST_SCORE,
    LARGEST_SEED,
    MAXIMUM_WEIGHTS,
    broken,
    is_index,
    is_number,
    is_text,
    load_twin,
    read_indices,
    read_maps,
    read_numbers,
    require,
)
from attnx.report.document import KIND, Baseline, Document, Provenance, SentenceReport
from attnx.report.model_notes import model_notes
from attnx.report.wording import rule, statement
from attnx.statistics import REGISTRY
from attnx.statistics.scores import SCOPES, HeadScores

SOURCES = ("builtin", "hub", "local")  # of a model
NOTES_LIMIT, NOTE_CHARACTERS = 20, 20  # notes on the model, and a text in one of them; all are shown in full


def read_document(path: Path) -> Document:
    """Return the document saved at `path`. Raises InputError when it cannot be read or is not one."""
    return from_json(read_file(path))


def read_file(path: Path) -> str:
    """Return the text of a saved report. Raises InputError when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError("input_unreadable", path=path, reason=os_reason(error)) from error
    except UnicodeDecodeError as error:
        raise InputError("input_not_utf8", path=path, position=error.start) from error


def from_json(text: str) -> Document:
    """Return the document that `text` is the twin of.

    Raises InputError when it is not JSON, not a report of this format, or does not hold together.
    """
    return from_twin(load_twin(text, KIND))


def from_twin(twin: Mapping[str, Any]) -> Document:
    """Return the document that a report's JSON, once parsed, is the twin of; raises InputError as `from_json` does."""
    try:
        model, provenance = read_model(twin["model"]), read_provenance(twin["provenance"])
        sentences = tuple(_read_sentence(sentence, model) for sentence in twin["sentences"])
        require(len(sentences) > 0, "sentences")
    except BROKEN as error:
        raise broken(error) from error
    return Document(model, provenance, sentences)


def read_provenance(twin: Mapping[str, Any]) -> Provenance:
    """Return where a report comes from."""
    provenance = Provenance(**twin)
    require(all(is_text(value) for value in twin.values()), "provenance")
    datetime.fromisoformat(provenance.created)
    return provenance


def read_model(twin: Mapping[str, Any]) -> ModelInfo:
    """Return which model a report is about."""
    reach = tuple((back, ahead) for back, ahead in twin.get("reach", ()))
    notes = tuple(Note(note["key"], note["values"]) for note in twin.get("notes", ()))
    model = ModelInfo(**{**twin, "reach": reach, "notes": notes})
    require(all(is_text(text) for text in (model.name, model.type, model.dtype)), "model")
    require(model.revision is None or is_text(model.revision), "model")
    require(model.source in SOURCES, "model")
    require(all(is_index(count, 1, MAXIMUM_WEIGHTS) for count in (model.layers, model.heads)), "model")
    require(len(reach) in (0, model.layers), "reach")
    require(all(limit is None or is_index(limit, 0) for limits in reach for limit in limits), "reach")
    require(len(notes) <= NOTES_LIMIT, "notes")
    values = [value for note in notes for value in note.values.values()]
    require(all(is_number(value) or (is_text(value) and len(value) <= NOTE_CHARACTERS) for value in values), "notes")
    for language in languages():
        list(model_notes(model, load_catalog(language)))
    return model


def _read_sentence(twin: Mapping[str, Any], model: ModelInfo) -> SentenceReport:
    if twin["maps"] is None:
        raise InputError("report_without_maps")
    text, language, cut = twin["text"], twin["language"], twin["truncated_from"]
    require(is_text(text) and language in languages(), "text")
    tokens = tuple(Token(**token) for token in twin["tokens"])
    require(all(is_token(token, len(text)) for token in tokens), "tokens")
    size = len(tokens)
    require(cut is None or is_index(cut, size + 1), "truncated_from")
    windows = _read_windows(twin.get("windows"), size)
    require(cut is None or windows is None, "windows")
    rows = windows.count * size if windows else size
    return SentenceReport(
        text,
        language,
        cut,
        tokens,
        {scope: _read_scores(scope, twin["scopes"][scope], model, size, rows) for scope in SCOPES},
        read_maps(twin["maps"], (model.layers, model.heads, size, size)),
        tuple(_read_finding(finding, model) for finding in twin["findings"]),
        windows,
        _read_baseline(twin.get("baseline"), model, size, rows),
    )


def _read_baseline(twin: Mapping[str, Any] | None, model: ModelInfo, size: int, rows: int) -> Baseline | None:
    if twin is None:
        return None
    require(twin["kind"] == "random" and is_index(twin["seed"], 0, LARGEST_SEED), "baseline")
    scopes = {scope: _read_scores(scope, twin["scopes"][scope], model, size, rows) for scope in SCOPES}
    return Baseline(twin["seed"], scopes)


def _read_windows(twin: Mapping[str, Any] | None, size: int) -> Windows | None:
    """Return how windows of `size` tokens lie; they must cover the text and no more."""
    if twin is None:
        return None
    windows = Windows(**twin)
    require(is_index(windows.count, 2, LARGEST_SCORE) and is_index(windows.length, size, size), "windows")
    require(is_index(windows.overlap, 0, size - 1), "windows")
    require(is_index(windows.total, size + 1, windows.count * size), "windows")
    return windows


def is_token(token: Token, length: int) -> bool:
    """Tell whether a token holds together and lies in a text of `length` characters."""
    return (
        is_text(token.text)
        and isinstance(token.special, bool)
        and isinstance(token.unknown, bool)
        and is_index(token.end, 0, length)
        and is_index(token.start, 0, token.end)
        and (token.word is None or is_index(token.word, 0))
    )


def _read_scores(scope: str, twin: Mapping[str, Any], model: ModelInfo, size: int, rows: int) -> HeadScores:
    """Return the scores of one scope: positions are below `size`, and no head has more than `rows` rows."""
    shape = (model.layers, model.heads)
    bounds = {
        "sink_position": (-1, size - 1),
        "positional_offset": (-size, size),
        "nearest_head_index": (-1, model.layers * model.heads - 1),
    }
    require(is_index(twin["tokens"], 0, size), "scopes")
    return HeadScores(
        scope,
        {
            name: read_numbers(twin[name], shape, name)
            for name, statistic in REGISTRY.items()
            if scope in statistic.scopes
        },
        {
            name: read_indices(value, shape, bounds[name], name)
            if name in bounds
            else read_numbers(value, shape[:1], name)
            for name, value in twin["details"].items()
        },
        twin["tokens"],
        read_indices(twin["skipped_rows"], shape, (0, rows), "skipped_rows"),
    )


def _read_finding(twin: Mapping[str, Any], model: ModelInfo) -> Finding:
    own = ("key", "layer", "head", "value", "threshold")
    details = {key: value for key, value in twin.items() if key not in own}
    require(all(is_number(value) or is_text(value) for value in details.values()), "findings")
    finding = Finding(**{name: twin[name] for name in own}, details=details)
    require(is_number(finding.value) and (finding.threshold is None or is_number(finding.threshold)), "findings")
    layers, heads = (finding.layer, details.get("partner_layer")), (finding.head, details.get("partner_head"))
    require(all(layer is None or is_index(layer, 0, model.layers - 1) for layer in layers), "findings")
    require(all(head is None or is_index(head, 0, model.heads - 1) for head in heads), "findings")
    require(finding.key.removesuffix("_none") in {rule.__name__ for rule in RULES}, "findings")
    # What a message needs is known to the catalogs alone.
    for language in languages():
        statement(finding, load_catalog(language))
        rule(finding, load_catalog(language))
    return finding
