"""How many heads: experiment E11, a published table, and the user's model with fewer heads.

The table is of models that were trained with so many heads each. A trained model whose heads are merged is another
thing, so that no measure of it decides what the table says.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from attnx.encoders.baseline import random_twin
from attnx.encoders.encoder import Encoder
from attnx.encoders.interventions.records import Variant
from attnx.encoders.interventions.run import intervene
from attnx.encoders.records import Encoding
from attnx.errors import InputError
from attnx.experiments.merging import Merged, divisors, merge_heads
from attnx.experiments.records import Advance, Curve, Curves, Floats, Options, Progress, Result, Row, Table, Words
from attnx.experiments.states import moved
from attnx.statistics.divergence import mean_divergences
from attnx.texts.sentence import Sentence

# Vaswani et al. 2017, Attention Is All You Need, Table 3, rows (A) and the base model, whose 8 heads are the third
# row: heads, width d_k of a head, perplexity and BLEU of English to German on newstest2013.
PUBLISHED = (
    (1, 512, 5.29, 24.9),
    (4, 128, 5.00, 25.5),
    (8, 64, 4.92, 25.8),
    (16, 32, 4.91, 25.8),
    (32, 16, 5.01, 25.4),
)
MOVED, ENTROPY, DISTINCT = range(3)
LEAST_TOKENS = 2
FEW = 10  # texts


def run(encoder: Encoder, sentences: Sequence[Sentence], options: Options, progress: Progress) -> Result:
    """Show the table, and measure the model and its twin with random weights under every number of heads."""
    numbers = divisors(encoder)
    encodings = [encoder.encode(sentence) for sentence in sentences]
    for encoding in encodings:
        if encoding.special.count(False) < LEAST_TOKENS:
            raise InputError("experiment_short", text=encoding.sentence.text, least=LEAST_TOKENS)
    twin = random_twin(encoder, options.seed)
    progress.expect(2 * len(numbers) * len(encodings))
    found, chance = (measure(one, encodings, numbers, progress.advance) for one in (encoder, twin))
    return Result(
        "unclear",
        {
            "n": len(encodings),
            "heads": numbers[0],
            "fewer": numbers[1],
            "fewer_moved": float(found[1, MOVED]),
            "one_moved": float(found[-1, MOVED]),
            "chance_fewer": float(chance[1, MOVED]),
            "chance_one": float(chance[-1, MOVED]),
        },
        (_published(), _table(found, numbers), _curves(found, chance, numbers)),
        (Words("small", {"n": len(encodings)}),) if len(encodings) < FEW else (),
    )


def measure(encoder: Encoder, encodings: Sequence[Encoding], numbers: Sequence[int], advance: Advance) -> Floats:
    """Return means over texts of the move of states, entropy and distinctness by number of heads, ``[numbers, 3]``."""
    texts = []
    for encoding in encodings:
        before = intervene(encoder, [encoding], [Variant()]).states[0]
        texts.append([statistics(merged, before) for merged in merge_heads(encoder, encoding, numbers, advance)])
    return np.asarray(np.mean(texts, 0), np.float64)


def statistics(merged: Merged, before: torch.Tensor) -> tuple[float, float, float]:
    """Return how far the states moved, the mean entropy in nats, and how different the heads of a layer are.

    The last is the mean Jensen–Shannon divergence of two heads of a layer, in nats, NaN where there is one.
    """
    members = merged.again.shape[1] // merged.groups
    heads = merged.again[:, ::members]
    entropy = torch.special.entr(heads.double()).sum(-1).mean()
    every = torch.ones(merged.groups, merged.groups, dtype=torch.bool)
    rows = torch.ones(heads.shape[1:3], dtype=torch.bool)
    pairs = torch.stack([mean_divergences(layer, rows, every) for layer in heads])
    return float(moved(merged.states, before)), float(entropy), float(pairs.nanmean())


def _published() -> Table:
    columns = tuple(map(Words, ("width", "perplexity", "bleu")))
    rows = tuple(
        Row(str(heads), (width, perplexity, Words("tenths", {"value": bleu})))
        for heads, width, perplexity, bleu in PUBLISHED
    )
    return Table("published", columns, ("count", "number", "number"), rows)


def _table(found: Floats, numbers: Sequence[int]) -> Table:
    columns = tuple(map(Words, ("moved", "entropy", "distinct")))
    rows = tuple(Row(str(number), tuple(map(float, row))) for number, row in zip(numbers, found, strict=True))
    return Table("merged", columns, ("share", "nats", "nats"), rows)


def _curves(found: Floats, chance: Floats, numbers: Sequence[int]) -> Curves:
    x = np.array(numbers, np.float64)
    curves = (Curve(Words(name), x, of[:, MOVED]) for name, of in (("here", found), ("by_chance", chance)))
    return Curves("moving", (Words("merged"), Words("moved_axis")), tuple(curves))
