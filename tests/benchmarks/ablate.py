"""How long ``attnx experiment ablate`` takes, in forward passes over the same sentences.

The whole experiment on 100 sentences and 144 heads, against 145 passes (each head removed, and none) of the model as it
is: one sentence at a time, and in batches of sentences of one length. ``--quick`` takes 10 sentences.
"""

import statistics
import sys
import time
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

from attnx import load_encoder
from attnx.encoders.encoder import Encoder
from attnx.encoders.records import Encoding
from attnx.experiments.records import Options, Progress
from attnx.experiments.running import run_experiment
from attnx.experiments.texts import read_texts

SAMPLES = Path(__file__).parents[2] / "samples"
FILES = ("zh.txt", "ru.txt", "en.txt", "parallel.tsv")
ROUNDS = 3


def seconds(work: Callable[[], object]) -> float:
    """Return how long a piece of work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def one_by_one(encoder: Encoder, encodings: list[Encoding]) -> None:
    """Run every sentence alone."""
    for encoding in encodings:
        encoder.observe(encoding)


def batched(encoder: Encoder, encodings: list[Encoding]) -> None:
    """Run all sentences of one length together."""
    for _, group in groupby(sorted(encodings, key=lambda one: len(one.ids)), key=lambda one: len(one.ids)):
        encoder.observe_batch(list(group))


def main() -> None:
    """Print the ratios."""
    count = 10 if "--quick" in sys.argv else 100
    texts = read_texts([str(SAMPLES / name) for name in FILES], count)
    sentences = (texts * (count // len(texts) + 1))[:count]
    encoder = load_encoder()
    encodings = [encoder.encode(sentence) for sentence in sentences]
    one_by_one(encoder, encodings)
    singly, together = (
        statistics.median(seconds(lambda way=way: way(encoder, encodings)) for _ in range(ROUNDS))  # type: ignore[misc]
        for way in (one_by_one, batched)
    )
    whole = seconds(lambda: run_experiment("ablate", encoder, sentences, Options(), Progress()))
    heads = encoder.info.layers * encoder.info.heads
    print(f"{len(sentences)} sentences, {heads} heads: {whole:.1f} s")
    print(f"  {whole / singly / (heads + 1):.2f} x the time of {heads + 1} passes, one sentence at a time")
    print(f"  {whole / together / (heads + 1):.2f} x the time of {heads + 1} passes in batches of one length")


if __name__ == "__main__":
    main()
