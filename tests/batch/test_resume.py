"""A run that is stopped goes on where it was, to the same bytes; one of other things is refused and named."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from attnx.i18n import load_catalog
from tests.batch.runs import outputs, progress_apart, said, some_sentences, write_lines

Cli = Callable[..., Any]
ROOT = Path(__file__).parents[2]
EN = load_catalog("en")
FINISHED = EN.text("terminal.batch_finished", path="out")
# The command, with shards of four rows.
PROGRAM = "from attnx.batch import shards; shards.LARGEST = 4; from attnx.__main__ import main; main()"


class KilledError(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def kill_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let the process end when it renames its n-th file, from 1; 0 for never."""
    replace = Path.replace
    left = [0]

    def replace_or_end(path: Path, target: Path) -> Path:
        left[0] -= 1
        if left[0] == 0:
            raise KilledError
        return replace(path, target)

    def at(count: int) -> None:
        left[0] = count

    monkeypatch.setattr(Path, "replace", replace_or_end)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    return at


@pytest.fixture
def finished(cli: Cli, tiny: Path, tmp_path: Path) -> Callable[..., Any]:
    """The command of a run in `out` that is finished, to which more can be added."""
    for name in ("a.txt", "b.txt"):
        write_lines(tmp_path / name, some_sentences(5))

    def run(*more: object) -> Any:
        return cli("batch", "a.txt", "b.txt", "-m", tiny, "-o", "out", *more)

    assert run().exit_code == 0
    return run


# --- stopped at any moment ---


@pytest.mark.usefixtures("small_shards", "without_pages")
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_a_run_that_ends_before_any_of_its_files_is_there_goes_on_to_the_same_bytes(
    cli: Cli, tiny: Path, tmp_path: Path, kill_at: Callable[[int], None], step: int
) -> None:
    write_lines(tmp_path / "a.txt", [*some_sentences(3), "\u200b", "мама"])
    command = ("batch", "a.txt", "-m", tiny, "-o", "out", "--each", "-l", "en")
    kill_at(0)
    assert cli(*command).exit_code == 1
    wanted = outputs(tmp_path / "out")
    # What the run is of, 3 files for each of 2 shards, the last state, 7 outputs, 4 reports, their list, the mark.
    last = 1 + 3 * 2 + 1 + 7 + 4 + 1 + 1
    for count in range(1, last + 1, step):
        shutil.rmtree(tmp_path / "out")
        kill_at(count)
        with pytest.raises(KilledError):
            cli(*command)
        result = cli(*command)
        assert result.exit_code == 1, (count, result.stderr)
        assert outputs(tmp_path / "out") == wanted, count
    shutil.rmtree(tmp_path / "out")
    kill_at(last + 1)
    assert cli(*command).exit_code == 1


@pytest.mark.slow
def test_killed_and_interrupted_processes_come_to_the_bytes_of_one_that_was_not(tiny: Path, tmp_path: Path) -> None:
    text = "".join(f"{line}\n" for line in [*some_sentences(150), "\u200b", *some_sentences(100)])
    chance = random.Random(4)

    def start(name: str) -> "subprocess.Popen[str]":
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        (folder / "a.txt").write_text(text, encoding="utf-8")
        command = [sys.executable, "-c", PROGRAM, "batch", "a.txt", "-m", str(tiny), "-o", "out"]
        kept = {key: value for key, value in os.environ.items() if key not in ("LC_ALL", "LC_MESSAGES", "LANG")}
        own = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "SOURCE_DATE_EPOCH": "1000000000"}
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=folder, env=kept | own, encoding="utf-8", **streams)

    whole = start("whole")
    whole.communicate(timeout=120)
    assert whole.returncode == 1
    parts = tmp_path / "stopped/out/.attnx/parts"
    for shards, stop in ((5, signal.SIGKILL), (25, signal.SIGINT), (45, signal.SIGKILL)):
        process = start("stopped")
        while process.poll() is None and len(list(parts.glob("*.parquet"))) < shards:
            time.sleep(0.01)
        time.sleep(chance.random() * 0.1)
        process.send_signal(stop)
        out, err = process.communicate(timeout=60)
        assert process.returncode == (130 if stop == signal.SIGINT else -signal.SIGKILL) and out == ""
        if stop == signal.SIGINT:
            assert progress_apart(err)[-1] == EN.text("terminal.batch_interrupted")
        assert not (tmp_path / "stopped/out/report.html").exists()
    last = start("stopped")
    _, err = last.communicate(timeout=120)
    assert last.returncode == 1
    assert "Going on after 1" in err and EN.text("terminal.batch_measured", n=250) in err
    assert outputs(tmp_path / "stopped/out") == outputs(tmp_path / "whole/out")
    assert not list((tmp_path / "stopped/out/.attnx/unfinished").iterdir())


