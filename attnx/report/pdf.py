"""From paged HTML to a tagged PDF with the report's JSON attached. Nothing is fetched, inside or outside."""

import logging
import struct
import zlib
from datetime import datetime
from io import BytesIO
from typing import Any

import numpy as np

from attnx.errors import AttnxError

VARIANT = "pdf/ua-1"
COLORS = 256  # of an indexed picture, at most


def load_weasyprint() -> Any:  # noqa: ANN401 - a module
    """Import WeasyPrint, which is slow. Raises AttnxError when its system library is missing."""
    try:
        import weasyprint
    except OSError as error:
        raise AttnxError("pdf_unavailable") from error
    return weasyprint


def render_pdf(html: str, twin: str, created: str) -> bytes:
    """Return the PDF of a report's paged HTML. `twin` is attached as ``report.json``, dated `created` (ISO 8601).

    Raises AttnxError when the system library that WeasyPrint needs is missing.
    """
    weasyprint = load_weasyprint()
    # Its remarks on style sheets are for developers; everything it could miss comes inside the page.
    logging.getLogger("weasyprint").setLevel(logging.ERROR)
    moment = datetime.fromisoformat(created)
    attachment = weasyprint.Attachment(
        string=twin, name="report.json", description="JSON", created=moment, modified=moment, relationship="Data"
    )
    # Pictures and the font are data: URIs, so no other protocol is needed, and none is allowed.
    closed = weasyprint.urls.URLFetcher(allowed_protocols={"data"}, allow_redirects=False)
    document = weasyprint.HTML(string=html, url_fetcher=closed)
    return bytes(document.write_pdf(pdf_variant=VARIANT, attachments=[attachment], finisher=_index_colors))


def _index_colors(document: Any, pdf: Any) -> None:  # noqa: ANN401 - WeasyPrint's finisher
    """Store pictures of few colors as indexed ones again, a third of the size: WeasyPrint writes them as RGB."""
    for item in pdf.objects:
        extra = getattr(item, "extra", None)
        if extra and extra.get("Subtype") == "/Image" and extra.get("ColorSpace") == "/DeviceRGB":
            _index(item)


def _index(stream: Any) -> None:  # noqa: ANN401 - a pydyf stream
    import pydyf
    from PIL import Image

    extra = stream.extra
    width, height = extra["Width"], extra["Height"]
    picture = Image.open(BytesIO(_png(width, height, b"".join(part.data for part in stream.stream))))
    if picture.getcolors(COLORS) is None:
        return
    codes = np.asarray(picture).astype(np.int32) @ np.array([1 << 16, 1 << 8, 1])
    palette = np.unique(codes)
    pixels = np.searchsorted(palette, codes).astype(np.uint8)
    lookup = "".join(f"{code:06x}" for code in palette)
    extra["ColorSpace"] = pydyf.Array(["/Indexed", "/DeviceRGB", len(palette) - 1, f"<{lookup}>"])
    del extra["DecodeParms"]
    stream.stream = [zlib.compress(pixels.tobytes(), 9)]


def _png(width: int, height: int, data: bytes) -> bytes:
    """Return a PNG file around the compressed rows of an RGB picture, which is how a PDF may hold them."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", data), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )
