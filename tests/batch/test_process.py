"""A run as a process of its own: what a terminal sees, and how much memory many sentences take."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.batch.runs import some_sentences, write_lines

Start = Callable[..., "subprocess.Popen[str]"]
ROOT = Path(__file__).parents[2]
# The command, which at its end says how much memory it took at most, in KiB.
PROGRAM = """
import atexit, resource, sys
atexit.register(lambda: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
from attnx.__main__ import main
main()
"""


def test_a_terminal_sees_how_many_how_fast_and_how_long(start: Start, tiny: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.txt", some_sentences(300))
    terminal, other_end = os.openpty()
    process = start("batch", "a.txt", "-m", tiny, "-o", "out", stderr=other_end, env={"COLUMNS": "120"})
    os.close(other_end)
    seen = bytearray()

    def watch() -> None:
        while True:
            try:
                seen.extend(os.read(terminal, 4096))
            except OSError:  # the process has closed its end
                return

    watcher = threading.Thread(target=watch)
    watcher.start()
    process.communicate(timeout=120)
    watcher.join()
    os.close(terminal)
    assert process.returncode == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
    assert re.search(r"\d+ / 300", text) and re.search(r"[\d,.]+ sentences/s", text)
    assert re.search(r"\d:\d\d:\d\d", text)


@pytest.mark.slow
def test_ten_times_the_sentences_take_hardly_more_memory(make_model: Callable[..., Path], tmp_path: Path) -> None:
    """MEM-2: 200 and 2,000 lines of about 60 tokens."""
    model = make_model("m01_bert_24pos.json", max_position_embeddings=512)
    peaks = []
    for lines in (200, 2000):
        write_lines(tmp_path / f"{lines}.txt", [f"{line} " * 8 for line in some_sentences(lines)])
        command = [sys.executable, "-c", PROGRAM, "batch", f"{lines}.txt", "-m", str(model), "-o", f"out-{lines}"]
        env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, encoding="utf-8", check=True)
        peaks.append(int(run.stdout.split()[-1]))
    assert peaks[1] <= peaks[0] + 100 * 1024
    print(peaks)
