"""The folder of a run: what lies where, one run at a time, and nothing of anybody else overwritten."""

import fcntl
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from attnx.errors import InputError, os_reason

OUTPUTS = (
    "report.html",
    "report.pdf",
    "report.json",
    "heads.csv",
    "heads.parquet",
    "sentences.parquet",
    "errors.jsonl",
)
EACH_NAME = re.compile(r"(?:\d{6,}(?:-.*)?|index)\.html")


@dataclass(frozen=True)
class RunFolder:
    """The folder that a run writes to. What it needs to go on where it stopped is in ``.attnx``.

    ``run.json`` says what the run is of, ``state.npz`` how far it has come, ``parts`` holds what the shards gave,
    ``done.json`` is there when all outputs are.
    """

    output: Path

    @property
    def inner(self) -> Path:
        """The folder of everything that is not an output."""
        return self.output / ".attnx"

    @property
    def run(self) -> Path:
        """What the run is of; it is there once a run has begun."""
        return self.inner / "run.json"

    @property
    def state(self) -> Path:
        """The accumulators and the progress after the last shard."""
        return self.inner / "state.npz"

    @property
    def done(self) -> Path:
        """The mark that all outputs are complete."""
        return self.inner / "done.json"

    @property
    def unfinished(self) -> Path:
        """Where files are while they are being written."""
        return self.inner / "unfinished"

    @property
    def parts(self) -> Path:
        """What the shards gave: a piece of the outputs each."""
        return self.inner / "parts"

    @property
    def each(self) -> Path:
        """The reports on single sentences."""
        return self.output / "each"

    @property
    def index(self) -> Path:
        """The page that lists the reports on single sentences."""
        return self.each / "index.html"

    def stored(self, index: int) -> Path:
        """Return where the input of this index is stored if it comes through a pipe."""
        return self.inner / f"input-{index}"

    def clear(self) -> None:
        """Remove what an earlier run wrote, but not the inputs that are stored."""
        for name in OUTPUTS:
            (self.output / name).unlink(missing_ok=True)
        for path in self.each.glob("*.html"):
            if EACH_NAME.fullmatch(path.name):
                path.unlink()
        with suppress(OSError):  # something else is in it, or it is not there
            self.each.rmdir()
        for path in (self.run, self.done):
            path.unlink(missing_ok=True)
        self.tidy()

    def tidy(self) -> None:
        """Remove what is not needed any more once all outputs are there."""
        self.state.unlink(missing_ok=True)
        shutil.rmtree(self.parts, ignore_errors=True)
        self.parts.mkdir()


@contextmanager
def open_folder(output: Path, *, restart: bool) -> Iterator[RunFolder]:
    """Give the folder `output`, made if need be, to one process; a run that does not begin leaves nothing behind.

    Raises InputError when it cannot be written to, another process has it, or it holds files of the outputs' names
    that no run has written (unless `restart` allows replacing them).
    """
    folder, made = RunFolder(output), not output.exists()
    try:
        lock = _prepare(folder, restart)
    except OSError as error:
        raise InputError("output_not_writable", path=output, reason=os_reason(error)) from error
    with lock:
        try:
            yield folder
        finally:
            if not folder.run.exists():
                shutil.rmtree(folder.inner, ignore_errors=True)
                with suppress(OSError):  # it was there, and something is in it
                    if made:
                        output.rmdir()


def _prepare(folder: RunFolder, restart: bool) -> IO[str]:
    """Make and lock the folder, and remove what a run that was killed left half-written; return the lock."""
    if folder.output.exists() and not folder.output.is_dir():
        raise InputError("batch_not_a_folder", path=folder.output)
    if not folder.output.parent.is_dir():
        raise InputError("output_no_folder", path=folder.output)
    if not restart and not folder.run.exists():
        _check_foreign(folder)
    folder.inner.mkdir(parents=True, exist_ok=True)
    lock = (folder.inner / "lock").open("w")
    try:
        fcntl.flock(lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise InputError("batch_busy", path=folder.output) from error
    shutil.rmtree(folder.unfinished, ignore_errors=True)
    for path in (folder.unfinished, folder.parts):
        path.mkdir(exist_ok=True)
    return lock


def _check_foreign(folder: RunFolder) -> None:
    for name in OUTPUTS:
        if (folder.output / name).exists():
            raise InputError("batch_output_exists", path=folder.output / name)
