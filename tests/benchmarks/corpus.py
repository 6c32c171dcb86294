"""The streaming engine against the bare model and against simpler ways: python tests/benchmarks/corpus.py [--quick].

All with the built-in model, in one process and in turn (A B A B …). Sentences are stretches of samples/*.txt of random
length, drawn from a fixed seed. The bare model is a forward pass with PyTorch's own attention (SDPA) over the batches
that the engine makes, tokenized beforehand; the engine's time has everything, from text to scores. The simpler ways
compute the same statistics:

- one sentence at a time, all heads at once, with the functions that ``attnx measure`` uses;
- all attentions of a batch kept, and a loop over its sentences and heads in numpy, without padding.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from timing import CHECKOUT, in_turn, median, output_of, spread, verdict

import attnx
from attnx.statistics import SCOPES, row_means, scope_view
from attnx.statistics.maps import positional_rate, sink
from attnx.streaming.batches import cut_batches
from attnx.streaming.engine import LOOK_AHEAD, TOKEN_BUDGET, stream
from attnx.streaming.reading import Item, read
from attnx.streaming.records import BatchScores
from attnx.texts.sentence import Sentence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnx.encoders.encoder import Encoder

SEED = 20
LANGUAGES = ("zh", "ru", "en")
LETTERS = {"zh": 13, "ru": 36, "en": 42}  # the median of a sentence, about 12 tokens
SPREAD = 0.6  # of the logarithm of the length
SENTENCES, FEW = 2100, 600
LONG = {128: 64, 512: 16}  # tokens: sentences
LIMITS = {"real": 1.08, 128: 1.3, 512: 2.0}
ONE_BY_ONE, IN_NUMPY = 4.0, 5.0
MEMORY = (2000, 20_000)
MEMORY_LIMIT = 50.0  # MB
COMPARED = 150  # sentences, spread over all
DISTANT = 2


def main() -> None:
    """Print the lengths, then every ratio beside its limit."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer sentences and rounds; no memory")
    parser.add_argument("--peak", type=int, help="print the peak memory in MB of measuring so many sentences")
    arguments = parser.parse_args()
    encoder = attnx.load_encoder()
    if arguments.peak:
        print(peak(encoder, arguments.peak))
        return
    rounds = 3 if arguments.quick else 5
    sentences = list(make_sentences(FEW if arguments.quick else SENTENCES))
    lengths = [len(item.encoding.ids) for batch in batches(encoder, sentences) for item in batch]
    deciles = ", ".join(f"{value:.0f}" for value in np.quantile(lengths, np.linspace(0, 1, 11)))
    print(f"{len(sentences)} sentences, median {statistics.median(lengths):.0f} tokens; deciles {deciles}", flush=True)
    seconds = against_bare("real", encoder, sentences, rounds)
    against_simple(encoder, sentences, seconds / len(sentences), rounds)
    for tokens, count in LONG.items():
        cut = replace(encoder, max_tokens=tokens)
        against_bare(tokens, cut, list(make_sentences(count, 6 * tokens)), rounds)
    if not arguments.quick:
        memory()


