"""What masks do: experiment E9.

A mask adds a fill, −∞ or a large negative number, to the scores that may not count. Every text is lengthened by
padding, as beside a longer one in a batch, and run without a mask and under three: ``padding`` hides the padding,
``look_ahead`` hides from each token those after it, and ``combined`` is their sum. The first is compared with the same
text without padding, the others with that text under the look-ahead mask. Only rows of real tokens count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from attnx.encoders.baseline import random_twin
from attnx.encoders.checks import tolerance
from attnx.encoders.encoder import Encoder
from attnx.encoders.interventions.masks import look_ahead
from attnx.encoders.interventions.records import Mask, Variant
from attnx.encoders.records import Encoding
from attnx.errors import InputError
from attnx.experiments.padded import FILLS, fill_table, lengthened, masks, undefined_rows, weights_under
from attnx.experiments.powers import rounded_up
from attnx.experiments.records import (
    Advance,
    Curve,
    Curves,
    Floats,
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
from attnx.texts.sentence import Sentence

MASKS = ("padding", "look_ahead", "combined")
# The labels of their maps.
DRAWN = ("mask_padding", "mask_look_ahead", "mask_combined")
UNDER = ("under_padding", "under_look_ahead", "under_combined")
PADDING = 8  # tokens
SAME = 1e-5  # of a weight, for a model that computes in float32
MILLION = 1e6
SHOWN, SHOWN_PADDING = 20, 3  # tokens of the maps that are shown


@dataclass(frozen=True)
class Measured:
    """What came of each text n, ``[n]`` or for each mask and fill ``[n, 3, 3]``.

    `padded` and `later` are the shares of attention that tokens give to padding and to later tokens without a mask,
    and `even` what padding would get if all tokens got the same. `leaks` is the largest weight on a hidden token, of
    all layers and heads, and `differences` the largest difference of a weight from the text alone; an undefined weight
    counts as 1.
    """

    padded: Floats
    later: Floats
    even: Floats
    leaks: Floats
    differences: Floats


def run(encoder: Encoder, sentences: Sequence[Sentence], options: Options, progress: Progress) -> Result:
    """Measure every text without a mask and under each mask with each fill."""
    limit = encoder.max_tokens
    encodings = [encoder.encode(sentence) for sentence in sentences]
    kept = [encoding for encoding in encodings if limit is None or len(encoding.ids) + PADDING <= limit]
    if not kept:
        raise InputError("masks_no_room", limit=limit or 0, padding=PADDING)
    progress.expect(2 * len(kept))
    found, twin = (measure(one, kept, progress.advance) for one in (encoder, random_twin(encoder, options.seed)))
    undefined, maps = undefined_rows(encoder, kept[0]), _maps(encoder, encodings)
    exact = next(encoder.model.parameters()).dtype == torch.float32
    return Result(
        verdict_of(found, SAME if exact else tolerance(encoder.model)),
        {
            "n": len(kept),
            "padding": PADDING,
            "padded": float(found.padded.mean()),
            "twin_padded": float(twin.padded.mean()),
            "even": float(found.even.mean()),
            "later": float(found.later.mean()),
            "leak": rounded_up(float(found.leaks.max())),
            "difference": rounded_up(float(found.differences.max())),
            "first": float(undefined[0, 0]),
            "last": float(undefined[0, -1]),
        },
        (_cases(found), _spreading(undefined), fill_table(), *maps),
        _notes(len(encodings) - len(kept), drawn=bool(maps)),
    )


def _notes(left_out: int, *, drawn: bool) -> tuple[Words, ...]:
    """Return what is missing: texts without room for padding, and maps where no text is short enough."""
    no_room = (Words("no_room", {"n": left_out}),) if left_out else ()
    return no_room if drawn else (*no_room, Words("no_maps", {"most": SHOWN - SHOWN_PADDING}))


def measure(encoder: Encoder, encodings: Sequence[Encoding], advance: Advance) -> Measured:
    """Run every text alone, alone under a look-ahead mask, with padding, and so under every mask with every fill."""
    texts = []
    for encoding in encodings:
        texts.append(_measure(encoder, encoding))
        advance(1)
    return Measured(*(np.array(values) for values in zip(*texts, strict=True)))


def _measure(encoder: Encoder, encoding: Encoding) -> tuple[float, float, float, Floats, Floats]:
    size = len(encoding.ids)
    longer = lengthened(encoder, encoding, PADDING)
    hidden = [place >= size for place in range(len(longer.ids))]
    filled = [masks(hidden, fill) for fill in FILLS.values()]
    variants = [Variant(mask=Mask(one[mask])) for mask in MASKS for one in filled]
    alone, ahead = weights_under(encoder, encoding, [Variant(), Variant(mask=Mask(look_ahead(size)))])
    free, *masked = weights_under(encoder, longer, [Variant(), *variants])[..., :size, :].nan_to_num(nan=1)
    leaks, differences = np.empty((len(MASKS), len(FILLS))), np.empty((len(MASKS), len(FILLS)))
    for i, weights in enumerate(masked):
        place = divmod(i, len(FILLS))
        mask = MASKS[place[0]]
        leaks[place] = weights[..., filled[0][mask][:size] < 0].max()
        differences[place] = (weights[..., :size] - (alone if mask == "padding" else ahead)).abs().max()
    later = alone.double().triu(1).sum(-1).mean()
    return float(free[..., size:].double().sum(-1).mean()), float(later), PADDING / len(hidden), leaks, differences


def verdict_of(found: Measured, same: float) -> str:
    """Return whether hidden tokens get exactly nothing, and the others what they get without them."""
    passed = not found.leaks.any(), bool(found.differences.max() <= same)
    return "holds" if all(passed) else "mixed" if any(passed) else "fails"


def _cases(found: Measured) -> Table:
    """Return the worst of all texts for each mask and fill, in millionths."""
    rows = []
    for i, mask in enumerate(MASKS):
        for j, fill in enumerate(FILLS):
            leak, difference = (float(values[:, i, j].max()) for values in (found.leaks, found.differences))
            cells = (Words("nothing") if leak == 0 else leak * MILLION, difference * MILLION)
            rows.append(Row(Words(mask, {"fill": fill}), cells))
    return Table("cases", (Words("leak"), Words("difference")), ("number", "number"), tuple(rows))


def _spreading(undefined: Floats) -> Curves:
    """Return the share of undefined rows in each layer, one line for all fills that have the same."""
    layers = np.arange(1.0, undefined.shape[1] + 1)
    alike: dict[tuple[float, ...], list[str]] = {}
    for fill, shares in zip(FILLS, undefined.tolist(), strict=True):
        alike.setdefault(tuple(shares), []).append(fill)
    curves = tuple(
        Curve(Words("fill", {"fill": ", ".join(fills)}), layers, np.array(shares)) for shares, fills in alike.items()
    )
    return Curves("spreading", (Words("layer_axis"), Words("undefined_axis")), curves)


def _maps(encoder: Encoder, encodings: Sequence[Encoding]) -> list[TokenMaps]:
    """Return the masks of a short text, and the maps under them of the head that looks most at what they hide."""
    limit = min(SHOWN, encoder.max_tokens or SHOWN) - SHOWN_PADDING
    encoding = next((one for one in encodings if len(one.ids) <= limit), None)
    if encoding is None:
        return []
    size = len(encoding.ids)
    longer = lengthened(encoder, encoding, SHOWN_PADDING)
    made = masks([place >= size for place in range(len(longer.ids))], -torch.inf)
    tokens = tuple(token.text for token in longer.tokens)
    variants = [Variant(), *(Variant(mask=Mask(made[mask])) for mask in MASKS)]
    weights = weights_under(encoder, longer, variants).double().nan_to_num()
    losses = (weights[0] * (made["combined"] < 0))[..., :size, :].sum((-2, -1)).numpy()
    layer, head = divmod(int(losses.argmax()), losses.shape[1])
    named = {"head": head_name(layer, head)}
    heads = [(Words(name, named), weights[i, layer, head].numpy()) for i, name in enumerate(("free", *UNDER))]
    drawn = [(Words(name), (mask == 0).double().numpy()) for name, mask in zip(DRAWN, made.values(), strict=True)]
    return [
        TokenMaps(key, tuple(TokenMap(label, values, tokens) for label, values in maps))
        for key, maps in (("masks", drawn), ("maps", heads))
    ]
