"""A shard: the next rows of the input, measured as a whole, whatever came before and whoever measures it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from attnx.batch.records import Counts
from attnx.batch.table import SentenceTable
from attnx.corpus.records import BadRow, CorpusItem, CorpusRow, EmptyRow
from attnx.errors import InputError
from attnx.texts.sentence import read_sentence

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder
    from attnx.encoders.records import Encoding, ModelInfo
    from attnx.statistics.accumulators import Corpus, Shape
    from attnx.texts.sentence import Sentence

LARGEST = 4096  # rows
SCORED_HEADS = 600_000  # rows times heads, so that a shard's scores take less than 100 MB

Advance = Callable[[int], None]
Reason = tuple[str, Mapping[str, object]]  # a message's key under ``errors`` and its values


@dataclass(frozen=True)
class Shard:
    """Some items of the reader in their order, of which at most one shard's number are rows."""

    items: tuple[CorpusItem, ...]

    @property
    def rows(self) -> list[CorpusRow]:
        """The texts to measure."""
        return [item for item in self.items if isinstance(item, CorpusRow)]


@dataclass(frozen=True)
class Settings:
    """What measuring depends on beside the encoder and the rows.

    `files` are the inputs in their order, which are the groups; `long` is what to do with a text longer than the model
    takes; `seed` is that of the bootstrap and the samples.
    """

    files: tuple[str, ...]
    long: str
    seed: int


@dataclass(frozen=True)
class ShardResult:
    """What a shard gave: the state of its accumulators, its sentences as Parquet, and what was refused, in order.

    `items` of the reader are behind it; `counts` has one entry a file; `languages` counts the measured sentences.
    """

    state: Mapping[str, NDArray[Any]]
    table: bytes
    refused: tuple[BadRow, ...]
    items: int
    counts: tuple[Counts, ...]
    languages: Mapping[str, int]


def cut_shards(items: Iterable[CorpusItem], size: int) -> Iterator[Shard]:
    """Yield the items in shards of `size` rows; what is no row goes with the rows that follow it."""
    taken: list[CorpusItem] = []
    rows = 0
    for item in items:
        taken.append(item)
        rows += isinstance(item, CorpusRow)
        if rows == size:
            yield Shard(tuple(taken))
            taken, rows = [], 0
    if taken:
        yield Shard(tuple(taken))


def shard_size(layers: int, heads: int) -> int:
    """Return how many rows a shard has for a model of so many layers and heads."""
    return max(1, min(LARGEST, SCORED_HEADS // (layers * heads)))


def measure_shard(encoder: "Encoder", shard: Shard, settings: Settings, advance: Advance) -> ShardResult:
    """Measure the rows of a shard; `advance` hears how many sentences are done, batch by batch.

    The result depends on nothing but the encoder, the shard and the settings, so that any process can make it.
    """
    from attnx.streaming.engine import stream
    from attnx.streaming.records import Refused

    corpus = empty_corpus(encoder.info, settings)
    table = SentenceTable(shard.rows, encoder.info.layers, encoder.info.heads)
    groups = {name: group for group, name in enumerate(settings.files)}
    counts = [Counts()] * len(groups)
    sentences, refused = _read_sentences(shard.rows)
    advance(len(refused))
    numbered = ((row.number, groups[row.file], sentence) for row, sentence in sentences)
    for scores in stream(encoder, numbered, corpus.observers(), long=settings.long):
        if isinstance(scores, Refused):
            refused[scores.number] = scores.key, scores.values
            advance(1)
            continue
        corpus.update(scores)
        table.add(scores)
        for group, encoding in zip(scores.batch.groups, scores.batch.encodings, strict=True):
            counts[group] += _measured(encoding)
        advance(len(scores.batch.numbers))
    bad = tuple(_bad_rows(shard, refused))
    for bad_row in bad:
        counts[groups[bad_row.file]] += Counts(refused=1)
    for item in shard.items:
        if isinstance(item, EmptyRow):
            counts[groups[item.file]] += Counts(empty=1)
    languages = Counter(sentence.language for row, sentence in sentences if row.number not in refused)
    return ShardResult(corpus.state(), table.write(), bad, len(shard.items), tuple(counts), languages)


def empty_corpus(info: "ModelInfo", settings: Settings) -> "Corpus":
    """Return accumulators that have seen nothing."""
    from attnx.statistics.accumulators import Corpus

    return Corpus(corpus_shape(info, settings), groups=len(settings.files))


def corpus_shape(info: "ModelInfo", settings: Settings) -> "Shape":
    """Return what the accumulators know beforehand."""
    from attnx.statistics.accumulators import Shape
    from attnx.streaming.records import NAMES

    return Shape(info.layers, info.heads, NAMES, info.reach, settings.seed)


def _read_sentences(rows: Iterable[CorpusRow]) -> "tuple[list[tuple[CorpusRow, Sentence]], dict[int, Reason]]":
    """Return the sentences of the rows, and by their numbers why the others cannot be sentences."""
    sentences: list[tuple[CorpusRow, Sentence]] = []
    refused: dict[int, Reason] = {}
    for row in rows:
        try:
            sentences.append((row, read_sentence(row.text)))
        except InputError as error:
            refused[row.number] = error.key, error.values
    return sentences, refused


def _measured(encoding: "Encoding") -> Counts:
    size = len(encoding.ids)
    return Counts(measured=1, cut=int(encoding.truncated_from is not None), shortest=size, longest=size)


def _bad_rows(shard: Shard, refused: Mapping[int, Reason]) -> Iterator[BadRow]:
    """Yield what the reader refused and what could not be measured, in the order of the input."""
    for item in shard.items:
        if isinstance(item, BadRow):
            yield item
        elif isinstance(item, CorpusRow) and item.number in refused:
            key, values = refused[item.number]
            yield BadRow(item.file, item.line, key, values)
