"""The progress bar on stderr: how many of how many, how fast, how long still. Only a terminal sees it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TaskID, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Shown
from rich.text import Text

from attnx.experiments.records import Progress
from attnx.i18n import terminal_catalog


@contextmanager
def progress_bar(total: int | None, done: int = 0) -> Iterator[Callable[[int], None]]:
    """Give the function that hears how many more sentences are done; `total` may be an estimate, None if unknown."""
    if not sys.stderr.isatty():
        yield lambda count: None
        return
    with _shown() as shown:
        task = shown.add_task("", total=total, completed=done)
        yield lambda count: shown.advance(task, count)


class Bar(Progress):
    """The bar of an experiment, which says itself how many forward passes it will take."""

    def __init__(self, shown: Shown, task: TaskID) -> None:
        self._shown, self._task = shown, task

    def expect(self, passes: int) -> None:
        """Show how many there will be."""
        self._shown.update(self._task, total=passes)

    def advance(self, passes: int) -> None:
        """Show that so many more are done."""
        self._shown.advance(self._task, passes)


@contextmanager
def experiment_bar() -> Iterator[Progress]:
    """Give what hears of an experiment's forward passes."""
    if not sys.stderr.isatty():
        yield Progress()
        return
    with _shown() as shown:
        yield Bar(shown, shown.add_task("", total=None))


def _shown() -> Shown:
    columns = (BarColumn(), CountColumn(), RateColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    return Shown(*columns, console=Console(stderr=True), transient=True)


class CountColumn(ProgressColumn):
    """How many are done, and of how many where that is known."""

    def render(self, task: Task) -> Text:
        """Return the numbers."""
        numbers = [task.completed]
        if task.total is not None and task.total >= task.completed:
            numbers.append(task.total)
        return Text(" / ".join(terminal_catalog().decimal(number, 0) for number in numbers))


class RateColumn(ProgressColumn):
    """How many are done in a second."""

    def render(self, task: Task) -> Text:
        """Return the rate in words, nothing before it is known."""
        return Text(terminal_catalog().text("terminal.rate", rate=task.speed) if task.speed else "")
