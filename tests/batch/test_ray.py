"""The same job on a Ray cluster: real workers on this machine, one of them killed."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.batch.runs import said, some_sentences, write_lines

Cli = Callable[..., Any]
WORKER = b"ray::MapWorker"


def workers() -> list[int]:
    """The processes that hold the model."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes().startswith(WORKER):
                found.append(int(folder.name))
        except OSError:  # it has ended
            continue
    return found


def kill_one_worker(output: Path, killed: list[int]) -> None:
    """Kill a worker once the first shard is saved."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if any((output / ".attnx/parts").glob("*.parquet")) and (found := workers()):
            os.kill(found[0], signal.SIGKILL)
            killed.append(found[0])
            return
        time.sleep(0.01)


def assert_near(first: pa.Table, second: pa.Table) -> None:
    assert first.schema == second.schema
    for name in first.column_names:
        one, other = first[name], second[name]
        if pa.types.is_floating(one.type):
            np.testing.assert_allclose(one.to_numpy(), other.to_numpy(), rtol=0, atol=1e-6, err_msg=name)
        else:
            assert one.equals(other), name


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.usefixtures("small_shards")
def test_two_workers_of_which_one_is_killed_give_what_one_process_gives(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.txt", [*some_sentences(300), "\u200b", *some_sentences(299)])
    tiny.rename(tmp_path / "model")  # a worker is in another folder
    command = ("batch", "a.txt", "-m", "./model", "-o")
    assert cli(*command, "local").exit_code == 1
    killed: list[int] = []
    killer = threading.Thread(target=kill_one_worker, args=(tmp_path / "ray", killed))
    killer.start()
    result = cli(*command, "ray", "--engine", "ray", "--workers", 2)
    killer.join()
    assert result.exit_code == 1, result.stderr
    assert len(killed) == 1 and killed[0] not in workers()
    for name in ("heads.parquet", "sentences.parquet"):
        assert_near(pq.read_table(tmp_path / "local" / name), pq.read_table(tmp_path / "ray" / name))
    assert (tmp_path / "local/errors.jsonl").read_bytes() == (tmp_path / "ray/errors.jsonl").read_bytes()


@pytest.mark.ray
@pytest.mark.slow
def test_an_input_that_is_refused_in_the_cluster_is_told_like_here(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "мама"}\n{"text": 1}\n', encoding="utf-8")
    command = ("batch", "a.jsonl", "-m", tiny, "--strict", "-o")
    here, there = cli(*command, "local"), cli(*command, "ray", "--engine", "ray", "--workers", 1)
    assert here.exit_code == there.exit_code == 2
    assert said(there) == said(here)
    assert "a.jsonl, line 2" in said(there)


def test_an_address_where_nobody_listens_is_refused_at_once(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.txt", some_sentences(1))
    result = cli("batch", "a.txt", "-m", tiny, "-o", "out", "--engine", "ray", "--address", "127.0.0.1:9")
    assert result.exit_code == 2
    assert said(result).startswith("Error: No Ray cluster answers at 127.0.0.1:9: ")


def test_without_ray_the_command_that_installs_it_is_named(
    cli: Cli, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_lines(tmp_path / "a.txt", some_sentences(1))
    monkeypatch.setitem(sys.modules, "ray", None)  # importing it raises ImportError
    result = cli("batch", "a.txt", "-m", tiny, "-o", "out", "--engine", "ray")
    assert (result.exit_code, said(result)) == (
        2,
        "Error: --engine ray needs Ray. Install it with: pip install 'attnx[ray]'",
    )


def test_an_address_without_ray_is_refused(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.txt", some_sentences(1))
    result = cli("batch", "a.txt", "-m", tiny, "-o", "out", "--address", "auto")
    assert (result.exit_code, said(result)) == (2, "Error: --address and --workers belong to --engine ray.")
