"""What the encoders pass on: who the model is, how a sentence was cut, what its heads attend to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from attnx.texts.sentence import Sentence


@dataclass(frozen=True)
class ModelInfo:
    """Which model made the numbers.

    `source` is ``builtin``, ``hub`` or ``local``; `revision` a commit or release where one is known; `dtype` the
    type of the stored weights (``q4_0`` for 4-bit): every computation is in float32.
    """

    name: str
    source: str
    revision: str | None
    type: str
    layers: int
    heads: int
    dtype: str


@dataclass(frozen=True)
class Token:
    """One token: its readable text, its half-open span of characters in the sentence, and what it is.

    `text` is cut from the sentence, never from the vocabulary; a special token keeps its own name and has an
    empty span. `word` counts the tokenizer's words from 0; None for special tokens.
    """

    text: str
    start: int
    end: int
    special: bool
    word: int | None


@dataclass(frozen=True)
class Encoding:
    """A sentence as the model sees it.

    `ids` and `tokens` have length T, special tokens included. `cls` and `sep` are the positions of the
    tokenizer's cls/sep (or bos/eos) tokens, empty where it has none. `truncated_from` is the length the
    encoding had before it was cut to what the model takes, None if it was not cut.
    """

    sentence: Sentence
    ids: tuple[int, ...]
    tokens: tuple[Token, ...]
    cls: tuple[int, ...]
    sep: tuple[int, ...]
    truncated_from: int | None


@dataclass(frozen=True)
class AttentionMap:
    """The attention weights of one sentence: float32 ``[layers, heads, query, key]``, every row summing to 1."""

    encoding: Encoding
    weights: torch.Tensor