def make_sentences(count: int, letters: int | None = None) -> Iterator[Sentence]:
    """Yield sentences, the languages in turn: stretches of the samples of random length, or of `letters` letters."""
    generator = random.Random(SEED)
    samples = {name: (CHECKOUT / f"samples/{name}.txt").read_text().replace("\n", " ") for name in LANGUAGES}
    for number in range(count):
        language = LANGUAGES[number % len(LANGUAGES)]
        text = samples[language]
        length = letters or max(2, round(LETTERS[language] * generator.lognormvariate(0, SPREAD)))
        start = generator.randrange(len(text))
        stretch = (text[start:] + " " + text * (1 + length // len(text)))[:length]
        yield Sentence(stretch.strip(" ") or text[:2], language)


def numbered(sentences: Iterable[Sentence]) -> Iterator[tuple[int, int, Sentence]]:
    """Yield the sentences as the engine takes them."""
    return ((number, 0, sentence) for number, sentence in enumerate(sentences))


def batches(encoder: Encoder, sentences: Sequence[Sentence]) -> list[list[Item]]:
    """Return the batches that the engine makes."""
    items = read(encoder, numbered(sentences), "cut")
    return [batch for batch in cut_batches(items, TOKEN_BUDGET, LOOK_AHEAD) if isinstance(batch, list)]


def by_engine(encoder: Encoder, sentences: Sequence[Sentence]) -> None:
    """Measure everything."""
    assert all(isinstance(scores, BatchScores) for scores in stream(encoder, numbered(sentences)))


def against_bare(name: str | int, encoder: Encoder, sentences: Sequence[Sentence], rounds: int) -> float:
    """Print the ratio to the bare forward pass, and return the engine's seconds."""
    ids = [torch.tensor([item.encoding.ids for item in batch]) for batch in batches(encoder, sentences)]
    masks = [torch.ones_like(tokens) for tokens in ids]

    def bare() -> None:
        encoder.model.set_attn_implementation("sdpa")
        with torch.inference_mode():
            for tokens, mask in zip(ids, masks, strict=True):
                encoder.model(input_ids=tokens, attention_mask=mask)
        encoder.model.set_attn_implementation("eager")

    jobs = {"bare": bare, "attnx": lambda: by_engine(encoder, sentences)}
    for job in jobs.values():
        job()
    times = in_turn(jobs, rounds)
    ratios = sorted(ours / theirs for ours, theirs in zip(times["attnx"], times["bare"], strict=True))
    for job, seconds in times.items():
        print(f"{name!s:5} {job:6} {spread(seconds)}")
    print(
        f"{name!s:5} attnx / bare: {verdict(median(times['attnx']) / median(times['bare']), LIMITS[name])}; "
        f"of pairs {ratios[0]:.2f} {median(ratios):.2f} {ratios[-1]:.2f}",
        flush=True,
    )
    return median(times["attnx"])


def against_simple(encoder: Encoder, sentences: Sequence[Sentence], seconds: float, rounds: int) -> None:
    """Print how many times as long the simpler ways take a sentence; `seconds` is what the engine takes."""
    some = sentences[:: max(1, len(sentences) // COMPARED)]
    jobs = {"one by one": lambda: one_by_one(encoder, some), "in numpy": lambda: in_numpy(encoder, some)}
    times = in_turn(jobs, min(rounds, 3))
    for (name, own), least in zip(times.items(), (ONE_BY_ONE, IN_NUMPY), strict=True):
        ratio = median(own) / len(some) / seconds
        print(f"attnx is {ratio:.1f} × faster than {name} (limit: at least {least:g} ×)", flush=True)


def one_by_one(encoder: Encoder, sentences: Iterable[Sentence]) -> None:
    """Measure a sentence after the other, all heads at once; without the nearest head, which the engine leaves out."""
    for sentence in sentences:
        attention = encoder.observe(encoder.encode(sentence))
        for scope in SCOPES:
            view = scope_view(attention, scope)
            row_means(view, torch.ones(len(view.positions), dtype=torch.bool), scope)
            sink(view)
            positional_rate(view)


def in_numpy(encoder: Encoder, sentences: Sequence[Sentence]) -> None:
    """Keep all attentions of a batch, and go over its sentences, layers and heads."""
    for batch in batches(encoder, sentences):
        ids = torch.tensor([item.encoding.ids for item in batch])
        with torch.inference_mode():
            output = encoder.model(input_ids=ids, attention_mask=torch.ones_like(ids), output_attentions=True)
        attentions = [layer.numpy() for layer in output.attentions]
        for i, item in enumerate(batch):
            special = np.array(item.encoding.special)
            text = item.encoding.sentence.text
            punctuation = np.array(
                [
                    not token.special and all(unicodedata.category(c)[0] == "P" for c in text[token.start : token.end])
                    for token in item.encoding.tokens
                ]
            )
            for layer in attentions:
                for weights in layer[i]:
                    head_statistics(weights, np.arange(len(special)), punctuation, special)
                    inner = weights[np.ix_(~special, ~special)]
                    inner = inner / inner.sum(-1, keepdims=True)
                    head_statistics(inner, np.flatnonzero(~special), punctuation[~special], None)


def head_statistics(
    weights: NDArray[np.float32], places: NDArray[np.int64], punctuation: NDArray[np.bool_], special: object
) -> list[float]:
    """Return the statistics of one head in one scope."""
    offsets = places - places[:, None]
    entropies = -np.sum(weights * np.log(weights + 1e-30), axis=-1)
    farthest = weights.argmax(-1) - np.arange(len(places))
    found = [
        weights.diagonal().mean(),
        weights.diagonal(-1).mean(),
        weights.diagonal(1).mean(),
        (weights * (np.abs(offsets) <= DISTANT)).sum(-1).mean(),
        weights[:, punctuation].sum(-1).mean(),
        (weights * np.abs(offsets)).sum(-1).mean(),
        (weights * offsets).sum(-1).mean(),
        (weights * (offsets > 0)).sum(-1).mean(),
        entropies.mean(),
        (entropies / np.log(len(places))).mean(),
        np.exp(entropies).mean(),
        weights.max(-1).mean(),
        weights.mean(0).max(),
        max(np.mean(farthest == -1), np.mean(farthest == 1)),
    ]
    if special is not None:
        found += [weights[:, 0].mean(), weights[:, -1].mean(), weights[:, special].sum(-1).mean()]
    return found


def peak(encoder: Encoder, count: int) -> float:
    """Measure so many sentences and return the largest memory that the process had, in MB."""
    for _ in stream(encoder, numbered(make_sentences(count))):
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def memory() -> None:
    """Print the peak memory of few and of many sentences, a process each."""
    few, many = (float(output_of((sys.executable, __file__, "--peak", str(count)))) for count in MEMORY)
    state = "ok" if many - few <= MEMORY_LIMIT else "TOO MUCH"
    print(f"peak memory: {few:.0f} MB at {MEMORY[0]} sentences, {many:.0f} MB at {MEMORY[1]}: {many - few:+.0f} MB")
    print(f"(limit {MEMORY_LIMIT:+g} MB) {state}")


if __name__ == "__main__":
    main()
