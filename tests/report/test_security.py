import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from xml.etree.ElementTree import Element

import html5lib
import pikepdf
import pytest

from attnx.i18n import load_catalog
from attnx.report.build import report_view
from attnx.report.document import Document
from attnx.report.html import render_html
from attnx.report.pdf import render_pdf

MARKUP = [
    json.loads(line)["text"]
    for line in (Path(__file__).parents[1] / "data/f15_markup.jsonl").read_text(encoding="utf-8").splitlines()
]
RenderSmall = Callable[..., tuple[str, bytes]]


@dataclass
class Canary:
    """A local HTTP server that counts its visitors, and a file that nobody may read."""

    address: str
    file: Path
    visits: list[str] = field(default_factory=list)


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Canary]:
    visits: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            visits.append(self.path)
            self.send_response(404)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    file = tmp_path / "secret.txt"
    file.write_text("a secret of this machine")
    yield Canary(f"http://127.0.0.1:{server.server_port}", file, visits)
    server.shutdown()
    server.server_close()


def parsed(page: str) -> Element:
    root: Element = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)
    return root


@pytest.fixture(scope="module")
def plain_tags(make_document: Callable[..., Document]) -> set[str]:
    """The kinds of nodes and attributes of a report on a harmless text."""
    page = html_of(make_document("Just a few plain words here, nothing else"))
    return kinds(parsed(page))


def html_of(document: Document) -> str:
    t = load_catalog("en")
    return render_html(report_view(document, t), t)


def kinds(root: Element) -> set[str]:
    return {f"{node.tag} {' '.join(sorted(node.attrib))}" for node in root.iter() if isinstance(node.tag, str)}


@pytest.mark.parametrize("text", MARKUP)
def test_markup_is_text(make_document: Callable[..., Document], plain_tags: set[str], text: str) -> None:
    root = parsed(html_of(make_document(text, model=text, command=f"attnx report {text}")))
    assert kinds(root) <= plain_tags
    assert len(list(root.iter("style"))) == 1
    assert root.findtext(".//h1") == text
    assert text in str(root.findtext("head/title"))
    cells = ["".join(cell.itertext()) for cell in root.iter("td")]
    assert text in cells  # the model's name
    assert f"attnx report {text}" in cells
    assert not any("display:none" in node.get("style", "") for node in root.iter())


def test_markup_in_tokens_is_text(make_document: Callable[..., Document]) -> None:
    document = make_document("a<b && c>d \"q\" 's'")
    root = parsed(html_of(document))
    tokens = [
        "".join(item.itertext()).lstrip("0123456789") for item in root.iterfind(".//section[@class='tokens']/ol/li")
    ]
    assert tokens == [token.text.replace("▁", "␣") for token in document.sentences[0].tokens]
    assert any("<" in token for token in tokens[1:-1])
    alts = " ".join(image.get("alt", "") for image in root.iter("img"))
    assert "<" in alts


@pytest.mark.parametrize("text", [" ".join(MARKUP)])
def test_markup_in_the_pdf_is_text(render_small: RenderSmall, text: str) -> None:
    _, content = render_small(text, language="en", model=text, command=text)
    with pikepdf.open(BytesIO(content)) as pdf:
        assert list(pdf.attachments) == ["report.json"]
        assert text in json.loads(pdf.attachments["report.json"].get_file().read_bytes())["sentences"][0]["text"]
        assert str(pdf.docinfo["/Title"]).startswith('Attention heads: <script>document.title="X"</script>')
        assert not any("/URI" in o for o in pdf.objects if isinstance(o, pikepdf.Dictionary))


def hostile(canary: Canary) -> str:
    """Return markup that makes a careless renderer read a file or ask a server."""
    web, file = canary.address, canary.file.as_uri()
    return (
        f'<link rel=attachment href="{file}"><a rel=attachment href="{file}">x</a><style>@import "{web}/css";'
        f'@font-face{{font-family:f;src:url("{web}/font")}}body{{background:url("{web}/background")}}</style>'
        f'<img src="{web}/img"><object data="{web}/object"></object><embed src="{web}/embed">'
        f'<link rel=stylesheet href="{web}/link"><iframe src="{file}"></iframe>'
        f"<svg xmlns='http://www.w3.org/2000/svg'><image href='{web}/svg'/></svg>"
    )


def test_text_with_links_fetches_nothing(render_small: RenderSmall, canary: Canary) -> None:
    text = hostile(canary)
    _, content = render_small(text[:300], language="en", model=text, command=text)
    assert canary.visits == []
    with pikepdf.open(BytesIO(content)) as pdf:
        assert list(pdf.attachments) == ["report.json"]
    assert b"a secret" not in content


def test_renderer_itself_fetches_nothing(canary: Canary) -> None:
    """Even where escaping failed, the fetcher is closed: no request, no file."""
    page = f"<html lang=en><title>x</title><body>{hostile(canary)}<p>end</body></html>"
    content = render_pdf(page, "{}", "2026-01-02T03:04:05+00:00")
    assert canary.visits == []
    with pikepdf.open(BytesIO(content)) as pdf:
        assert list(pdf.attachments) == ["report.json"]
    assert b"a secret" not in content


def test_canary_sings(canary: Canary) -> None:
    """The two tests above can fail: WeasyPrint as it comes asks the server and attaches the file."""
    import weasyprint

    content = weasyprint.HTML(string=hostile(canary)).write_pdf()
    assert "/img" in canary.visits
    with pikepdf.open(BytesIO(content)) as pdf:
        assert len(pdf.attachments) > 0
