"""How a Ray cluster scales from one worker to two: python tests/benchmarks/cluster.py.

The built-in model, a cluster on this machine, each worker with one thread. The time is that from the first result to
the last, so neither the start of Ray nor the loading of the model counts; a worker has its first shard behind it.
"""

import argparse
import time
from collections.abc import Iterator
from functools import partial

from corpus import make_sentences

import attnx
from attnx.batch.cluster import Cluster, connected
from attnx.batch.shards import Settings, Shard
from attnx.corpus.records import CorpusRow
from attnx.encoders.encoder import Encoder
from attnx.encoders.records import ModelRequest

SHARDS, SIZE = 8, 768
WORKERS = (1, 2)
FILE = "queries.txt"


def main() -> None:
    """Print the sentences a second with one worker and with two, and their ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=2, help="how often each number of workers is measured")
    rounds = parser.parse_args().rounds
    encoder = attnx.load_encoder()
    texts = [sentence.text for sentence in make_sentences(SHARDS * SIZE)]
    rates: dict[int, list[float]] = {count: [] for count in WORKERS}
    for _ in range(rounds):
        for count, own in rates.items():
            own.append(rate(encoder, texts, count))
            print(f"{count} worker(s): {own[-1]:.1f} sentences a second", flush=True)
    one, two = (max(rates[count]) for count in WORKERS)
    print(f"two workers are {two / one:.2f} × as fast as one (limit: 2 × with two free cores)")


def rate(encoder: Encoder, texts: list[str], workers: int) -> float:
    """Return how many sentences a second so many workers measure."""
    settings = Settings((FILE,), "cut", 0)
    with connected(Cluster(None, workers), ModelRequest()) as engine:
        results = engine(encoder, partial(shards, texts), settings, lambda _: None)
        ends = [time.perf_counter() for _ in results]
    # As many shards are under way as there are workers when the first is done.
    first = workers - 1
    return (len(ends) - 1 - first) * SIZE / (ends[-1] - ends[first])


def shards(texts: list[str]) -> Iterator[Shard]:
    """Yield the texts in shards."""
    rows = [CorpusRow(number, f"{FILE}:{number + 1}", text, FILE, number + 1) for number, text in enumerate(texts)]
    return (Shard(tuple(rows[start : start + SIZE])) for start in range(0, len(rows), SIZE))


if __name__ == "__main__":
    main()
