"""From paged HTML to a tagged PDF with the report's JSON attached. Nothing is fetched, inside or outside."""

import logging
import struct
import zlib
from datetime import datetime
from io import BytesIO
from typing import Any

import numpy as np

from attnx.errors import AttnxError
from attnx.report.colors import LEVELS, SEQUENTIAL, css

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
    return bytes(document.write_pdf(pdf_variant=VARIANT, attachments=[attachment], finisher=finish))


def finish(document: Any, pdf: Any) -> None:  # noqa: ANN401 - WeasyPrint's finisher
    """Make the file small, and quickly so.

    Pictures of few colors become indexed ones again, since WeasyPrint writes them as RGB, three times the size. Gray
    pictures are color levels, which get their palette here. The attachment, mostly weights that hardly shrink, is
    compressed at zlib's quickest level: the best, which WeasyPrint takes, needs fifty times as long.
    """
    import pydyf

    palette = "".join(css(rgb).removeprefix("#") for rgb in SEQUENTIAL)
    colors = pydyf.Array(["/Indexed", "/DeviceRGB", LEVELS - 1, f"<{palette}>"])
    pdf.add_object(colors)
    streams = [item for item in pdf.objects if isinstance(item, pydyf.Stream)]
    masks = {item.extra["SMask"] for item in streams if "SMask" in item.extra}
    for item in streams:
        space = item.extra.get("ColorSpace")
        if item.extra.get("Type") == "/EmbeddedFile":
            item.stream = [zlib.compress(item.stream[0], 1)]
            item.extra["Filter"] = "/FlateDecode"
            item.compress = False
        elif space == "/DeviceRGB" and item.extra.get("Subtype") == "/Image":
            _index(item)
        elif space == "/DeviceGray" and item.reference not in masks:
            item.extra["ColorSpace"] = colors.reference


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
    stream.stream = [zlib.compress(pixels.tobytes())]


def _png(width: int, height: int, data: bytes) -> bytes:
    """Return a PNG file around the compressed rows of an RGB picture, which is how a PDF may hold them."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", data), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    )
