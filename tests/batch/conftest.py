"""What the tests of runs share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from attnx.batch import shards
from attnx.report.corpus import rendering


@pytest.fixture
def tiny(make_model: Callable[..., Path]) -> Path:
    """The folder of a model with 2 layers × 2 heads that takes 24 tokens."""
    return make_model("m01_bert_24pos.json")


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of four rows, so that a few sentences make several."""
    monkeypatch.setattr(shards, "LARGEST", 4)


@pytest.fixture
def without_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A PDF without its pages, which take three quarters of a small run; tests that look at the PDF do without this."""
    monkeypatch.setattr(rendering, "render_pdf", lambda html, twin, created: b"%PDF-")
