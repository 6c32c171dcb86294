"""The report of an experiment as the bytes of a file."""

from attnx.i18n import Catalog
from attnx.report.experiment.build import experiment_view, verdict_lines
from attnx.report.experiment.document import ExperimentDocument
from attnx.report.experiment.twin import to_json
from attnx.report.html import render_html
from attnx.report.pdf import render_pdf
from attnx.report.presentation import PLAIN, Presentation

__all__ = ["render_experiment", "verdict_lines"]


def render_experiment(
    document: ExperimentDocument, suffix: str, t: Catalog, presentation: Presentation = PLAIN
) -> bytes:
    """Return the report as the bytes of a ``.html``, ``.pdf`` or ``.json`` file, in the catalog's language."""
    if suffix == ".json":
        return to_json(document).encode()
    paged = suffix == ".pdf"
    html = render_html(experiment_view(document, t), t, presentation, paged=paged, folder="experiment")
    return render_pdf(html, to_json(document), document.provenance.created) if paged else html.encode()
