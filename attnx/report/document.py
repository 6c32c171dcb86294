"""The document: everything that a report shows, as records, and its twin in JSON (format 1)."""

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnx.encoders.records import ModelInfo, Token
from attnx.errors import InputError, os_reason
from attnx.findings import Finding
from attnx.statistics.scores import SCOPES, HeadScores

FORMAT = 1  # 1: the first
KIND = "sentences"
DECIMALS = 6
MAXIMUM_WEIGHTS = 2**30  # of the maps in a file: 512 tokens take 38 million for 144 heads

Maps = NDArray[np.uint8]


@dataclass(frozen=True)
class Provenance:
    """Which programs made the numbers, by which command, and when (ISO 8601, UTC)."""

    attnx: str
    python: str
    torch: str
    transformers: str
    command: str
    created: str


@dataclass(frozen=True)
class SentenceReport:
    """One sentence with its scores, its findings (strongest first) and its maps.

    `maps` is uint8 ``[layers, heads, query, key]``: a weight p is stored as round(255 p). It serves the pictures;
    the scores are computed before it is rounded. `truncated_from` is the length before the sentence was cut.
    """

    text: str
    language: str
    truncated_from: int | None
    tokens: tuple[Token, ...]
    scopes: Mapping[str, HeadScores]
    maps: Maps
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Document:
    """A report before it is put into words: the model, where the numbers come from, and the sentences."""

    model: ModelInfo
    provenance: Provenance
    sentences: tuple[SentenceReport, ...]


def to_json(document: Document, *, with_maps: bool = True) -> str:
    """Return the document as JSON: numbers to six decimals, null for what is not defined, the same bytes each time.

    Without its maps the JSON holds the numbers only, and cannot be rendered again.
    """
    twin = {
        "format": FORMAT,
        "kind": KIND,
        "model": asdict(document.model),
        "provenance": asdict(document.provenance),
        "sentences": [_sentence_twin(sentence, with_maps) for sentence in document.sentences],
    }
    return json.dumps(twin, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


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
        twin = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError("report_not_json", reason=str(error)) from error
    if not isinstance(twin, dict) or twin.get("format") != FORMAT or twin.get("kind") != KIND:
        raise InputError("report_unknown_format", wanted=f"format {FORMAT}, kind {KIND}")
    try:
        model = ModelInfo(**twin["model"])
        _require(all(isinstance(n, int) and n > 0 for n in (model.layers, model.heads)), "model")
        _require(all(value is None or isinstance(value, str | int) for value in twin["model"].values()), "model")
        provenance = Provenance(**{name: str(value) for name, value in twin["provenance"].items()})
        sentences = tuple(_read_sentence(sentence, model) for sentence in twin["sentences"])
        _require(len(sentences) > 0, "sentences")
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError("report_broken", reason=f"{type(error).__name__}: {error}") from error
    return Document(model, provenance, sentences)


def quantize(weights: NDArray[np.float32]) -> Maps:
    """Return weights between 0 and 1 as bytes, round(255 p)."""
    return np.rint(weights * 255).astype(np.uint8)


def _sentence_twin(sentence: SentenceReport, with_maps: bool) -> dict[str, Any]:
    maps = {
        "shape": list(sentence.maps.shape),
        "dtype": "uint8",
        "data": base64.b64encode(sentence.maps.tobytes()).decode("ascii"),
    }
    return {
        "text": sentence.text,
        "language": sentence.language,
        "truncated_from": sentence.truncated_from,
        "tokens": [asdict(token) for token in sentence.tokens],
        "scopes": {name: _scores_twin(scores) for name, scores in sentence.scopes.items()},
        "maps": maps if with_maps else None,
        "findings": [_finding_twin(finding) for finding in sentence.findings],
    }


def _scores_twin(scores: HeadScores) -> dict[str, Any]:
    return {
        **{name: plain(value) for name, value in scores.values.items()},
        "details": {name: plain(value) for name, value in scores.details.items()},
        "tokens": scores.tokens,
        "skipped_rows": plain(scores.skipped_rows),
    }


def _finding_twin(finding: Finding) -> dict[str, Any]:
    twin = {key: plain(value) for key, value in asdict(finding).items() if key != "details"}
    return twin | {key: plain(value) for key, value in finding.details.items()}


def plain(value: Any) -> Any:  # noqa: ANN401 - what JSON can hold
    """Return arrays and numbers as what JSON can hold, NaN as None."""
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(item) for item in (value.tolist() if isinstance(value, np.ndarray) else value)]
    if isinstance(value, float | np.floating):
        return None if math.isnan(value) else round(float(value), DECIMALS)
    return int(value) if isinstance(value, np.integer) else value


def _read_sentence(twin: Mapping[str, Any], model: ModelInfo) -> SentenceReport:
    if twin["maps"] is None:
        raise InputError("report_without_maps")
    tokens = tuple(Token(**token) for token in twin["tokens"])
    _require(isinstance(twin["text"], str) and all(_is_token(token, len(twin["text"])) for token in tokens), "tokens")
    size = len(tokens)
    shape = (model.layers, model.heads, size, size)
    _require(twin["maps"]["shape"] == list(shape) and twin["maps"]["dtype"] == "uint8", "maps")
    _require(0 < math.prod(shape) <= MAXIMUM_WEIGHTS, "maps")
    data = base64.b64decode(twin["maps"]["data"], validate=True)
    _require(len(data) == math.prod(shape), "maps")
    cut = twin["truncated_from"]
    _require(cut is None or (isinstance(cut, int) and cut > size), "truncated_from")
    return SentenceReport(
        twin["text"],
        str(twin["language"]),
        cut,
        tokens,
        {scope: _read_scores(scope, twin["scopes"][scope], model) for scope in SCOPES},
        np.frombuffer(data, np.uint8).reshape(shape),
        tuple(_read_finding(finding, model) for finding in twin["findings"]),
    )


def _is_token(token: Token, length: int) -> bool:
    return (
        isinstance(token.text, str)
        and isinstance(token.special, bool)
        and isinstance(token.start, int)
        and isinstance(token.end, int)
        and 0 <= token.start <= token.end <= length
        and (token.word is None or isinstance(token.word, int))
    )


def _read_scores(scope: str, twin: Mapping[str, Any], model: ModelInfo) -> HeadScores:
    others = ("details", "tokens", "skipped_rows")
    values = {name: np.array(value, dtype=np.float64) for name, value in twin.items() if name not in others}
    _require(all(value.shape == (model.layers, model.heads) for value in values.values()), "scopes")
    details = {name: np.array(value) for name, value in twin["details"].items()}
    details = {name: value.astype(np.float64) if value.ndim == 1 else value for name, value in details.items()}
    _require(
        all(value.shape in {(model.layers,), (model.layers, model.heads)} for value in details.values()), "details"
    )
    skipped = np.array(twin["skipped_rows"], dtype=np.int64)
    return HeadScores(scope, values, details, int(twin["tokens"]), skipped)


def _read_finding(twin: Mapping[str, Any], model: ModelInfo) -> Finding:
    own = ("key", "layer", "head", "value", "threshold")
    details = {key: value for key, value in twin.items() if key not in own}
    _require(all(isinstance(value, int | float | str) for value in details.values()), "findings")
    finding = Finding(twin["key"], twin["layer"], twin["head"], float(twin["value"]), twin["threshold"], details)
    for index, bound in ((finding.layer, model.layers), (finding.head, model.heads)):
        _require(index is None or (isinstance(index, int) and 0 <= index < bound), "findings")
    return finding


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(what)
