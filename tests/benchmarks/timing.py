"""Wall time of commands: a fresh process each, in turn, so that a slow moment of the machine falls on all of them."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

ROUNDS = 3
CHECKOUT = Path(__file__).resolve().parents[2]
ATTNX = (sys.executable, "-m", "attnx")

Times = list[float]


def in_turn(jobs: Mapping[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, Times]:
    """Return the wall seconds of every job, run A B A B …, `rounds` times each."""
    times: dict[str, Times] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            times[name].append(time.perf_counter() - start)
    return times


def commands_in_turn(commands: Mapping[str, Sequence[str]], rounds: int = ROUNDS) -> dict[str, Times]:
    """Return the wall seconds of every command, each run in a fresh process."""
    return in_turn({name: _command(arguments) for name, arguments in commands.items()}, rounds)


def output_of(arguments: Sequence[str]) -> str:
    """Run a command from the checkout and return what it prints; a failing command ends the benchmark."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stderr}{arguments} ended with {done.returncode}")
    return done.stdout


def median(times: Times) -> float:
    """Return the median of the seconds."""
    return statistics.median(times)


def spread(times: Times) -> str:
    """Return min, median and max of the seconds as text."""
    return f"{min(times):.2f} {median(times):.2f} {max(times):.2f} s"


def verdict(ratio: float, limit: float) -> str:
    """Return a ratio beside its upper limit as text."""
    return f"{ratio:.2f} × (limit {limit:g} ×) {'ok' if ratio <= limit else 'TOO SLOW'}"


def _command(arguments: Sequence[str]) -> Callable[[], object]:
    return lambda: output_of(arguments)
