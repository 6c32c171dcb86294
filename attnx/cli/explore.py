"""``attnx explore``: the heads of a sentence, full screen."""

import sys
from typing import TYPE_CHECKING

import click

from attnx.cli.options import help_text, language_option, model_options, read_head, statistic_option
from attnx.cli.show import explore_text

if TYPE_CHECKING:
    from attnx.encoders.records import ModelRequest


@click.command(help=help_text("explore"))
@click.argument("text", metavar="TEXT")
@model_options
@click.option("-H", "--head", callback=read_head, metavar="LAYER.HEAD", help=help_text("show_head"))
@statistic_option
@language_option
def explore(
    text: str,
    request: "ModelRequest",
    head: tuple[int, int] | None,
    statistic: str,
    language: str | None,
) -> None:
    """Measure the text and open the explorer, or print the same where there is no terminal."""
    encoder, exploration, t = explore_text(text, request, head, language)
    from rich.console import Console

    from attnx.terminal.drawing import has_colors

    if sys.stdin.isatty() and sys.stdout.isatty():
        from attnx.terminal.app import Explorer
        from attnx.terminal.state import State

        start = State(head or (0, 0), statistic)
        Explorer(exploration, encoder.info.name, start, t, colored=has_colors(Console())).run()
        return
    from attnx.terminal.exploration import View
    from attnx.terminal.printing import print_head, print_map

    if head is None:
        print_map(exploration, encoder.info.name, statistic, None, t)
    else:
        print_head(exploration, encoder.info.name, head, View(), None, t)
