"""Progress on stderr, for what takes longer than two seconds."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import click

from attnx.errors import printable
from attnx.i18n import terminal_catalog

PATIENCE = 2.0  # seconds


@contextmanager
def stage(key: str, **values: str | int) -> Iterator[None]:
    """Say what is being done if it is still being done after two seconds."""
    message = terminal_catalog().text(f"terminal.{key}", **values)
    timer = threading.Timer(PATIENCE, click.echo, args=(printable(f"{message} …"),), kwargs={"err": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def notice(message: str) -> None:
    """Tell the user something that does not stop the work."""
    click.echo(printable(message), err=True)
