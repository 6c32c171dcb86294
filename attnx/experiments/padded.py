"""A text with padding after it, the masks for it, and what a mask can do at worst: hide everything from a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from attnx.encoders.encoder import Encoder, rows_at_once
from attnx.encoders.interventions.masks import look_ahead, padding
from attnx.encoders.interventions.records import Mask, Variant
from attnx.encoders.interventions.run import intervene
from attnx.encoders.records import Encoding, Token
from attnx.experiments.records import Floats, Row, Table, Words

# What masks are filled with, and how it is written.
FILLS = {"−∞": -torch.inf, "−10⁹": -1e9, "min": torch.finfo(torch.float32).min}
TYPES = (torch.float32, torch.float16, torch.bfloat16)


def lengthened(encoder: Encoder, encoding: Encoding, tokens: int) -> Encoding:
    """Return the text with so many tokens of padding, which nothing hides yet."""
    name, own = encoder.tokenizer.pad_token, encoder.tokenizer.pad_token_id
    end = len(encoding.sentence.text)
    token = Token(str(name or "[PAD]"), end, end, special=True, word=None)
    return replace(
        encoding, ids=(*encoding.ids, *[int(own or 0)] * tokens), tokens=(*encoding.tokens, *[token] * tokens)
    )


def masks(hidden: Sequence[bool], fill: float) -> dict[str, torch.Tensor]:
    """Return the three masks ``[T, T]`` of a text whose padding is `hidden`."""
    own, ahead = padding(hidden, fill), look_ahead(len(hidden), fill)
    return {"padding": own, "look_ahead": ahead, "combined": own + ahead}


def weights_under(encoder: Encoder, encoding: Encoding, variants: Sequence[Variant]) -> torch.Tensor:
    """Return the weights of a text under each variant, ``[V, L, H, T, T]``."""
    size = rows_at_once(encoder, len(encoding.ids))
    found = []
    for start in range(0, len(variants), size):
        some = variants[start : start + size]
        found.append(torch.stack(intervene(encoder, [encoding] * len(some), some).attention, 1))
    return torch.cat(found)


def undefined_rows(encoder: Encoder, encoding: Encoding) -> Floats:
    """Return the share of rows that are undefined in each layer for each fill, ``[fills, L]``.

    The first token is hidden as padding on the left would be, and the look-ahead mask hides the others from it.
    """
    hidden = [True, *[False] * (len(encoding.ids) - 1)]
    variants = [Variant(mask=Mask(masks(hidden, fill)["combined"])) for fill in FILLS.values()]
    undefined = weights_under(encoder, encoding, variants).isnan().any(-1)
    return np.asarray(undefined.double().mean((-2, -1)))


def fill_table() -> Table:
    """Return what softmax makes of a row that is hidden as a whole, for each fill and type of numbers."""
    rows = []
    scores = torch.linspace(-4, 4, 9)
    for name in (*FILLS, "min + min"):
        cells = []
        for kind in TYPES:
            smallest = torch.finfo(kind).min
            fills = {"min": [smallest], "min + min": [smallest] * 2}.get(name) or [FILLS[name]]
            masked = sum((torch.tensor(fill).to(kind) for fill in fills), scores.to(kind))
            weights = masked.softmax(-1)
            cells.append(Words("undefined" if weights.isnan().any() else "even_row"))
        rows.append(Row(Words("fill", {"fill": name}), tuple(cells)))
    return Table("fills", tuple(str(kind).removeprefix("torch.") for kind in TYPES), ("number",) * 3, tuple(rows))
