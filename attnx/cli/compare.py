"""``attnx compare``: two texts, or one text in two models, head by head."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnx.cli.options import catalog_for, command_line, help_text, language_option, model_options, output_option
from attnx.cli.progress import stage
from attnx.cli.writing import write_all
from attnx.errors import InputError
from attnx.experiments.registry import COMPARE

if TYPE_CHECKING:
    from attnx.encoders.records import ModelRequest


@click.command(help=help_text("compare"))
@click.argument("texts", nargs=-1, required=True, metavar="TEXT [TEXT]")
@model_options
@click.option("--with-model", "other", metavar="MODEL", help=help_text("with_model"))
@language_option
@output_option
def compare(
    texts: tuple[str, ...],
    request: "ModelRequest",
    other: str | None,
    language: str | None,
    outputs: tuple[Path, ...],
) -> None:
    """Compare and write the report."""
    from attnx.experiments.records import Options
    from attnx.report.output import check_outputs, default_path
    from attnx.texts.inputs import STDIN, read_stdin
    from attnx.texts.sentence import read_sentence

    if len(texts) != (1 if other else 2):
        raise InputError("compare_what")
    sentences = [read_sentence(read_stdin() if text == STDIN else text) for text in texts]
    outputs = outputs or (default_path(f"{COMPARE}-{sentences[0].text}"),)
    check_outputs(outputs)
    names = [request.name, *([other] if other else [])]
    encoders = []
    for name in names:
        with stage("loading", name=name):
            from attnx.encoders.loading import load_encoder

            encoders.append(load_encoder(replace(request, name=name)))
    from attnx.cli.bar import experiment_bar
    from attnx.experiments.running import run_experiment

    options = Options(other=encoders[1] if other else None)
    with experiment_bar() as progress:
        document = run_experiment(COMPARE, encoders[0], sentences, options, progress, command_line())
    write_all(document, outputs, catalog_for(language, document.language))
