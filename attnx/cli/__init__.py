"""The command line: Click only, one file a command, heavy imports inside the commands."""

import os
from importlib import import_module
from typing import Any

import click

from attnx.cli.options import help_text, read_language
from attnx.cli.translation import translate_click
from attnx.errors import AttnxError
from attnx.i18n import LANGUAGE_VARIABLE, terminal_catalog
from attnx.version import __version__

COMMANDS = ("report", "show", "explore", "measure", "batch", "experiment", "compare", "render", "models", "doctor")
INTERRUPTED = 130

translate_click()


class LazyGroup(click.Group):
    """A group whose commands are modules, imported when they are asked for; failures end in one plain message."""

    def main(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - Click's signature
        """Run a command line; the language that it asks for is that of this run only."""
        before = os.environ.get(LANGUAGE_VARIABLE)
        try:
            return super().main(*arguments, **options)
        finally:
            os.environ.pop(LANGUAGE_VARIABLE, None)
            if before is not None:
                os.environ[LANGUAGE_VARIABLE] = before

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return ``--help``, which waits for ``--lang`` wherever the two stand."""
        option = super().get_help_option(ctx)
        if option:
            option.is_eager = False
        return option

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help; its words were read before ``--lang`` was, and are read again."""
        self.help = help_text("attnx")
        own = {
            "debug": help_text("debug"),
            "version": help_text("version"),
            "terminal": help_text("terminal"),
        }
        for option in self.params:
            if isinstance(option, click.Option) and option.name in own:
                option.help = own[option.name]
        if asked := self.get_help_option(ctx):
            asked.help = help_text("help")
        super().format_help(ctx, formatter)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of their use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import the module of a command and return the command."""
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"attnx.cli.{name}"), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - Click's signature
        """Run the command; without ``--debug`` no failure shows a traceback."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            click.echo(terminal_catalog().text("terminal.interrupted"), err=True)
            ctx.exit(INTERRUPTED)
        except MemoryError as error:
            raise AttnxError("out_of_memory") from error
        except Exception as error:
            if ctx.params["debug"]:
                raise
            raise AttnxError("unexpected", reason=f"{type(error).__name__}: {error}") from error


def _speak(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Let the terminal's language be the one that was asked for."""
    language = read_language(ctx, parameter, value)
    if language:
        os.environ[LANGUAGE_VARIABLE] = language


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--lang", "terminal", metavar="LANG", is_eager=True, expose_value=False, callback=_speak)
@click.option("--debug", is_flag=True)
@click.version_option(__version__, message="attnx %(version)s")
def attnx(debug: bool) -> None:
    """Run a command."""
