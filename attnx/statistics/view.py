"""One sentence's attention as the statistics see it: in one scope, in float64, with its tokens classified."""

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import torch

from attnx.encoders.records import AttentionMap, Encoding, Token
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
    whole encoding, ascending. `visible` ``[R]`` counts the keys in scope that each query can see. `classes` maps
    ``cls``, ``sep``, ``special`` and ``punctuation`` to boolean masks ``[R]``.
    """

    weights: torch.Tensor
    valid: torch.Tensor
    positions: torch.Tensor
    visible: torch.Tensor
    classes: Mapping[str, torch.Tensor]

    @property
    def offsets(self) -> torch.Tensor:
        """Key position minus query position, int64 ``[R, R]``."""
        return self.positions - self.positions[:, None]

    def neighbors(self, offset: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return for each query the column of the token `offset` places on and whether it is in scope, ``[R]`` each."""
        wanted = self.positions + offset
        columns = torch.searchsorted(self.positions, wanted).clamp(max=len(wanted) - 1)
        return columns, self.positions[columns] == wanted

    def layers(self, size: int) -> Iterator["ScopeView"]:
        """Split the view into views of `size` layers, the last one perhaps of fewer."""
        for weights, valid in zip(torch.split(self.weights, size), torch.split(self.valid, size), strict=True):
            yield replace(self, weights=weights, valid=valid)


def scope_view(attention: AttentionMap, scope: str) -> ScopeView:
    """Return the view of one scope: ``all`` tokens, or ``content`` without special tokens, rows renormalized.

    Rows are divided by their sum in float64 in both scopes, so that float32 rounding moves no bound.
    Raises AttnxError when a row of the map is no distribution.
    """
    check_rows(attention.weights)
    encoding = attention.encoding
    kept = [i for i, token in enumerate(encoding.tokens) if scope == "all" or not token.special]
    positions = torch.tensor(kept, dtype=torch.int64)
    weights = attention.weights[:, :, positions][..., positions].double()
    mass = weights.sum(-1)
    valid = mass >= MINIMUM_MASS
    weights.div_(mass[..., None]).masked_fill_(~valid[..., None], torch.nan)
    size = len(kept)
    visible = torch.arange(1, size + 1) if is_causal(attention.weights) else torch.full((size,), size)
    classes = {name: mask[positions] for name, mask in token_classes(encoding).items()}
    return ScopeView(weights, valid, positions, visible, classes)


def check_rows(weights: torch.Tensor) -> None:
    """Raise AttnxError unless every row is finite, not negative and sums to 1 (± 1e-4); layer and head count from 1."""
    totals = weights.sum(-1, dtype=torch.float64)
    # A comparison with NaN is false, so that an undefined weight fails this as well.
    good = ((totals - 1).abs() <= ROW_TOLERANCE) & ~(weights < 0).any(-1)
    if not good.all():
        layer, head, query = (~good).nonzero()[0].tolist()
        total = float(totals[layer, head, query])
        raise AttnxError("rows_not_normalized", layer=layer + 1, head=head + 1, total=round(total, 4))


def is_causal(weights: torch.Tensor) -> bool:
    """Tell whether no query of any head gives weight to a later key, which is how a causal model looks."""
    return not any(bool(layer.triu(1).any()) for layer in weights)


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
    visible = [character for character in text[token.start : token.end] if is_visible(character)]
    return not token.special and bool(visible) and all(unicodedata.category(c)[0] == "P" for c in visible)
