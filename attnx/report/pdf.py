"""From paged HTML to a tagged PDF with the report's JSON attached. Nothing is fetched, inside or outside."""

from datetime import datetime
from typing import Any

from attnx.errors import AttnxError

VARIANT = "pdf/ua-1"


def render_pdf(html: str, twin: str, created: str) -> bytes:
    """Return the PDF of a report's paged HTML. `twin` is attached as ``report.json``, dated `created` (ISO 8601).

    Raises AttnxError when the system library that WeasyPrint needs is missing.
    """
    weasyprint = load_weasyprint()
    moment = datetime.fromisoformat(created)
    attachment = weasyprint.Attachment(
        string=twin, name="report.json", description="JSON", created=moment, modified=moment, relationship="Data"
    )
    document = weasyprint.HTML(string=html, url_fetcher=weasyprint.urls.URLFetcher(allowed_protocols={"data"}))
    return bytes(document.write_pdf(pdf_variant=VARIANT, attachments=[attachment]))


def load_weasyprint() -> Any:  # noqa: ANN401 - a module
    """Import WeasyPrint, which is slow. Raises AttnxError when its system library is missing."""
    try:
        import weasyprint
    except OSError as error:
        raise AttnxError("pdf_unavailable") from error
    return weasyprint
