"""``attnx models``: what can be loaded here."""

import click

from attnx.cli.options import help_text
from attnx.errors import printable
from attnx.i18n import terminal_catalog


@click.command(help=help_text("models"))
def models() -> None:
    """List the built-in model and the models in the local Hugging Face cache."""
    from attnx.encoders.available import available_models, cache_folder

    catalog = terminal_catalog()
    for model in available_models():
        if model.problem:
            line = catalog.text("models.unusable", name=model.name, problem=model.problem)
        elif model.layers and model.heads:
            line = catalog.text(
                "models.usable", name=model.name, type=model.type, layers=model.layers, heads=model.heads
            )
        else:
            line = catalog.text("models.plain", name=model.name, type=model.type)
        click.echo(printable(line))
    click.echo(catalog.text("models.folder", path=cache_folder()))
