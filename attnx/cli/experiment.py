"""``attnx experiment``: a claim about heads, checked on a model and on texts."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from attnx.cli.options import (
    catalog_for,
    command_line,
    head_option,
    help_text,
    language_option,
    model_options,
    output_option,
)
from attnx.cli.progress import stage
from attnx.cli.writing import write_all
from attnx.errors import InputError
from attnx.experiments.registry import NAMES

if TYPE_CHECKING:
    from attnx.encoders.records import ModelRequest

DEFAULT_LIMIT = 100
# The experiment that has a use for an option.
USED_BY = {"--variant": "order", "--head": "qkv"}


@click.command(help=help_text("experiment", names=", ".join(NAMES)))
@click.argument("chosen", type=click.Choice(NAMES), metavar="NAME")
@click.argument("inputs", nargs=-1, required=True, metavar="TEXT|FILE...")
@model_options
@click.option("--variant", "variants", multiple=True, metavar="TEXT", help=help_text("variant"))
@head_option
@click.option(
    "--limit", type=click.IntRange(min=1), default=DEFAULT_LIMIT, show_default=True, help=help_text("experiment_limit")
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help=help_text("seed"))
@language_option
@output_option
def experiment(
    chosen: str,
    inputs: tuple[str, ...],
    request: "ModelRequest",
    variants: tuple[str, ...],
    head: tuple[int, int] | None,
    limit: int,
    seed: int,
    language: str | None,
    outputs: tuple[Path, ...],
) -> None:
    """Run the experiment and write its report."""
    from attnx.experiments.records import Options
    from attnx.experiments.texts import read_texts
    from attnx.report.output import check_outputs, default_path

    _check_options(chosen, {"--variant": variants, "--head": head})
    sentences = read_texts(inputs, limit)
    if not sentences:
        raise InputError("experiment_no_texts", path=", ".join(inputs))
    outputs = outputs or (default_path(f"{chosen}-{sentences[0].text}"),)
    check_outputs(outputs)
    with stage("loading", name=request.name):
        from attnx.encoders.loading import load_encoder

        encoder = load_encoder(request)
    from attnx.cli.bar import experiment_bar
    from attnx.experiments.running import run_experiment

    options = Options(seed, variants, head)
    with experiment_bar() as progress:
        document = run_experiment(chosen, encoder, sentences, options, progress, command_line())
    write_all(document, outputs, catalog_for(language, document.language))


def _check_options(chosen: str, given: Mapping[str, object]) -> None:
    """Refuse an option that the chosen experiment has no use for."""
    for option, value in given.items():
        if value and USED_BY[option] != chosen:
            raise InputError("experiment_option", option=option, name=USED_BY[option])
