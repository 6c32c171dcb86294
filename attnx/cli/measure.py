"""``attnx measure``: the numbers only."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnx.cli.options import catalog_for, command_line, help_text, language_option, long_option, model_options
from attnx.cli.progress import notice, stage
from attnx.errors import AttnxError, InputError, os_reason
from attnx.i18n import terminal_catalog

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder
    from attnx.encoders.records import ModelRequest
    from attnx.report.document import SentenceReport
    from attnx.texts.inputs import InputText

FORMATS = ("table", "json", "csv")


@click.command(help=help_text("measure"))
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@model_options
@long_option
@language_option
@click.option("-f", "--format", "kind", type=click.Choice(FORMATS), help=help_text("format"))
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help=help_text("measure_output"))
def measure(
    inputs: tuple[str, ...],
    request: "ModelRequest",
    long: str,
    language: str | None,
    kind: str | None,
    output: Path | None,
) -> None:
    """Measure every input and print or write the numbers."""
    from attnx.report.output import check_output, write_atomically
    from attnx.texts.inputs import read_inputs

    if output:
        check_output(output, suffixes=())
    texts = list(read_inputs(inputs))
    if not texts:
        raise InputError("empty_text")
    with stage("loading", name=request.name):
        from attnx.encoders.loading import load_encoder

        encoder = load_encoder(request)
    reports, failed = _measure_all(texts, encoder, long)
    if reports:
        suffix = output.suffix.lower().removeprefix(".") if output else ""
        content = _written(reports, encoder, kind or suffix, language)
        if output:
            write_atomically(output, content.encode())
        else:
            _print(content)
    if failed:
        notice(terminal_catalog().text("terminal.some_failed", n=failed))
        click.get_current_context().exit(1 if reports else 2)


def _measure_all(texts: "list[InputText]", encoder: "Encoder", long: str) -> "tuple[list[SentenceReport], int]":
    """Return the reports of the texts that could be measured, and how many could not be, each of which is named."""
    from attnx.analysis import measure
    from attnx.report.wording import length_notices
    from attnx.texts.sentence import read_sentence

    reports, failed = [], 0
    with stage("measuring"):
        for item in texts:
            try:
                reports.append(measure(read_sentence(item.text), encoder, long=long))
            except AttnxError as error:
                failed += 1
                _tell(item, error.format_message())
                continue
            for message in length_notices(reports[-1], terminal_catalog()):
                _tell(item, message)
    return reports, failed


def _tell(item: "InputText", message: str) -> None:
    """Say something about one text, and where it stands in a file."""
    where = AttnxError("line_in_file", path=item.path, line=item.line, reason=message)
    notice(where.format_message() if item.path else message)


def _print(content: str) -> None:
    try:
        click.echo(content, nl=False)
    except BrokenPipeError:  # the reader has seen enough; Click ends quietly
        raise
    except OSError as error:
        raise AttnxError("output_not_writable", path="stdout", reason=os_reason(error)) from error


def _written(reports: "list[SentenceReport]", encoder: "Encoder", kind: str, language: str | None) -> str:
    from attnx.analysis import provenance
    from attnx.report.document import Document, to_json
    from attnx.report.tables import table_text, to_csv

    document = Document(encoder.info, provenance(command_line()), tuple(reports))
    if kind == "json":
        return to_json(document, with_maps=False)
    if kind == "csv":
        return to_csv(document)
    return table_text(document, catalog_for(language, reports[0].language))
