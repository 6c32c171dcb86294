"""One head, step by step: the arrays that it computes, and what its weights say of what tokens give."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from attnx.encoders.baseline import random_twin
from attnx.encoders.encoder import Encoder
from attnx.encoders.projections import Head
from attnx.encoders.records import Encoding
from attnx.errors import InputError
from attnx.experiments.powers import rounded_up
from attnx.experiments.records import (
    Floats,
    HeadMap,
    Label,
    Options,
    Progress,
    Result,
    Row,
    Table,
    TokenMap,
    TokenMaps,
    Words,
)
from attnx.experiments.steps import Recomputed, Steps, follow, recompute
from attnx.naming import head_name
from attnx.texts.sentence import Sentence

SHOWN = 32  # tokens of the maps and of the worked row
LITTLE, LESS = 0.5, 0.9  # of the weight of special tokens, by norms


def run(encoder: Encoder, sentences: Sequence[Sentence], options: Options, progress: Progress) -> Result:
    """Recompute every head on the first text and show one; the twin with random weights is the null."""
    _check_head(encoder, options.head)
    encoding = encoder.encode(sentences[0])
    progress.expect(2)
    found = recompute(encoder, encoding)
    progress.advance(1)
    twin = recompute(random_twin(encoder, options.seed), encoding)
    progress.advance(1)
    layer, head = options.head or typical(found)
    shares = special_shares(found)
    numbers = _numbers(found, shares, special_shares(twin), (layer, head))
    steps = follow(found.heads[layer][head])
    return Result(
        verdict_of(numbers),
        numbers,
        (
            _shapes(found.heads[layer][head], steps),
            *(_pictures(encoding, steps, head_name(layer, head)) if len(encoding.ids) <= SHOWN else ()),
            HeadMap("shift", shares[1] - shares[0], "share", signed=True),
        ),
        _notes(encoding, len(sentences)),
    )


def _check_head(encoder: Encoder, head: tuple[int, int] | None) -> None:
    """Raise InputError (``head_missing``) for a head that the model does not have."""
    layers, heads = encoder.info.layers, encoder.info.heads
    if head is not None and not (head[0] < layers and head[1] < heads):
        raise InputError("head_missing", layer=head[0] + 1, head=head[1] + 1, layers=layers, heads=heads)


def typical(found: Recomputed) -> tuple[int, int]:
    """Return the head in the middle when all are ordered by entropy, of two the one of less."""
    entropies = torch.special.entr(found.weights).sum(-1).mean(-1)
    order = entropies.flatten().argsort(stable=True)
    layer, head = divmod(int(order[(len(order) - 1) // 2]), entropies.shape[1])
    return layer, head


def special_shares(found: Recomputed) -> tuple[Floats, Floats]:
    """Return the share of special tokens in the weights of each head, and in those by norms, ``[L, H]`` each."""
    special = torch.tensor(found.encoding.special)
    raw, norms = (weights[..., special].double().sum(-1).mean(-1).numpy() for weights in (found.weights, found.norms))
    return raw, norms


def verdict_of(numbers: dict[str, float | int | str]) -> str:
    """Return whether special tokens give much less than their weight says."""
    raw, norms = float(numbers["all_raw"]), float(numbers["all_norms"])
    if raw == 0:
        return "unclear"
    return "holds" if norms <= LITTLE * raw else "mixed" if norms <= LESS * raw else "fails"


def _numbers(
    found: Recomputed, shares: tuple[Floats, Floats], chance: tuple[Floats, Floats], head: tuple[int, int]
) -> dict[str, float | int | str]:
    (raw, norms), (chance_raw, chance_norms) = shares, chance
    return {
        "head": head_name(*head),
        "difference": rounded_up(found.difference),
        "n": raw.size,
        "tokens": len(found.encoding.ids),
        "raw": float(raw[head]),
        "norms": float(norms[head]),
        "all_raw": float(raw.mean()),
        "all_norms": float(norms.mean()),
        "less": int((norms < raw).sum()),
        "chance_raw": float(chance_raw.mean()),
        "chance_norms": float(chance_norms.mean()),
    }


def _shapes(head: Head, steps: Steps) -> Table:
    """Return every array in the order of its making: how it is made, its shape, its smallest and largest number."""
    arrays = (
        ("input", "X", head.input),
        ("query_matrix", "W_Q", head.query.weight),
        ("key_matrix", "W_K", head.key.weight),
        ("value_matrix", "W_V", head.value.weight),
        ("queries", "Q = X W_Q + b_Q", steps.query),
        ("keys", "K = X W_K + b_K", steps.key),
        ("values", "V = X W_V + b_V", steps.value),
        ("products", "Q K^T", steps.products),
        ("scaled", f"S = Q K^T / √{steps.key.shape[1]}", steps.scores),
        ("mask", "M", steps.mask),
        ("weights", "P = softmax(S + M)", steps.weights),
        ("context", "C = P V", steps.context),
        ("output_matrix", "W_O", head.output),
        ("written", "C W_O", steps.written),
    )
    rows = tuple(
        Row(Words(key), (formula, " × ".join(map(str, array.shape)), float(array.min()), float(array.max())))
        for key, formula, array in arrays
    )
    columns = tuple(Words(name) for name in ("formula", "shape", "smallest", "largest"))
    return Table("steps", columns, ("formula", "number", "number", "number"), rows)


def _pictures(encoding: Encoding, steps: Steps, name: str) -> tuple[TokenMaps | Table, ...]:
    """Return the square arrays as maps, and one row of them in numbers."""
    tokens = tuple(token.text for token in encoding.tokens)

    def maps(arrays: dict[str, torch.Tensor]) -> tuple[TokenMap, ...]:
        return tuple(
            TokenMap(Words(label, {"head": name}), array.double().numpy(), tokens) for label, array in arrays.items()
        )

    return (
        TokenMaps("scores", maps({"products_map": steps.products, "scores_map": steps.scores}), True, "number"),
        _worked_row(encoding, steps),
        TokenMaps("weights", maps({"weights_map": steps.weights, "norms_map": steps.norms})),
    )


def _worked_row(encoding: Encoding, steps: Steps) -> Table:
    """Return the row that is spread most widely, special tokens left out, key by key."""
    entropies = torch.special.entr(steps.weights).sum(-1)
    query = int((entropies - 1e9 * torch.tensor(encoding.special)).argmax())
    exponents = (steps.scores[query] - steps.scores[query].max()).exp()
    rows = []
    for i, token in enumerate(encoding.tokens):
        own = (
            steps.products[query, i],
            steps.scores[query, i],
            exponents[i],
            steps.weights[query, i],
            steps.lengths[i],
        )
        label: Label = Words("looking", {"token": token.text}) if i == query else token.text
        rows.append(Row(label, (*map(float, own), float(steps.norms[query, i]))))
    columns = tuple(Words(name) for name in ("product", "score", "exponent", "weight", "length", "norm"))
    return Table("row", columns, ("number", "number", "number", "share", "number", "share"), tuple(rows))


def _notes(encoding: Encoding, texts: int) -> tuple[Words, ...]:
    """Return what could mislead: texts that were left out, maps that were, and a model without special tokens."""
    notes = {
        "first_only": texts > 1,
        "no_maps": len(encoding.ids) > SHOWN,
        "no_special": not any(encoding.special),
    }
    return (*(Words(key) for key, here in notes.items() if here), Words("one_text"))
