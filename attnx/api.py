"""The public Python interface. Heavy imports happen inside, so that ``import attnx`` is quick."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnx.i18n import load_catalog, match_language

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder
    from attnx.report.document import Document


def load_encoder(name: str = "builtin", **options: Any) -> "Encoder":  # noqa: ANN401 - a bool or a str
    """Load an encoder: ``builtin``, a local folder, or a Hugging Face id, with ``@revision`` if wanted.

    `options` are the other fields of `attnx.encoders.records.ModelRequest`. Raises attnx.errors.InputError when
    there is no such model or it cannot be used.
    """
    from attnx.encoders.loading import load_encoder as load
    from attnx.encoders.records import ModelRequest

    return load(ModelRequest(name, **options))


def analyze(
    *texts: str, encoder: "Encoder | str" = "builtin", long: str = "cut", baseline: int | None = None
) -> "Document":
    """Measure every head on each text and return the document that a report is made from.

    `long` is what to do with a text longer than the model takes: ``cut``, ``windows`` or ``error``. `baseline` is the
    seed of a twin with random weights that is measured beside the model, None for no twin.

    ``document.sentences[i].scopes["all" | "content"].values[statistic]`` is float64 ``[layers, heads]``, NaN where
    undefined; ``.maps`` is uint8 ``[layers, heads, query, key]``; ``.findings`` are what the rules found. Raises
    attnx.errors.InputError for a text with nothing to read, or when there is no text.
    """
    from attnx.analysis import analyze as run
    from attnx.errors import InputError
    from attnx.texts.sentence import read_sentence

    if not texts:
        raise InputError("empty_text")
    sentences = [read_sentence(text) for text in texts]
    return run(sentences, load_encoder(encoder) if isinstance(encoder, str) else encoder, long=long, baseline=baseline)


def save(document: "Document", path: str | Path, language: str | None = None) -> None:
    """Write the report to an ``.html``, ``.pdf`` or ``.json`` file; by default in the first text's language."""
    from attnx.errors import InputError
    from attnx.i18n import languages
    from attnx.report.output import check_output, render, write_atomically

    code = match_language(language) if language else document.sentences[0].language
    if code is None:
        raise InputError("unknown_language", language=language, known=", ".join(languages()))
    path = Path(path)
    check_output(path)
    write_atomically(path, render(document, path.suffix.lower(), load_catalog(code)))


def read(path: str | Path) -> "Document":
    """Return the document that was saved as JSON."""
    from attnx.report.reading import read_document

    return read_document(Path(path))
