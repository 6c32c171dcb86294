"""One sentence's attention as the statistics see it: in one scope, in float64, with its tokens classified."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import torch

from attnx.encoders.reach import within_reach
from attnx.encoders.records import AttentionMap, Encoding, Reach, Token
from attnx.errors import AttnxError
from attnx.texts.sentence import is_visible

ROW_TOLERANCE = 1e-4
# A row with less attention than this on the tokens in scope says nothing about how it is shared among them.
MINIMUM_MASS = 1e-6


@dataclass(frozen=True)
class ScopeView:
    """The attention of every head over the R tokens in scope.

    `weights` is float64 ``[layers, heads, R, R]``; its rows sum to 1, and a row that does not count is all NaN.
    `valid` ``[layers, heads, R]`` tells the rows that count. `positions` ``[R]`` are the tokens' places in the
    whole encoding, ascending, and `offsets` key position minus query position, float64 ``[R, R]``. `visible`
    ``[layers, heads, R]`` counts the keys in scope that each query can look at. `classes` maps ``cls``, ``sep``,
    ``special`` and ``punctuation`` to boolean masks ``[R]``.
    """

    weights: torch.Tensor
    valid: torch.Tensor
    positions: torch.Tensor
    offsets: torch.Tensor
    visible: torch.Tensor
    classes: Mapping[str, torch.Tensor]

    @cached_property
    def entropies(self) -> torch.Tensor:
        """Shannon entropy of every row in nats, with 0 ln 0 = 0, float64 ``[layers, heads, R]``; three ask for it."""
        smallest = torch.finfo(torch.float64).tiny
        # Taking it from 0 gives a row with a single key 0.0, where a minus sign would give -0.0.
        return 0.0 - self.weights.clamp(min=smallest).log_().mul_(self.weights).sum(-1)

    def neighbors(self, offset: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return for each query the column of the token `offset` places on and whether it is in scope, ``[R]`` each."""
        wanted = self.positions + offset
        columns = torch.searchsorted(self.positions, wanted).clamp(max=len(wanted) - 1)
        return columns, self.positions[columns] == wanted

    def parts(self, size: int) -> Iterator["ScopeView"]:
        """Split the view into views of `size` heads in one row, layer after layer, the last one perhaps of fewer."""
        of_heads = (self.weights, self.valid, self.visible)
        pieces = (torch.split(values.flatten(0, 1)[None], size, 1) for values in of_heads)
        for weights, valid, visible in zip(*pieces, strict=True):
            yield replace(self, weights=weights, valid=valid, visible=visible)


def scope_view(attention: AttentionMap, scope: str) -> ScopeView:
    """Return the view of one scope: ``all`` tokens, or ``content`` without special tokens, rows renormalized.

    Rows are divided by their sum in float64 in both scopes, so that float32 rounding moves no bound.
    """
    encoding = attention.encoding
    kept = [i for i, token in enumerate(encoding.tokens) if scope == "all" or not token.special]
    positions = torch.tensor(kept, dtype=torch.int64)
    # A copy, in which the rows can be divided.
    weights = _at(attention.weights, positions).to(torch.float64, copy=True, memory_format=torch.contiguous_format)
    mass = weights.sum(-1)
    valid = mass >= MINIMUM_MASS
    weights.div_(mass[..., None]).masked_fill_(~valid[..., None], torch.nan)
    classes = {name: mask[positions] for name, mask in token_classes(encoding).items()}
    offsets = (positions - positions[:, None]).double()
    visible = visible_keys(offsets, attention.reach, len(weights))[:, None].expand_as(valid)
    return ScopeView(weights, valid, positions, offsets, visible, classes)


def _at(weights: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Return the rows and columns at ascending `positions`; a run without a gap is looked at where it is."""
    if len(positions) == 0 or positions[-1] - positions[0] >= len(positions):
        return weights[:, :, positions][..., positions]
    run = slice(int(positions[0]), int(positions[-1]) + 1)
    return weights[:, :, run, run]


def check_rows(weights: torch.Tensor) -> None:
    """Raise AttnxError unless every row is finite, not negative and sums to 1 (± 1e-4); layer and head count from 1."""
    totals = weights.sum(-1, dtype=torch.float64)
    # A comparison with NaN is false, so that an undefined weight fails this as well.
    good = ((totals - 1).abs() <= ROW_TOLERANCE) & ~(weights < 0).any(-1)
    if not good.all():
        layer, head, query = (~good).nonzero()[0].tolist()
        total = float(totals[layer, head, query])
        raise AttnxError("rows_not_normalized", layer=layer + 1, head=head + 1, total=round(total, 4))


def visible_keys(offsets: torch.Tensor, reach: Sequence[Reach], layers: int) -> torch.Tensor:
    """Return how many keys in scope each query of a layer can look at, int64 ``[layers, R]``.

    `offsets` is key position minus query position ``[R, R]``; `reach` says how far back and ahead a layer looks, and
    is empty where every layer sees everything.
    """
    limits = reach or [(None, None)] * layers
    return torch.stack([within_reach(offsets, own).sum(-1) for own in limits])


def token_classes(encoding: Encoding) -> dict[str, torch.Tensor]:
    """Return the boolean masks ``[T]`` of the token classes: ``cls``, ``sep``, ``special``, ``punctuation``."""
    tokens = encoding.tokens
    masks = {
        "cls": [i in encoding.cls for i in range(len(tokens))],
        "sep": [i in encoding.sep for i in range(len(tokens))],
        "special": [token.special for token in tokens],
        "punctuation": [is_punctuation(token, encoding.sentence.text) for token in tokens],
    }
    return {name: torch.tensor(mask, dtype=torch.bool) for name, mask in masks.items()}


def is_punctuation(token: Token, text: str) -> bool:
    """Tell whether every visible character of the token's span is of Unicode category P; special tokens are not."""
    return not token.special and only_punctuation(text[token.start : token.end])


@lru_cache(1 << 16)
def only_punctuation(part: str) -> bool:
    """Tell whether every visible character of a part of a text, of which there is one, is of Unicode category P."""
    visible = [character for character in part if is_visible(character)]
    return bool(visible) and all(unicodedata.category(c)[0] == "P" for c in visible)
