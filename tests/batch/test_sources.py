"""The inputs of a run: known by their content, and readable again even where they came through a pipe."""

import io
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from attnx.batch.folder import RunFolder, open_folder
from attnx.batch.sources import expected_rows, find_sources, read_sources
from attnx.corpus.records import BadRow, CorpusOptions, CorpusRow
from attnx.errors import InputError


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunFolder]:
    with open_folder(tmp_path / "out", restart=False) as opened:
        yield opened


def pipe(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    buffer = io.BytesIO(content)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=buffer, isatty=lambda: False))


def test_a_file_is_known_by_its_content(folder: RunFolder, tmp_path: Path) -> None:
    one, same, other = tmp_path / "1.txt", tmp_path / "2.txt", tmp_path / "3.txt"
    for path, text in ((one, "a\nb\n"), (same, "a\nb\n"), (other, "a\nc\n")):
        path.write_text(text)
    sources = find_sources([str(one), str(same), str(other)], folder, kept=False)
    assert [(source.size, source.lines) for source in sources] == [(4, 2)] * 3
    assert sources[0].digest == sources[1].digest != sources[2].digest


def test_standard_input_is_stored_and_read_under_its_own_name(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe(monkeypatch, b'{"text": "one"}\nnot JSON\n{"text": "two"}\n')
    sources = find_sources(["-"], folder, kept=False)
    for _ in range(2):
        rows = list(read_sources(sources, CorpusOptions()))
        assert rows[0] == CorpusRow(0, "stdin:1", "one", "stdin", 1)
        assert isinstance(rows[1], BadRow) and rows[1].file == "stdin"
    with pytest.raises(InputError) as caught:
        list(read_sources(sources, CorpusOptions(column="none")))
    assert caught.value.values["path"] == "stdin"


def test_what_a_run_began_with_is_kept_whatever_the_pipe_brings_later(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe(monkeypatch, b"one\n")
    first = find_sources(["-"], folder, kept=False)
    pipe(monkeypatch, b"")
    assert find_sources(["-"], folder, kept=True) == first
    pipe(monkeypatch, b"two\n")
    assert find_sources(["-"], folder, kept=True)[0].digest != first[0].digest
    assert folder.stored(0).read_bytes() == b"one\n"
    pipe(monkeypatch, b"two\n")
    find_sources(["-"], folder, kept=False)
    assert folder.stored(0).read_bytes() == b"two\n"


def test_a_named_pipe_is_stored_too(folder: RunFolder, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("one\ntwo\n",))
    writer.start()
    sources = find_sources([str(path)], folder, kept=False)
    writer.join()
    assert [row.text for row in read_sources(sources, CorpusOptions()) if isinstance(row, CorpusRow)] == ["one", "two"]


@pytest.mark.parametrize(
    ("inputs", "key"),
    [(["x.txt", "x.txt"], "input_twice"), (["none.txt"], "input_unreadable"), (["."], "input_unreadable")],
)
def test_an_input_that_cannot_be_read_is_refused(
    folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inputs: list[str], key: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.txt").write_text("a\n")
    with pytest.raises(InputError) as caught:
        find_sources(inputs, folder, kept=False)
    assert caught.value.key == key


def test_the_number_of_rows_is_known_beforehand_where_a_row_is_a_line(folder: RunFolder, tmp_path: Path) -> None:
    text, words = tmp_path / "a.txt", tmp_path / "b.conllu"
    for path in (text, words):
        path.write_text("a\n" * 30)
    lines = find_sources([str(text)], folder, kept=False)
    assert expected_rows(lines, CorpusOptions()) == 30
    assert expected_rows(lines, CorpusOptions(limit=20, sample=40)) == 20
    assert expected_rows(find_sources([str(text), str(words)], folder, kept=False), CorpusOptions()) is None
    assert expected_rows(lines, CorpusOptions(format="conllu")) is None
