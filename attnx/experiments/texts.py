"""The texts of an experiment: sentences, files with one a line, tables with a column a language."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from attnx.corpus.parallel import SUFFIXES, read_parallel
from attnx.texts.inputs import read_inputs
from attnx.texts.sentence import Sentence, read_sentence


def read_texts(inputs: Sequence[str], limit: int) -> list[Sentence]:
    """Return the first `limit` texts of each input, or rows of a table.

    Raises InputError for an input that cannot be read.
    """
    found: list[Sentence] = []
    for given in inputs:
        if Path(given).suffix.lower() in SUFFIXES:
            found += read_parallel(given, limit)
        else:
            found += (read_sentence(item.text) for item in islice(read_inputs([given]), limit))
    return found
