"""The options that say how a report looks."""

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from attnx.cli.options import help_text, parse_head
from attnx.errors import InputError

if TYPE_CHECKING:
    from attnx.encoders.records import ModelInfo

F = TypeVar("F", bound=Callable[..., Any])
SIZES = ("a4", "letter")


def presentation_options(command: F) -> F:
    """Add the options of a report's looks; the command gets them all as one Presentation, `presentation`."""

    @functools.wraps(command)
    def with_presentation(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - whatever the command takes
        from attnx.report.presentation import PAPERS, Presentation

        own = {name: options.pop(name) for name in ("title", "author", "note", "sections", "heads", "templates")}
        paper = PAPERS[options.pop("paper"), options.pop("landscape")]
        return command(*arguments, presentation=Presentation(**own, paper=paper), **options)

    for option in (
        click.option(
            "--template",
            "templates",
            type=click.Path(path_type=Path, exists=True, file_okay=False),
            metavar="DIR",
            help=help_text("report_template"),
        ),
        click.option("--landscape", is_flag=True, help=help_text("report_landscape")),
        click.option(
            "--paper", type=click.Choice(SIZES), default=SIZES[0], show_default=True, help=help_text("report_paper")
        ),
        click.option("--heads", callback=_heads, metavar="LAYER.HEAD,...", help=help_text("report_heads")),
        click.option("--sections", callback=_sections, metavar="NAME,...", help=help_text("report_sections")),
        click.option("--note", default="", metavar="TEXT", help=help_text("report_note")),
        click.option("--author", default="", metavar="TEXT", help=help_text("report_author")),
        click.option("--title", default="", metavar="TEXT", help=help_text("report_title")),
    ):
        with_presentation = option(with_presentation)
    return cast(F, with_presentation)


def check_heads(heads: Iterable[tuple[int, int]], model: "ModelInfo") -> None:
    """Refuse heads that the model does not have."""
    for layer, head in heads:
        if not (layer < model.layers and head < model.heads):
            values = {"layers": model.layers, "heads": model.heads}
            raise InputError("head_missing", layer=layer + 1, head=head + 1, **values)


def _heads(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[tuple[int, int], ...]:
    return tuple(parse_head(part.strip()) for part in value.split(",")) if value else ()


def _sections(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    from attnx.report.presentation import SECTIONS

    names = tuple(part.strip() for part in value.split(",")) if value else ()
    for name in names:
        if name not in SECTIONS:
            raise InputError("unknown_section", name=name, known=", ".join(SECTIONS))
    return names