@pytest.mark.slow
@pytest.mark.usefixtures("without_pages")
def test_the_built_in_model_on_the_samples_stopped_and_not(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill_at: Callable[[int], None]
) -> None:
    monkeypatch.setattr("attnx.batch.shards.LARGEST", 7)
    for language in ("zh", "ru"):
        shutil.copy(ROOT / "samples" / f"{language}.txt", tmp_path)
    command = ("batch", "zh.txt", "ru.txt", "--limit", "18", "-o", "out")
    kill_at(9)
    with pytest.raises(KilledError):
        cli(*command)
    assert cli(*command).exit_code == 0
    resumed = outputs(tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    kill_at(0)
    assert cli(*command).exit_code == 0
    assert outputs(tmp_path / "out") == resumed


@pytest.mark.usefixtures("small_shards", "without_pages")
def test_a_run_on_standard_input_goes_on_without_it(
    cli: Cli, tiny: Path, tmp_path: Path, kill_at: Callable[[int], None]
) -> None:
    text = "".join(f"{line}\n" for line in some_sentences(10)).encode()
    command = ("batch", "-", "-m", tiny, "-o", "out")
    kill_at(0)
    assert cli(*command, input=text).exit_code == 0
    wanted = outputs(tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    kill_at(8)
    with pytest.raises(KilledError):
        cli(*command, input=text)
    result = cli(*command, input=b"something else\n")
    assert result.exit_code == 2 and "stdin" in said(result)
    assert cli(*command, input=b"").exit_code == 0
    assert outputs(tmp_path / "out") == wanted


# --- the same again, and something else ---


@pytest.mark.usefixtures("without_pages")
def test_a_finished_run_is_recognized_without_loading_the_model(
    finished: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = outputs(tmp_path / "out")
    monkeypatch.setattr("attnx.encoders.loading.load_encoder", None)
    result = finished()
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", FINISHED + "\n")
    assert outputs(tmp_path / "out") == before
    kept = sorted(path.name for path in (tmp_path / "out/.attnx").rglob("*"))
    assert kept == ["done.json", "lock", "parts", "run.json", "unfinished"]


@pytest.mark.usefixtures("without_pages")
def test_what_has_changed_is_named_and_nothing_touched(
    finished: Callable[..., Any], tiny: Path, tmp_path: Path
) -> None:
    before = outputs(tmp_path / "out")

    def check(key: str, name: str, *more: str) -> None:
        result = finished(*more)
        assert result.exit_code == 2
        assert said(result) == f"Error: {EN.text(f'errors.batch_changed_{key}', name=name, path=Path('out'))}"
        assert outputs(tmp_path / "out") == before

    for option, value in (("--limit", "3"), ("--seed", "3"), ("--long", "error"), ("--input-format", "txt")):
        check("option", option, option, value)
    check("option", "--each", "--each")
    check("language", "--lang", "-l", "zh")
    write_lines(tmp_path / "c.txt", ["the cat"])
    check("input", "c.txt", "c.txt")
    weights = tiny / "model.safetensors"
    os.utime(weights, (1, 1))  # a small file is known by its content, not by its time
    assert finished().stderr == FINISHED + "\n"
    changed = bytearray(weights.read_bytes())
    changed[-1] ^= 1
    weights.write_bytes(changed)
    check("model", "model.safetensors")
    write_lines(tmp_path / "b.txt", ["the cat"])
    check("input", "b.txt")


@pytest.mark.usefixtures("without_pages")
def test_another_order_version_or_model_is_named(
    cli: Cli, finished: Callable[..., Any], tiny: Path, minilm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swapped = cli("batch", "b.txt", "a.txt", "-m", tiny, "-o", "out")
    assert said(swapped) == f"Error: {EN.text('errors.batch_changed_order', path=Path('out'))}"
    other = said(cli("batch", "a.txt", "b.txt", "-m", minilm, "-o", "out"))
    assert "another model" in other
    monkeypatch.setattr("attnx.batch.fingerprint.__version__", "99")
    line = said(finished())
    assert line == f"Error: {EN.text('errors.batch_changed_version', name='attnx', path=Path('out'))}"


@pytest.mark.usefixtures("without_pages")
def test_starting_over_measures_again(finished: Callable[..., Any], tmp_path: Path) -> None:
    write_lines(tmp_path / "b.txt", ["the cat sat"])
    (tmp_path / "out/notes.txt").write_text("mine")
    assert finished("--restart").exit_code == 0
    rows = pq.read_table(tmp_path / "out/sentences.parquet", columns=["file"])["file"].to_pylist()
    assert rows == ["a.txt"] * 5 * 4 + ["b.txt"] * 4
    assert (tmp_path / "out/notes.txt").read_text() == "mine"
    assert finished().stderr == FINISHED + "\n"


@pytest.mark.usefixtures("without_pages")
def test_a_finished_run_that_lacks_an_output_says_so(finished: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "out/heads.csv").unlink()
    result = finished()
    assert result.exit_code == 2 and "heads.csv" in said(result) and "--restart" in said(result)


@pytest.mark.usefixtures("without_pages", "small_shards")
@pytest.mark.parametrize("damage", ["run.json", "state.npz", "parts/000000.parquet", "parts/000001.jsonl"])
def test_saved_files_that_are_damaged_or_gone_are_refused_in_one_line(
    cli: Cli, tiny: Path, tmp_path: Path, kill_at: Callable[[int], None], damage: str
) -> None:
    write_lines(tmp_path / "a.txt", some_sentences(10))
    command = ("batch", "a.txt", "-m", tiny, "-o", "out")
    kill_at(9)
    with pytest.raises(KilledError):
        cli(*command)
    path = tmp_path / "out/.attnx" / damage
    path.unlink() if path.suffix == ".jsonl" else path.write_bytes(b"damaged")
    result = cli(*command)
    assert result.exit_code == 2
    assert EN.text("errors.batch_broken", path=Path("out")) in result.stderr
    assert cli(*command, "--restart").exit_code == 0
