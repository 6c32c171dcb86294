"""A uniform sample of the rows of a stream, of which no more is held."""

from collections.abc import Iterable, Iterator
from random import Random

from attnx.corpus.records import CorpusItem, CorpusRow


def sample_rows(items: Iterable[CorpusItem], size: int, seed: int) -> Iterator[CorpusItem]:
    """Yield `size` of the rows, each as likely as any other, in the order of the stream; all where there are fewer.

    What is no row comes first, as it is met. Row n takes the place of a kept one with probability size / (n + 1)
    (algorithm R, Vitter 1985).
    """
    random = Random(seed)
    kept: list[CorpusRow] = []
    seen = 0
    for item in items:
        if not isinstance(item, CorpusRow):
            yield item
            continue
        seen += 1
        if len(kept) < size:
            kept.append(item)
        elif (place := random.randrange(seen)) < size:
            kept[place] = item
    yield from sorted(kept, key=lambda row: row.number)
