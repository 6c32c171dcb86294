"""What if 12 heads were 2: experiment E5.

The parameters of a layer's H heads are read as those of g wider heads; see `attnx.experiments.merging`. The claim is
that the weights then collapse to the diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from attnx.encoders.baseline import random_twin
from attnx.encoders.encoder import Encoder
from attnx.encoders.records import AttentionMap, Encoding
from attnx.experiments.divergence import between
from attnx.experiments.merging import Merged, divisors, merge_heads
from attnx.experiments.records import (
    Advance,
    Curve,
    Curves,
    Floats,
    HeadMap,
    Options,
    Progress,
    Result,
    Row,
    Table,
    TokenMap,
    TokenMaps,
    Words,
)
from attnx.naming import head_name
from attnx.statistics.rows import entropy, self_share, special_share
from attnx.statistics.view import scope_view
from attnx.texts.sentence import Sentence

COLLAPSED = 0.5  # self share of a merged head
RISE = 0.05  # of the mean self share
SHOWN = 20  # tokens of the maps that are shown
FEW = 10  # texts
HELD = 1 << 22  # weights of the layers that are measured at once
NORMAL = 1.96  # standard errors to either side of a mean, for 95 %
WAYS = ("again", "place")
COLUMNS = ("self_all", "self_content", "special", "entropy", "to_mean")
UNITS = ("share", "share", "share", "nats", "nats")


def run(encoder: Encoder, sentences: Sequence[Sentence], options: Options, progress: Progress) -> Result:
    """Measure the model and its twin with random weights under every number of heads that divides its own."""
    numbers = divisors(encoder)
    encodings = [encoder.encode(sentence) for sentence in sentences]
    twin = random_twin(encoder, options.seed)
    progress.expect(2 * len(numbers) * len(encodings))
    found, chance = (measure(one, encodings, numbers, progress.advance) for one in (encoder, twin))
    at = numbers.index(chosen(numbers))
    own, merged = found[:, 0, 0, 0].mean(0), found[:, at, 0, 0].mean(0)
    maps = _maps(encoder, encodings, numbers[at], merged)
    return Result(
        verdict_of(own, merged),
        _numbers(found, chance, numbers, at),
        (
            _curves(found, chance, numbers),
            HeadMap("merged_self", merged, "share"),
            _table(found, numbers),
            *maps,
        ),
        (*_notes(found, numbers, at), *(() if maps else (Words("no_maps", {"most": SHOWN}),))),
    )


def chosen(numbers: Sequence[int]) -> int:
    """Return the number of heads that the verdict is about: 2, or the fewest of several, or 1."""
    return min((number for number in numbers[1:] if number > 1), default=1)


def measure(encoder: Encoder, encodings: Sequence[Encoding], numbers: Sequence[int], advance: Advance) -> Floats:
    """Return the statistics of every text under every number of heads, ``[texts, numbers, WAYS, COLUMNS, L, H]``."""
    return np.array(
        [
            [statistics(merged, encoding) for merged in merge_heads(encoder, encoding, numbers, advance)]
            for encoding in encodings
        ]
    )


def statistics(merged: Merged, encoding: Encoding) -> Floats:
    """Return self share over all tokens and without special ones, special share, entropy and JS to the mean map."""
    found = []
    for weights in (merged.again, merged.place):
        size = max(1, HELD // weights[0].numel())
        pairs = zip(torch.split(weights, size), torch.split(merged.mean, size), strict=True)
        found.append(np.concatenate([_of_layers(own, mean, encoding) for own, mean in pairs], 1))
    return np.array(found)


def _of_layers(weights: torch.Tensor, mean: torch.Tensor, encoding: Encoding) -> Floats:
    attention = AttentionMap(encoding, weights)
    every, content = (scope_view(attention, scope) for scope in ("all", "content"))
    rows = (self_share(every), self_share(content), special_share(every), entropy(every))
    return np.array([*(row.nanmean(-1).numpy() for row in rows), between(weights, mean).numpy()])


def verdict_of(own: Floats, merged: Floats) -> str:
    """Return whether the self shares of merged heads ``[L, H]`` are those of a collapse, or rise at least."""
    collapsed = merged >= COLLAPSED
    if collapsed.mean() >= COLLAPSED:
        return "holds"
    return "mixed" if collapsed.any() or merged.mean() - own.mean() >= RISE else "fails"


def _numbers(found: Floats, chance: Floats, numbers: Sequence[int], at: int) -> dict[str, float | int | str]:
    again, place = (found[:, at, way, 0].mean(0) for way in (0, 1))
    members = numbers[0] // numbers[at]
    return {
        "n": len(found),
        "heads": numbers[0],
        "groups": numbers[at],
        "own": float(found[:, 0, 0, 0].mean()),
        "again": float(again.mean()),
        "place": float(place.mean()),
        "own_entropy": float(found[:, 0, 0, 3].mean()),
        "again_entropy": float(found[:, at, 0, 3].mean()),
        "collapsed": int((again >= COLLAPSED).sum()) // members,
        "total": again.size // members,
        "limit": COLLAPSED,
        "chance_own": float(chance[:, 0, 0, 0].mean()),
        "chance": float(chance[:, at, 0, 0].mean()),
    }


def _curves(found: Floats, chance: Floats, numbers: Sequence[int]) -> Curves:
    """Return the mean self share against the number of heads."""
    x = np.array(numbers, np.float64)
    shares = [
        *((name, found[:, :, way, 0]) for way, name in enumerate(WAYS)),
        ("mean", found[:, [0] * len(numbers), 0, 0]),  # a mean of maps has the mean of their diagonals
        ("by_chance", chance[:, :, 0, 0]),
    ]
    curves = (Curve(Words(name), x, share.mean((0, 2, 3))) for name, share in shares)
    return Curves("by_number", (Words("groups"), Words("self_axis")), tuple(curves))


def _half(texts: Floats) -> Floats:
    """Return half the width of the 95 % interval of a mean over texts, the first dimension."""
    return np.asarray(NORMAL * texts.std(0, ddof=1) / np.sqrt(len(texts)))


def _table(found: Floats, numbers: Sequence[int]) -> Table:
    """Return the means over texts and heads for every number of heads, merged in both ways."""
    means = torch.from_numpy(found).nanmean((0, 4, 5)).numpy()
    rows = [Row(Words("unmerged", {"n": numbers[0]}), tuple(map(float, means[0, 0])))]
    for at, groups in enumerate(numbers[1:], 1):
        for way, name in enumerate(("run_again", "in_place")):
            rows.append(Row(Words(name, {"n": groups}), tuple(map(float, means[at, way]))))
    return Table("groups", tuple(map(Words, COLUMNS)), UNITS, tuple(rows))


def _maps(encoder: Encoder, encodings: Sequence[Encoding], groups: int, shares: Floats) -> tuple[TokenMaps, ...]:
    """Return the merged head with the largest self share in a short text: its members' mean, and merged both ways."""
    encoding = next((one for one in encodings if len(one.ids) <= SHOWN), None)
    if encoding is None:
        return ()
    layer, head = divmod(int(shares.argmax()), shares.shape[1])
    [_own, merged] = merge_heads(encoder, encoding, (encoder.info.heads, groups), lambda _: None)
    members = encoder.info.heads // groups
    first = head // members * members
    names = {"first": head_name(layer, first), "last": head_name(layer, first + members - 1)}
    tokens = tuple(token.text for token in encoding.tokens)
    weights: dict[str, torch.Tensor] = {
        "map_mean": merged.mean,
        "map_place": merged.place,
        "map_again": merged.again,
    }
    maps = [TokenMap(Words(key, names), own[layer, head].double().numpy(), tokens) for key, own in weights.items()]
    return (TokenMaps("most_self", tuple(maps)),)


def _notes(found: Floats, numbers: Sequence[int], at: int) -> tuple[Words, ...]:
    """Return where the attention goes instead, then the interval of the change, or that texts are few."""
    texts = found.mean((4, 5))
    before, after = texts.mean(0)[0, 0], texts.mean(0)[at]
    notes = []
    for key, column in (("specials", 2), ("without", 1)):
        shares = {"own": before[column], "again": after[0, column], "place": after[1, column]}
        if np.isfinite(list(shares.values())).all():
            notes.append(Words(key, {"groups": numbers[at], **{name: float(x) for name, x in shares.items()}}))
    if len(found) < FEW:
        return (*notes, Words("small", {"n": len(found)}))
    change = texts[:, at, 0, 0] - texts[:, 0, 0, 0]
    middle, half = float(change.mean()), float(_half(change))
    return (*notes, Words("interval", {"n": len(found), "low": 100 * (middle - half), "high": 100 * (middle + half)}))
