"""The command line: Click only, one file a command, heavy imports inside the commands."""

from importlib import import_module
from typing import Any

import click

from attnx.cli.options import help_text
from attnx.errors import AttnxError
from attnx.i18n import terminal_catalog
from attnx.version import __version__

COMMANDS = ("report", "measure", "batch", "experiment", "compare", "render", "models", "doctor")
INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group whose commands are modules, imported when they are asked for; failures end in one plain message."""

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


@click.command(
    cls=LazyGroup,
    help=help_text("attnx"),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--debug", is_flag=True, help=help_text("debug"))
@click.version_option(__version__, message="attnx %(version)s")
def attnx(debug: bool) -> None:
    """Run a command."""
