"""``attnx show``: a head's heatmap and statistics in the terminal, or the layer × head map of a statistic."""

import re
from typing import TYPE_CHECKING

import click

from attnx.cli.options import (
    catalog_for,
    help_text,
    language_option,
    model_options,
    read_head,
    statistic_option,
)
from attnx.cli.presenting import check_heads
from attnx.cli.progress import notice, stage
from attnx.errors import InputError
from attnx.i18n import Catalog

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder
    from attnx.encoders.records import ModelRequest
    from attnx.terminal.exploration import Exploration

RANGE = re.compile("([1-9][0-9]{0,5})-([1-9][0-9]{0,5})")


def _range(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Return the ends of ``FIRST-LAST``, tokens counted from 1."""
    if value is None:
        return None
    match = RANGE.fullmatch(value)
    if not match:
        raise InputError("tokens_unreadable", tokens=value)
    first, last = sorted(map(int, match.groups()))
    return first, last


@click.command(help=help_text("show"))
@click.argument("text", metavar="TEXT")
@model_options
@click.option("-H", "--head", callback=read_head, metavar="LAYER.HEAD", help=help_text("show_head"))
@statistic_option
@click.option("--scope", type=click.Choice(["all", "content"]), help=help_text("scope"))
@click.option(
    "--scale", type=click.Choice(["linear", "log", "row"]), default="linear", show_default=True, help=help_text("scale")
)
@click.option("--tokens", metavar="FIRST-LAST", callback=_range, help=help_text("tokens"))
@language_option
def show(
    text: str,
    request: "ModelRequest",
    head: tuple[int, int] | None,
    statistic: str,
    scope: str | None,
    scale: str,
    tokens: tuple[int, int] | None,
    language: str | None,
) -> None:
    """Measure the text and draw the head, or the map of the statistic."""
    encoder, exploration, t = explore_text(text, request, head, language)
    from attnx.terminal.exploration import View
    from attnx.terminal.printing import print_head, print_map

    if head is None:
        print_map(exploration, encoder.info.name, statistic, scope, t)
    else:
        print_head(exploration, encoder.info.name, head, View(special=scope != "content", scale=scale), tokens, t)


def explore_text(
    text: str, request: "ModelRequest", head: tuple[int, int] | None, language: str | None
) -> "tuple[Encoder, Exploration, Catalog]":
    """Load the model and measure the text; `head` has to be one that the model has."""
    from attnx.texts.inputs import STDIN, read_stdin
    from attnx.texts.sentence import read_sentence

    sentence = read_sentence(read_stdin() if text == STDIN else text)
    t = catalog_for(language, sentence.language)
    with stage("loading", name=request.name):
        from attnx.encoders.loading import load_encoder

        encoder = load_encoder(request)
    check_heads([head] if head else [], encoder.info)
    with stage("measuring"):
        from attnx.terminal.exploration import explored

        exploration = explored(sentence, encoder)
    from attnx.report.model_notes import model_notes
    from attnx.terminal.describing import length_line

    for message in filter(None, (*model_notes(encoder.info, t), length_line(exploration, t))):
        notice(message)
    return encoder, exploration, t
