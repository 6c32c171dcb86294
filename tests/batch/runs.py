"""Inputs and outputs of the runs that the tests make."""

from pathlib import Path
from typing import Any

from attnx.batch.folder import OUTPUTS

WORDS = ("мама", "мыла", "раму", "the cat", "sat", "我爱", "北", "мои")


def some_sentences(count: int) -> list[str]:
    """Different sentences of two to nine words."""
    return [" ".join(WORDS[(i * step) % len(WORDS)] for step in range(1, 3 + i % 8)) for i in range(1, count + 1)]


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def outputs(folder: Path) -> dict[str, bytes]:
    """The final files of a run by their names."""
    names = [*OUTPUTS, *(path.relative_to(folder).as_posix() for path in sorted((folder / "each").glob("*")))]
    return {name: (folder / name).read_bytes() for name in names}


def progress_apart(err: str) -> list[str]:
    """The lines on stderr without those that only say what is being done."""
    return [line for line in err.splitlines() if not line.endswith(" …")]


def said(result: Any) -> str:
    """The one line of a refusal."""
    (line,) = progress_apart(result.stderr)
    assert line.startswith("Error: ") and result.stdout == ""
    return line
