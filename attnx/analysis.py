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


def analyze(
    sentences: Iterable[Sentence], encoder: "Encoder", *, on_long: str = "cut", command: str = ""
) -> "Document":
    """Measure every sentence and return the document.

    `on_long` is ``cut`` or ``error``: what to do with a text longer than the model takes. `command` is quoted in the
    report as the origin of the numbers. Raises AttnxError when the model gives nothing that can be measured.
    """
    from attnx.report.document import Document

    reports = tuple(measure(sentence, encoder, on_long=on_long) for sentence in sentences)
    return Document(encoder.info, provenance(command), reports)


def measure(sentence: Sentence, encoder: "Encoder", *, on_long: str = "cut") -> "SentenceReport":
    """Return the scores, findings and maps of one sentence."""
    from attnx.findings import find
    from attnx.report.document import SentenceReport, quantize
    from attnx.statistics import score_heads

    encoding = encoder.encode(sentence, on_long)
    attention = encoder.observe(encoding)
    scopes = score_heads(attention)
    return SentenceReport(
        sentence.text,
        sentence.language,
        encoding.truncated_from,
        encoding.tokens,
        scopes,
        quantize(attention.weights.numpy()),
        find(encoding, scopes),
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
