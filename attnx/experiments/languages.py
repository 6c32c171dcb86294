"""Whether the same heads do the same in different languages: experiment E12.

Every head has a mean of each statistic in each language; two languages agree in a statistic as far as they rank the
heads alike (Spearman's rank correlation). What this is by chance say a twin with random weights and, from above, the
correlation between two halves of the texts of one language. These are statistics of the form of attention; that a head
follows the same syntactic relation in many languages is another claim (Ravishankar et al. 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from attnx.encoders.baseline import random_twin
from attnx.encoders.encoder import Encoder
from attnx.errors import InputError
from attnx.experiments.agreement import Agreement, agreement, margin, median_of, rank_ranges, top_of
from attnx.experiments.intervals import FEWEST, mean_of
from attnx.experiments.measuring import measured
from attnx.experiments.records import (
    Advance,
    Floats,
    HeadMap,
    Label,
    Options,
    Points,
    Progress,
    Result,
    Row,
    Table,
    Words,
)
from attnx.streaming.records import NAMES
from attnx.texts.sentence import Sentence

CLEAR, SOME = 0.8, 0.5  # of the rank correlation
SHOWN = "entropy"
# Each statistic once: without special tokens where it has that scope.
CHOSEN = (
    *(("content", name) for name in NAMES["content"]),
    *(("all", name) for name in NAMES["all"] if name not in NAMES["content"]),
)
STATISTICS = tuple(name for _, name in CHOSEN)


def run(encoder: Encoder, sentences: Sequence[Sentence], options: Options, progress: Progress) -> Result:
    """Measure the texts of each language on the model and on its twin with random weights."""
    languages = tuple(dict.fromkeys(sentence.language for sentence in sentences))
    if len(languages) < 2:
        raise InputError("experiment_languages")
    groups = np.array([languages.index(sentence.language) for sentence in sentences])
    progress.expect(2 * len(sentences))
    models = encoder, random_twin(encoder, options.seed)
    values, chance = (head_values(model, sentences, progress.advance) for model in models)
    own, twin = agreement(values, groups), agreement(chance, groups)
    if not np.isfinite((own.overall, twin.overall, median_of(own.overlap))).all():
        raise InputError("experiment_undefined")
    fewest = int(np.bincount(groups).min())
    half = margin(values, groups, options.seed) if fewest >= FEWEST else np.nan
    return Result(
        verdict_of(own.overall, half, twin.overall),
        {
            "rho": own.overall,
            "rho_chance": twin.overall,
            "n": fewest,
            "languages": ", ".join(languages),
            "overlap": median_of(own.overlap),
            "top": top_of(values),
            "even": top_of(values) / values.shape[1],
        },
        _exhibits(own, twin, languages, (encoder.info.layers, encoder.info.heads)),
        _notes(own, twin, half, fewest),
    )


def head_values(encoder: Encoder, sentences: Sequence[Sentence], advance: Advance) -> Floats:
    """Return every statistic of every head on each sentence, ``[n, L * H, S]``, NaN where not defined."""
    info = encoder.info
    values = np.full((len(sentences), info.layers * info.heads, len(CHOSEN)), np.nan)
    for scores in measured(encoder, sentences, (), advance):
        for place, (scope, name) in enumerate(CHOSEN):
            found = scores.values[scope][..., NAMES[scope].index(name)]
            values[scores.batch.numbers, :, place] = found.reshape(len(found), -1)
    return values


def verdict_of(overall: float, half: float, chance: float) -> str:
    """Return whether the languages rank the heads alike, and more so than with random weights."""
    if np.isnan(half):
        return "unclear"
    if overall >= CLEAR and overall - half > chance:
        return "holds"
    return "mixed" if overall >= SOME else "fails"


def _exhibits(
    own: Agreement, twin: Agreement, languages: tuple[str, ...], shape: tuple[int, int]
) -> tuple[Table, Table, HeadMap, Points]:
    pairs = list(combinations(range(len(languages)), 2))
    names = tuple(f"{languages[a]}–{languages[b]}" for a, b in pairs)
    columns: tuple[Label, ...] = (*names, Words("halves"), Words("twin"), Words("overlap"))
    chance = mean_of(twin.pairs.T)
    rows = [
        Row(Words(name), tuple(map(float, (*own.pairs[s], own.halves[s], chance[s], own.overlap[s]))))
        for s, name in enumerate(STATISTICS)
    ]
    median = [[median_of(own.correlation[:, a, b]) for b in range(len(languages))] for a in range(len(languages))]
    a, b = min(pairs, key=lambda pair: median[pair[0]][pair[1]])
    x, y = (own.means[group, :, STATISTICS.index(SHOWN)].reshape(shape) for group in (a, b))
    return (
        Table(
            "pairs",
            languages,
            ("number",) * len(languages),
            tuple(Row(Words(languages[i]), tuple(row)) for i, row in enumerate(median)),
        ),
        Table("statistics", columns, ("number",) * (len(columns) - 1) + ("share",), tuple(rows)),
        HeadMap("moves", rank_ranges(own.means).reshape(shape), "number"),
        Points(
            "entropies", (Words("nats", {"language": languages[a]}), Words("nats", {"language": languages[b]})), x, y
        ),
    )


def _notes(own: Agreement, twin: Agreement, half: float, fewest: int) -> tuple[Words, ...]:
    """Return how sure the answer is, and what could mislead."""
    if np.isnan(half):
        notes = [Words("small", {"n": fewest})]
    else:
        notes = [Words("interval", {"low": own.overall - half, "high": min(1.0, own.overall + half)})]
    notes.append(Words("lengths"))
    if twin.overall >= SOME:
        notes.append(Words("twin"))
    return tuple(notes)
