"""What the tests of corpora share: files of cases, and reading what a test writes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from attnx.corpus.reading import read_corpus
from attnx.corpus.records import BadRow, CorpusItem, CorpusOptions, CorpusRow
from attnx.i18n import load_catalog

DATA = Path(__file__).parents[1] / "data/corpora"
Read = Callable[..., list[CorpusItem]]


@pytest.fixture
def case() -> Callable[[str], Path]:
    """The file of a case."""
    return lambda name: DATA / name


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Write `content` to the file `name`, unless it is a file already, and return all that is read from it.

    Whatever is reported has its words in every language.
    """
    monkeypatch.chdir(tmp_path)

    def run(name: str | Path, content: str | bytes | None = None, **options: object) -> list[CorpusItem]:
        if content is not None:
            Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        items = list(read_corpus([name], CorpusOptions(**options)))  # type: ignore[arg-type]
        for item in items:
            if isinstance(item, BadRow):
                for language in ("zh", "ru", "en"):
                    assert load_catalog(language).text(f"errors.{item.key}", **item.values)
        return items

    return run


@pytest.fixture
def texts() -> Callable[[list[CorpusItem]], list[str]]:
    """Return the texts of the rows."""
    return lambda items: [item.text for item in items if isinstance(item, CorpusRow)]


@pytest.fixture
def bad() -> Callable[[list[CorpusItem]], list[tuple[int, str]]]:
    """Return the lines and keys of the bad rows."""
    return lambda items: [(item.line, item.key) for item in items if isinstance(item, BadRow)]
