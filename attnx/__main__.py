"""Entry point of the command line: ``attnx`` and ``python -m attnx``."""

import io
import sys


def main() -> None:
    """Run the command line and exit with its code: 0 done, 1 failed, 2 wrong use, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A console that cannot show a character gets its code point instead of a traceback.
            stream.reconfigure(errors="backslashreplace")
    try:
        from attnx.cli import attnx

        attnx.main(prog_name="attnx")
    except KeyboardInterrupt:  # before the command line is there to say so
        sys.exit(130)


if __name__ == "__main__":
    main()
