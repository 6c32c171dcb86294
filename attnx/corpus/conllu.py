"""CoNLL-U: sentences with one word a line, of which only the text is read."""

import re
from collections.abc import Iterable, Iterator

from attnx.corpus.columns import listed
from attnx.corpus.lines import MAXIMUM_LINE, Line
from attnx.corpus.records import BadRow, CorpusOptions, Found, FoundItem

FIELDS = 10
COMMENT = re.compile(r"#\s*(\S+)\s*=\s*(.*)")
# A word, the words that a token on the page stands for, or an empty node, which is not on the page.
WORD_ID = re.compile(r"(?P<first>\d{1,9})(?:-(?P<last>\d{1,9})|(?P<empty>\.\d{1,9}))?", re.ASCII)
NO_SPACE = "SpaceAfter=No"


def read_conllu(name: str, lines: Iterable[Line], options: CorpusOptions) -> Iterator[FoundItem]:
    """Yield the row of every sentence: what its comment ``text`` says, otherwise its words; the id is ``sent_id``."""
    for block in _blocks(lines):
        if sum(len(line) for _, line in block) > MAXIMUM_LINE:
            yield BadRow(name, block[0][0], "row_too_long", {"limit": MAXIMUM_LINE})
        else:
            yield _sentence(name, [(number, line.rstrip("\r\n")) for number, line in block])


def _blocks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Yield the lines between blank lines; of a block that is too long, so many that it shows."""
    block: list[Line] = []
    length = 0
    for number, line in lines:
        if not line.strip():
            if block:
                yield block
            block, length = [], 0
        elif length <= MAXIMUM_LINE:
            block.append((number, line))
            length += len(line)
    if block:
        yield block


def _sentence(name: str, block: list[Line]) -> FoundItem:
    comments = {match[1]: match[2] for _, line in block if (match := COMMENT.fullmatch(line))}
    words = _words(name, [(number, line) for number, line in block if not line.startswith("#")])
    if isinstance(words, BadRow):
        return words
    if not words:
        return BadRow(name, block[0][0], "conllu_no_words")
    return Found(block[0][0], comments.get("text") or words.rstrip(), comments.get("sent_id") or None)


def _words(name: str, lines: Iterable[Line]) -> str | BadRow:
    """Return the words as they stand on the page, or the first line that is wrong."""
    words = []
    before = covered = 0  # the number of the last word, and of the last that a token stands for
    for number, line in lines:
        fields = line.split("\t")
        if len(fields) != FIELDS:
            return BadRow(name, number, "row_fields", {"n": len(fields), "expected": FIELDS})
        match = WORD_ID.fullmatch(fields[0])
        first = int(match["first"]) if match else -1
        if match is None or not fields[1] or first != before + (not match["empty"]):
            return BadRow(name, number, "conllu_word", {"id": listed(fields[:1])})
        if match["empty"]:
            continue
        if first > covered:
            words.append(fields[1] if NO_SPACE in fields[9].split("|") else f"{fields[1]} ")
        if match["last"]:
            covered = int(match["last"])
        else:
            before = first
    return "".join(words)
