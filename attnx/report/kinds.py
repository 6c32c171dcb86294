"""The kinds of reports: how each is read back, and how it becomes the bytes of a file."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attnx.i18n import Catalog
from attnx.report import document as sentences
from attnx.report.build import highlights
from attnx.report.checks import load_twin
from attnx.report.corpus import twin as corpus
from attnx.report.corpus.document import CorpusDocument
from attnx.report.corpus.reading import corpus_from_twin
from attnx.report.corpus.rendering import corpus_highlights, render_corpus
from attnx.report.document import Document
from attnx.report.experiment import twin as experiment
from attnx.report.experiment.document import ExperimentDocument
from attnx.report.experiment.reading import experiment_from_twin
from attnx.report.experiment.rendering import render_experiment, verdict_lines
from attnx.report.output import render
from attnx.report.presentation import PLAIN, Presentation
from attnx.report.reading import from_twin, read_file

AnyDocument = Document | CorpusDocument | ExperimentDocument

READERS: Mapping[str, Callable[[Mapping[str, Any]], AnyDocument]] = {
    sentences.KIND: from_twin,
    corpus.KIND: corpus_from_twin,
    experiment.KIND: experiment_from_twin,
}


def read_report(path: Path) -> AnyDocument:
    """Return the report saved at `path`, of whatever kind.

    Raises InputError when it cannot be read, is not a report, or does not hold together.
    """
    twin = load_twin(read_file(path), *READERS)
    return READERS[twin["kind"]](twin)


def render_report(document: AnyDocument, suffix: str, t: Catalog, presentation: Presentation = PLAIN) -> bytes:
    """Return the report as the bytes of a ``.html``, ``.pdf`` or ``.json`` file, in the catalog's language."""
    if isinstance(document, CorpusDocument):
        return render_corpus(document, suffix, t, presentation)
    if isinstance(document, ExperimentDocument):
        return render_experiment(document, suffix, t, presentation)
    return render(document, suffix, t, presentation)


def strongest(document: AnyDocument, t: Catalog) -> tuple[str, ...]:
    """Return the few lines that the terminal shows of a report."""
    if isinstance(document, CorpusDocument):
        return corpus_highlights(document, t)
    if isinstance(document, ExperimentDocument):
        return verdict_lines(document, t)
    return highlights(document, t)
