"""The document: everything that a report shows, as records, and its twin in JSON (format 1)."""

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnx.encoders.records import ModelInfo, Token
from attnx.encoders.windows import Windows
from attnx.findings import Finding
from attnx.statistics.scores import HeadScores

FORMAT = 1  # 1: the first
KIND = "sentences"
DECIMALS = 6

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
class Baseline:
    """The scores that the same sentence has under a twin of the model with random weights, drawn from `seed`."""

    seed: int
    scopes: Mapping[str, HeadScores]


@dataclass(frozen=True)
class SentenceReport:
    """One sentence with its scores, its findings (strongest first) and its maps.

    `maps` is uint8 ``[layers, heads, query, key]``: a weight p is stored as round(255 p). It serves the pictures;
    the scores are computed before it is rounded. `truncated_from` is the length before the sentence was cut;
    `windows` says how one was measured that is longer than its `tokens` and `maps`, which are its first window.
    """

    text: str
    language: str
    truncated_from: int | None
    tokens: tuple[Token, ...]
    scopes: Mapping[str, HeadScores]
    maps: Maps
    findings: tuple[Finding, ...]
    windows: Windows | None = None
    baseline: Baseline | None = None

    @property
    def size(self) -> int:
        """How many tokens were measured, special ones included."""
        return self.windows.total if self.windows else len(self.tokens)


@dataclass(frozen=True)
class Document:
    """A report before it is put into words: the model, where the numbers come from, and the sentences."""

    model: ModelInfo
    provenance: Provenance
    sentences: tuple[SentenceReport, ...]

    @property
    def name(self) -> str:
        """What a file of the report is called after, unless it is given a name."""
        return self.sentences[0].text

    @property
    def language(self) -> str:
        """The language of the report, unless another is asked for."""
        return self.sentences[0].language


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
        "windows": asdict(sentence.windows) if sentence.windows else None,
        "tokens": [asdict(token) for token in sentence.tokens],
        "scopes": {name: _scores_twin(scores) for name, scores in sentence.scopes.items()},
        "maps": maps if with_maps else None,
        "findings": [_finding_twin(finding) for finding in sentence.findings],
        "baseline": _baseline_twin(sentence.baseline) if sentence.baseline else None,
    }


def _scores_twin(scores: HeadScores) -> dict[str, Any]:
    return {
        **{name: plain(value) for name, value in scores.values.items()},
        "details": {name: plain(value) for name, value in scores.details.items()},
        "tokens": scores.tokens,
        "skipped_rows": plain(scores.skipped_rows),
    }


def _baseline_twin(baseline: Baseline) -> dict[str, Any]:
    scopes = {name: _scores_twin(scores) for name, scores in baseline.scopes.items()}
    return {"kind": "random", "seed": baseline.seed, "scopes": scopes}


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
