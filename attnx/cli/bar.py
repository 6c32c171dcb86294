"""The progress bar on stderr: how many of how many, how fast, how long still. Only a terminal sees it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from attnx.i18n import terminal_catalog


@contextmanager
def progress_bar(total: int | None, done: int = 0) -> Iterator[Callable[[int], None]]:
    """Give the function that hears how many more sentences are done; `total` may be an estimate, None if unknown."""
    if not sys.stderr.isatty():
        yield lambda count: None
        return
    columns = (BarColumn(), CountColumn(), RateColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total, completed=done)
        yield lambda count: progress.advance(task, count)


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
