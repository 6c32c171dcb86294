"""``attnx render``: a saved report in another language or format, without the model."""

from pathlib import Path

import click

from attnx.cli.options import catalog_for, help_text, language_option, output_option
from attnx.cli.writing import write_all


@click.command(help=help_text("render"))
@click.argument("saved", type=click.Path(path_type=Path), metavar="REPORT.json")
@language_option
@output_option
def render(saved: Path, language: str | None, outputs: tuple[Path, ...]) -> None:
    """Read the report's JSON and write it again."""
    from attnx.report.kinds import read_report
    from attnx.report.output import check_outputs, default_path

    report = read_report(saved)
    outputs = outputs or (default_path(report.name),)
    check_outputs(outputs)
    write_all(report, outputs, catalog_for(language, report.language))
