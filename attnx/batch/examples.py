"""The sentences that a report shows as examples: for each role, one in which its strongest head is as it mostly is."""

from typing import TYPE_CHECKING

from attnx.batch.run import Run
from attnx.batch.table import read_column
from attnx.texts.sentence import read_sentence

if TYPE_CHECKING:
    from attnx.corpus.records import CorpusRow
    from attnx.encoders.encoder import Encoder
    from attnx.report.corpus.document import Example
    from attnx.report.corpus.findings import Wanted
    from attnx.statistics.accumulators.results import CorpusResult

SEARCHED = 20_000  # sentences, the first of the corpus
READABLE = range(6, 29)  # tokens: enough to see a pattern, few enough to read
LONGEST = 256  # tokens of a map that is drawn


def find_examples(run: Run, encoder: "Encoder", result: "CorpusResult") -> "tuple[Example, ...]":
    """Return an example for everything the report wants one of, where there is one."""
    from attnx.report.corpus.findings import wanted_examples

    chosen = [(wanted, _typical(run, wanted)) for wanted in wanted_examples(result)]
    rows = _rows(run, {found[0] for _, found in chosen if found})
    return tuple(_example(run, encoder, wanted, rows[found[0]], found[1]) for wanted, found in chosen if found)


def _typical(run: Run, wanted: "Wanted") -> tuple[int, float] | None:
    """Return the number of the sentence in which the head's value is nearest to its mean, and this value."""
    path = run.folder.output / "sentences.parquet"
    values = read_column(path, wanted.layer, wanted.head, f"{wanted.scope}.{wanted.statistic}", SEARCHED)
    ranked = [
        (tokens not in READABLE, abs(value - wanted.value), number, value)
        for number, tokens, value in values
        if tokens <= LONGEST
    ]
    return min(ranked)[2:] if ranked else None


def _rows(run: Run, numbers: set[int]) -> "dict[int, CorpusRow]":
    """Return the rows of these numbers, reading the inputs as far as the last of them."""
    found: dict[int, CorpusRow] = {}
    if numbers:
        for row in run.rows():
            if row.number in numbers:
                found[row.number] = row
            if len(found) == len(numbers):
                break
    return found


def _example(run: Run, encoder: "Encoder", wanted: "Wanted", row: "CorpusRow", value: float) -> "Example":
    from attnx.report.corpus.document import Example
    from attnx.report.document import quantize

    sentence = read_sentence(row.text)
    encoding = encoder.encode(sentence)
    weights = encoder.observe(encoding).weights[wanted.layer, wanted.head]
    return Example(
        wanted.scope,
        wanted.statistic,
        wanted.layer,
        wanted.head,
        value,
        row.number,
        run.files.index(row.file),
        row.line,
        row.id,
        sentence.text,
        sentence.language,
        encoding.tokens,
        quantize(weights.numpy()),
    )
