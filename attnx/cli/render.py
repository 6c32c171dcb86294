"""``attnx render``: a saved report in another language or format, without the model."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnx.cli.options import catalog_for, help_text, language_option, output_option
from attnx.cli.presenting import check_heads, presentation_options
from attnx.cli.writing import write_all
from attnx.errors import InputError

if TYPE_CHECKING:
    from attnx.report.presentation import Presentation


@click.command(help=help_text("render"))
@click.argument("saved", type=click.Path(path_type=Path), metavar="REPORT.json")
@presentation_options
@language_option
@output_option
def render(saved: Path, presentation: "Presentation", language: str | None, outputs: tuple[Path, ...]) -> None:
    """Read the report's JSON and write it again."""
    from attnx.report.document import Document
    from attnx.report.kinds import read_report
    from attnx.report.output import check_outputs, default_path

    report = read_report(saved)
    if (presentation.sections or presentation.heads) and not isinstance(report, Document):
        raise InputError("sections_of_sentences")
    check_heads(presentation.heads, report.model)
    outputs = outputs or (default_path(report.name),)
    check_outputs(outputs)
    write_all(report, outputs, catalog_for(language, report.language), presentation)
