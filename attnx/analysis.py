"""The way from texts to a document: encode, observe, score, find."""

import os
import platform
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version as installed
from typing import TYPE_CHECKING

from attnx.texts.sentence import Sentence
from attnx.version import __version__

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder
    from attnx.report.document import Document, Provenance, SentenceReport

EPOCH_DIGITS = 11  # until the year 5138; Python counts to 9999


def analyze(
    sentences: Iterable[Sentence],
    encoder: "Encoder",
    *,
    long: str = "cut",
    baseline: int | None = None,
    command: str = "",
) -> "Document":
    """Measure every sentence and return the document.

    `long` is ``cut``, ``windows`` or ``error``: what to do with a text longer than the model takes. `baseline` is the
    seed of a random twin to measure beside the model, None for no twin. `command` is quoted in the report as the
    origin of the numbers. Raises AttnxError when the model gives nothing that can be measured.
    """
    from attnx.encoders.baseline import random_twin
    from attnx.report.document import Baseline, Document

    sentences = list(sentences)
    reports = [measure(sentence, encoder, long=long) for sentence in sentences]
    if baseline is not None:
        twin = random_twin(encoder, baseline)
        twins = [Baseline(baseline, measure(sentence, twin, long=long).scopes) for sentence in sentences]
        reports = [replace(report, baseline=beside) for report, beside in zip(reports, twins, strict=True)]
    return Document(encoder.info, provenance(command), tuple(reports))


def measure(sentence: Sentence, encoder: "Encoder", *, long: str = "cut") -> "SentenceReport":
    """Return the scores, findings and maps of one sentence.

    Of a text measured in windows the scores are those of all windows, the tokens and the maps those of the first.
    """
    from attnx.encoders.windows import read_windows
    from attnx.findings import Evidence, find
    from attnx.report.document import SentenceReport, quantize
    from attnx.statistics import even_scores, merge_parts, score_part

    windows, (first, *others) = read_windows(encoder, sentence, long)
    encoding = first.encoding
    attention = encoder.observe(encoding)
    maps = quantize(attention.weights.numpy())
    parts = score_part(attention, first.counted)
    del attention  # the next window needs its room
    for window in others:
        parts = merge_parts(parts, score_part(encoder.observe(window.encoding), window.counted))
    scopes = {scope: part.scores for scope, part in parts.items()}
    even = even_scores(encoding, encoder.info.reach, encoder.info.layers)
    findings = find(Evidence(encoding, scopes, even))
    return SentenceReport(
        sentence.text, sentence.language, encoding.truncated_from, encoding.tokens, scopes, maps, findings, windows
    )


def provenance(command: str) -> "Provenance":
    """Return what made the numbers; SOURCE_DATE_EPOCH, a number of seconds, is the time where set."""
    from attnx.report.document import Provenance

    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    usable = epoch.isdecimal() and len(epoch) <= EPOCH_DIGITS
    moment = datetime.fromtimestamp(int(epoch), UTC) if usable else datetime.now(UTC)
    return Provenance(
        attnx=__version__,
        python=platform.python_version(),
        torch=installed("torch"),
        transformers=installed("transformers"),
        command=command,
        created=moment.isoformat(timespec="seconds"),
    )
