"""What a reader may choose of a report's looks: its cover, which parts it has, the paper, other templates."""

from dataclasses import dataclass
from pathlib import Path

# The parts of a report on sentences: of each sentence, then of all.
SENTENCE_PARTS = ("tokens", "findings", "reading", "maps", "baseline", "overview", "heads", "table")
CLOSING_PARTS = ("definitions", "limits", "provenance")
SECTIONS = (*SENTENCE_PARTS, *CLOSING_PARTS)


@dataclass(frozen=True)
class Paper:
    """The paper of a PDF: its size as CSS names it, how wide the text is, and how heatmaps stand on it.

    Lengths are in mm. `row` is how many heads stand side by side, each at most `head` wide and `height` high, so that
    the heads of a layer with 12 fill a page; the picture of all heads is `overview` wide.
    """

    size: str
    width: float
    row: int
    head: float
    height: float
    overview: float


A4 = Paper("A4", 176, 3, 56, 51.5, 158)
PAPERS = {
    ("a4", False): A4,
    ("a4", True): Paper("A4 landscape", 263, 4, 62, 45, 124),
    ("letter", False): Paper("letter", 181, 3, 56, 47, 158),
    ("letter", True): Paper("letter landscape", 245, 4, 57, 47, 128),
}


@dataclass(frozen=True)
class Presentation:
    """The choices; empty is the report's own.

    `title`, `author` and `note` are for the cover. `sections` are the parts that a report on sentences has, by their
    names in the templates, `heads` the heads (layer, head), from 0, whose maps it draws. `templates` is a folder whose
    files stand in for those of the same names.
    """

    title: str = ""
    author: str = ""
    note: str = ""
    sections: tuple[str, ...] = ()
    heads: tuple[tuple[int, int], ...] = ()
    paper: Paper = A4
    templates: Path | None = None

    def has(self, section: str) -> bool:
        """Tell whether the report has a part."""
        return not self.sections or section in self.sections

    def draws(self, layer: int, head: int) -> bool:
        """Tell whether the report draws the map of a head."""
        return not self.heads or (layer, head) in self.heads


PLAIN = Presentation()
