"""Entry point of the command line: ``attnx`` and ``python -m attnx``."""

import gc
import io
import sys

# New objects before the garbage collector looks for cycles. The libraries bring half a million objects that stay;
# walking over them again and again, at Python's 700, takes a tenth of a command's time.
GARBAGE = 500_000


def main() -> None:
    """Run the command line and exit with its code: 0 done, 1 failed, 2 wrong use, 130 interrupted."""
    gc.set_threshold(GARBAGE)
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
