"""Start of the command line against ``import click``: python tests/benchmarks/startup.py."""

import sys

from timing import ATTNX, commands_in_turn, median, output_of, spread, verdict

ROUNDS = 15
LIMIT = 3.0
HEAVY = ("torch", "transformers", "numpy", "weasyprint", "babel")
LIST_MODULES = (
    "import sys, contextlib\n"
    "from attnx.__main__ import main\n"
    "with contextlib.suppress(SystemExit): main()\n"
    "print(*sorted(name for name in sys.modules if '.' not in name), file=sys.stdout)"
)


def main() -> None:
    """Print the ratios, and which heavy packages are imported (none should be)."""
    times = commands_in_turn(
        {
            "import click": (sys.executable, "-c", "import click"),
            "attnx --help": (*ATTNX, "--help"),
            "attnx --version": (*ATTNX, "--version"),
        },
        ROUNDS,
    )
    base = median(times["import click"])
    for name, seconds in times.items():
        print(f"{name:16} {spread(seconds)}  {verdict(median(seconds) / base, LIMIT)}")
    for option in ("--help", "--version"):
        loaded = output_of((sys.executable, "-c", LIST_MODULES, option)).splitlines()[-1].split()
        heavy = [name for name in HEAVY if name in loaded]
        print(f"attnx {option}: {len(loaded)} top-level modules; of the heavy ones: {', '.join(heavy) or 'none'}")


if __name__ == "__main__":
    main()
