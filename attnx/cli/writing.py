"""What the commands that write reports end with."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnx.cli.progress import stage
from attnx.errors import printable
from attnx.i18n import Catalog
from attnx.report.presentation import PLAIN, Presentation

if TYPE_CHECKING:
    from attnx.report.kinds import AnyDocument


def write_all(
    document: "AnyDocument", outputs: Sequence[Path], catalog: Catalog, presentation: Presentation = PLAIN
) -> None:
    """Write the report to every output; print their paths and the strongest findings in the report's language."""
    from attnx.report.kinds import render_report, strongest
    from attnx.report.output import write_atomically

    for path in outputs:
        with stage("writing", path=str(path)):
            write_atomically(path, render_report(document, path.suffix.lower(), catalog, presentation))
        click.echo(printable(catalog.text("terminal.written", path=path)))
    for line in strongest(document, catalog):
        click.echo(f"• {line}")
