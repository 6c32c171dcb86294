"""The options that mean the same in every command, and the texts of the help."""

import functools
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from attnx.cli.completion import complete_model
from attnx.encoders.device import DEVICES, DTYPES
from attnx.errors import InputError
from attnx.i18n import Catalog, is_traditional, languages, load_catalog, match_language, terminal_catalog

F = TypeVar("F", bound=Callable[..., Any])
HEAD_PART = re.compile("[1-9][0-9]{0,3}")


def help_text(name: str, **values: str) -> str:
    """Return the help of a command or option in the language of the user's terminal."""
    return terminal_catalog().text(f"help.{name}", **values).replace("\\b", "\b")


def model_options(command: F) -> F:
    """Add ``-m/--model`` and what it may do; the command gets them all as one ModelRequest, `request`."""

    @functools.wraps(command)
    def with_request(*arguments: Any, model: str, **options: Any) -> Any:  # noqa: ANN401 - whatever the command takes
        from attnx.encoders.records import ModelRequest

        own = {field.name: options.pop(field.name) for field in fields(ModelRequest) if field.name in options}
        if own["offline"] and own["download"]:
            raise InputError("offline_download")
        return command(*arguments, request=ModelRequest(model, **own), **options)

    for option in (
        click.option("--dtype", **_choice(DTYPES), help=help_text("dtype")),
        click.option("--device", **_choice(DEVICES), help=help_text("device")),
        click.option("--trust-remote-code", is_flag=True, help=help_text("trust_remote_code")),
        click.option("--allow-pickle", is_flag=True, help=help_text("allow_pickle")),
        click.option("--offline", is_flag=True, help=help_text("offline")),
        click.option("--download", is_flag=True, help=help_text("download")),
        click.option(
            "-m",
            "--model",
            default="builtin",
            show_default=True,
            metavar="MODEL",
            shell_complete=complete_model,
            help=help_text("model"),
        ),
    ):
        with_request = option(with_request)
    return cast(F, with_request)


def long_option(command: F) -> F:
    """Add ``--long``: what to do with a text longer than the model takes."""
    choices = click.Choice(["cut", "windows", "error"])
    return click.option("--long", type=choices, default="cut", show_default=True, help=help_text("long"))(command)


def language_option(command: F) -> F:
    """Add ``-l/--lang``, checked and resolved to a catalog's language."""
    return click.option("-l", "--lang", "language", callback=read_language, metavar="LANG", help=help_text("lang"))(
        command
    )


def head_option(command: F) -> F:
    """Add ``-H/--head``, a layer and a head counted from 1, which the command gets counted from 0."""
    return click.option("-H", "--head", callback=read_head, metavar="LAYER.HEAD", help=help_text("head"))(command)


def statistic_option(command: F) -> F:
    """Add ``--statistic``, which chooses a layer × head map; the locales name all statistics."""
    return click.option(
        "--statistic",
        type=click.Choice(tuple(terminal_catalog().messages["statistics"])),
        default="normalized_entropy",
        show_default=True,
        metavar="NAME",
        help=help_text("statistic"),
    )(command)


def output_option(command: F) -> F:
    """Add ``-o/--output``, which may be given several times."""
    return click.option(
        "-o",
        "--output",
        "outputs",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=help_text("output"),
    )(command)


def catalog_for(language: str | None, text_language: str) -> Catalog:
    """Return the catalog of ``-l``, or of the language of the text where ``-l`` was not given."""
    return load_catalog(language or (text_language if text_language in languages() else "en"))


def command_line() -> str:
    """Return the command that was given, as a shell would take it."""
    from attnx.texts.sentence import valid_unicode

    return valid_unicode(shlex.join(["attnx", *sys.argv[1:]]))


def read_head(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Return a layer and a head counted from 0, for ``3.7`` counted from 1."""
    return None if value is None else parse_head(value)


def parse_head(value: str) -> tuple[int, int]:
    """Return the layer and the head of ``3.7``, counted from 0. Raises InputError for anything else."""
    layer, _, head = value.partition(".")
    if not all(HEAD_PART.fullmatch(part) for part in (layer, head)):
        raise InputError("head_unreadable", head=value)
    return int(layer) - 1, int(head) - 1


def _choice(names: tuple[str, ...]) -> dict[str, Any]:
    """Return the settings of an option that takes one of `names`, the first by default."""
    return {"type": click.Choice(names), "default": names[0], "show_default": True}


def read_language(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Return the catalog's language for a language or locale. Raises InputError when there is none."""
    if value is None:
        return None
    language = match_language(value)
    if language is None:
        raise InputError("unknown_language", language=value, known=", ".join(languages()))
    if is_traditional(value):
        click.echo(terminal_catalog().text("terminal.traditional"), err=True)
    return language
