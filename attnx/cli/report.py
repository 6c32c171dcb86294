"""``attnx report``: texts become a localized report."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnx.cli.options import (
    catalog_for,
    command_line,
    help_text,
    language_option,
    long_option,
    model_options,
    output_option,
)
from attnx.cli.presenting import check_heads, presentation_options
from attnx.cli.progress import notice, stage
from attnx.cli.writing import write_all

if TYPE_CHECKING:
    from attnx.encoders.records import ModelRequest
    from attnx.report.presentation import Presentation


@click.command(help=help_text("report"))
@click.argument("texts", nargs=-1, required=True, metavar="TEXT...")
@model_options
@long_option
@click.option("--baseline", type=click.Choice(["random"]), help=help_text("baseline"))
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help=help_text("seed"))
@presentation_options
@language_option
@output_option
def report(
    texts: tuple[str, ...],
    request: "ModelRequest",
    long: str,
    baseline: str | None,
    seed: int,
    presentation: "Presentation",
    language: str | None,
    outputs: tuple[Path, ...],
) -> None:
    """Measure the texts and write the report."""
    from attnx.report.output import check_outputs, default_path
    from attnx.texts.inputs import STDIN, read_stdin
    from attnx.texts.sentence import read_sentence

    sentences = [read_sentence(read_stdin() if text == STDIN else text) for text in texts]
    catalog = catalog_for(language, sentences[0].language)
    outputs = outputs or (default_path(sentences[0].text),)
    check_outputs(outputs)

    with stage("loading", name=request.name):
        from attnx.encoders.loading import load_encoder

        encoder = load_encoder(request)
    check_heads(presentation.heads, encoder.info)
    with stage("measuring"):
        from attnx.analysis import analyze

        twin = seed if baseline else None
        document = analyze(sentences, encoder, long=long, baseline=twin, command=command_line())
    from attnx.report.build import notices

    for message in notices(document, catalog):
        notice(message)
    write_all(document, outputs, catalog, presentation)
