"""What is saved after a shard: all of it or nothing, and nothing that is damaged is believed."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from attnx.batch.checkpoint import error_lines, load_state, save_state
from attnx.batch.folder import RunFolder, open_folder
from attnx.batch.records import Counts, Progress
from attnx.corpus.records import BadRow
from attnx.errors import InputError

PROGRESS = Progress((Counts(5, 1, 2, 1, 3, 9), Counts()), 2, 8, {"zh": 3, "ru": 2})


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunFolder]:
    with open_folder(tmp_path, restart=False) as opened:
        yield opened


def test_what_is_saved_is_what_is_loaded(folder: RunFolder) -> None:
    state = {"0/all/sum": np.array([[0.1, np.nan]]), "names": np.array("a\nb"), "file": np.arange(3)}
    save_state(folder, PROGRESS, state)
    progress, loaded = load_state(folder)
    assert progress == PROGRESS
    assert loaded.keys() == state.keys()
    for name, array in state.items():
        np.testing.assert_array_equal(loaded[name], array)


def test_a_state_that_was_not_written_to_its_end_leaves_the_one_before(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_state(folder, PROGRESS, {"a": np.zeros(3)})

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        save_state(folder, Progress((Counts(),), 3), {"a": np.ones(3)})
    progress, state = load_state(folder)
    assert progress == PROGRESS and not state["a"].any()


@pytest.mark.parametrize("content", [b"", b"not a zip", None])
def test_a_damaged_state_is_refused(folder: RunFolder, content: bytes | None) -> None:
    save_state(folder, PROGRESS, {"a": np.zeros(1000)})
    whole = folder.state.read_bytes()
    folder.state.write_bytes(whole[: len(whole) // 2] if content is None else content)
    with pytest.raises(InputError) as caught:
        load_state(folder)
    assert caught.value.key == "batch_broken"


def test_a_state_that_would_have_to_be_unpickled_is_refused(folder: RunFolder) -> None:
    np.savez(folder.state, progress=np.array([{"shards": 1}], dtype=object))
    with pytest.raises(InputError):
        load_state(folder)


def test_counts_of_parts_add_up() -> None:
    assert Counts(2, 1, 0, 1, 4, 9) + Counts(1, 0, 3, 0, 3, 3) == Counts(3, 1, 3, 1, 3, 9)
    assert Counts() + Counts(1, shortest=5, longest=5) == Counts(1, shortest=5, longest=5)
    assert PROGRESS.total == PROGRESS.counts[0]


def test_errors_are_one_json_object_a_line_in_the_language_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [BadRow("a.csv", 3, "row_fields", {"n": 4, "expected": 3}), BadRow("b\n.txt", 1, "empty_text")]
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    first, second = error_lines(rows).decode().splitlines()
    assert first.startswith('{"file": "a.csv", "line": 3, "reason": "') and first.endswith('"key": "row_fields"}')
    assert "字段" in first or "列" in first
    assert '"b\\n.txt"' in second
