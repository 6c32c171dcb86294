from collections.abc import Callable, Mapping

import numpy as np
import pytest
import torch

from attnx.analysis import analyze
from attnx.encoders.encoder import Encoder
from attnx.encoders.records import AttentionMap, ModelInfo
from attnx.findings import Evidence, find
from attnx.i18n import load_catalog
from attnx.report.build import report_view
from attnx.report.document import Document, Provenance, SentenceReport, quantize, to_json
from attnx.report.html import render_html
from attnx.report.pdf import render_pdf
from attnx.report.views import ReportView
from attnx.statistics import even_scores, score_heads
from attnx.texts.sentence import read_sentence

# 16 tokens each, the special ones included.
SENTENCES = {
    "zh": "王者荣耀怎么玩？新手应该先选哪个英雄呢？",
    "ru": "Мама мыла раму, а папа читал газету днём.",
    "en": "The quick brown fox jumps over the lazy dog again.",
}
MakeDocument = Callable[..., Document]


@pytest.fixture(scope="session")
def documents(encoder: Encoder) -> Mapping[str, Document]:
    """One real analysis a language: 144 heads, 16 tokens."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1700000000")
        return {
            language: analyze([read_sentence(text)], encoder, command=f"attnx report '{text}'")
            for language, text in SENTENCES.items()
        }


@pytest.fixture(scope="session")
def views(documents: Mapping[str, Document]) -> Mapping[str, ReportView]:
    return {language: report_view(document, load_catalog(language)) for language, document in documents.items()}


@pytest.fixture(scope="session")
def pages(views: Mapping[str, ReportView]) -> Mapping[str, str]:
    return {language: render_html(view, load_catalog(language)) for language, view in views.items()}


@pytest.fixture(scope="session")
def pdfs(documents: Mapping[str, Document], views: Mapping[str, ReportView]) -> Mapping[str, bytes]:
    return {
        language: render_pdf(
            render_html(views[language], load_catalog(language), paged=True),
            to_json(document),
            document.provenance.created,
        )
        for language, document in documents.items()
    }


@pytest.fixture(scope="session")
def make_document(encoder: Encoder) -> MakeDocument:
    """Make a document of real tokens, scores and findings whose few heads have random weights: quick to render."""

    def sentence_report(text: str, layers: int, heads: int) -> SentenceReport:
        sentence = read_sentence(text)
        encoding = encoder.encode(sentence)
        size = len(encoding.tokens)
        weights = np.random.default_rng(7).dirichlet(np.full(size, 0.3), (layers, heads, size)).astype(np.float32)
        attention = AttentionMap(encoding, torch.from_numpy(weights))
        scopes = score_heads(attention)
        findings = find(Evidence(encoding, scopes, even_scores(encoding, (), layers)))
        return SentenceReport(
            sentence.text, sentence.language, None, encoding.tokens, scopes, quantize(weights), findings
        )

    def make(
        *texts: str, layers: int = 2, heads: int = 2, model: str = "random", command: str = "attnx report"
    ) -> Document:
        return Document(
            ModelInfo(model, "local", None, "bert", layers, heads, "float32"),
            Provenance("1", "3", "2", "5", command, "2026-01-02T03:04:05+00:00"),
            tuple(sentence_report(text, layers, heads) for text in texts),
        )

    return make


@pytest.fixture(scope="session")
def small(make_document: MakeDocument) -> Document:
    return make_document("Мама мыла раму")


@pytest.fixture
def render_small(make_document: MakeDocument) -> Callable[..., tuple[str, bytes]]:
    """Return HTML and PDF of a small document, in the language of its first text unless told."""

    def render(*texts: str, language: str | None = None, **about: str) -> tuple[str, bytes]:
        document = make_document(*texts, **about)
        t = load_catalog(language or document.sentences[0].language)
        view = report_view(document, t)
        paged = render_html(view, t, paged=True)
        return render_html(view, t), render_pdf(paged, to_json(document), document.provenance.created)

    return render
