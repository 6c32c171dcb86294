"""The way from texts to a document: encode, observe, score, find."""

import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version as installed
from typing import TYPE_CHECKING

from attnx.texts.sentence import Sentence
from attnx.version import __version__

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder
    from attnx.report.document import Document, Provenance, SentenceReport

EPOCH_DIGITS = 11  # until the year 5138; Python counts to 9999


def analyze(sentences: Iterable[Sentence], encoder: "Encoder", *, long: str = "cut", command: str = "") -> "Document":
    """Measure every sentence and return the document.

    `long` is ``cut``, ``windows`` or ``error``: what to do with a text longer than the model takes. `command` is
    quoted in the report as the origin of the numbers. Raises AttnxError when the model gives nothing that can be
    measured.
    """
    from attnx.report.document import Document

    reports = tuple(measure(sentence, encoder, long=long) for sentence in sentences)
    return Document(encoder.info, provenance(command), reports)


def measure(sentence: Sentence, encoder: "Encoder", *, long: str = "cut") -> "SentenceReport":
    """Return the scores, findings and maps of one sentence.

    Of a text measured in windows the scores are those of all windows, the tokens and the maps those of the first.
    """
    from attnx.encoders.windows import read_windows
    from attnx.findings import find
    from attnx.report.document import SentenceReport, quantize
    from attnx.statistics import merge_parts, score_part

    windows, (first, *others) = read_windows(encoder, sentence, long)
    encoding = first.encoding
    attention = encoder.observe(encoding)
    maps = quantize(attention.weights.numpy())
    parts = score_part(attention, first.counted)
    del attention  # the next window needs its room
    for window in others:
        parts = merge_parts(parts, score_part(encoder.observe(window.encoding), window.counted))
    scopes = {scope: part.scores for scope, part in parts.items()}
    findings = find(encoding, scopes)
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
