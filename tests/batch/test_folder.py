"""The folder of a run: one process at a time, nothing of others replaced, nothing left of a run that never began."""

from pathlib import Path

import pytest

from attnx.batch.folder import OUTPUTS, open_folder
from attnx.errors import InputError


def refused(output: Path, *, restart: bool = False) -> InputError:
    with pytest.raises(InputError) as caught, open_folder(output, restart=restart):
        pass
    return caught.value


def begin(output: Path) -> None:
    """Leave in the folder what a run that was stopped leaves."""
    with open_folder(output, restart=False) as folder:
        folder.run.write_text("{}")


def test_a_second_process_is_refused_while_the_first_is_at_work(tmp_path: Path) -> None:
    with open_folder(tmp_path / "out", restart=False) as folder:
        folder.run.write_text("{}")
        assert refused(tmp_path / "out").key == "batch_busy"
        assert refused(tmp_path / "out", restart=True).key == "batch_busy"
    with open_folder(tmp_path / "out", restart=False) as folder:
        assert folder.run.read_text() == "{}"


def test_a_run_that_never_began_leaves_nothing(tmp_path: Path) -> None:
    with open_folder(tmp_path / "new", restart=False) as folder:
        folder.stored(0).write_text("piped")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "mine.txt").write_text("mine")
    with pytest.raises(KeyboardInterrupt), open_folder(tmp_path / "old", restart=False):
        raise KeyboardInterrupt
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["mine.txt", "old"]


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_file_that_no_run_wrote_is_not_replaced_unless_asked(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    error = refused(tmp_path)
    assert (error.key, error.values["path"]) == ("batch_output_exists", tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    with open_folder(tmp_path, restart=True) as folder:
        assert (tmp_path / name).read_text() == "mine"
        folder.clear()
        assert not (tmp_path / name).exists()


def test_starting_over_removes_what_a_run_wrote_and_nothing_else(tmp_path: Path) -> None:
    begin(tmp_path)
    with open_folder(tmp_path, restart=True) as folder:
        folder.each.mkdir()
        ours = [folder.each / "000001-дом.html", folder.index, tmp_path / "report.pdf", folder.parts / "000000.parquet"]
        others = [folder.each / "notes.html", tmp_path / "notes.txt", folder.stored(0)]
        for path in (*ours, *others):
            path.write_text("x")
        folder.clear()
        assert [path.exists() for path in (*ours, folder.run)] == [False] * 5
        assert [path.exists() for path in others] == [True] * 3


def test_what_a_killed_run_was_writing_is_removed(tmp_path: Path) -> None:
    begin(tmp_path)
    half = tmp_path / ".attnx" / "unfinished" / ".attnx-half.parquet"
    half.write_text("half")
    with open_folder(tmp_path, restart=False):
        assert not half.exists()


def test_what_cannot_be_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert refused(tmp_path / "file").key == "batch_not_a_folder"
    assert refused(tmp_path / "none" / "out").key == "output_no_folder"
    assert refused(Path("/proc/attnx")).key == "output_not_writable"
