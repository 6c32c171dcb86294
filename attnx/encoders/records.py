"""What the encoders pass on: who the model is, how a sentence was cut, what its heads attend to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from attnx.texts.sentence import Sentence


# How many places back and ahead of itself a token of a layer can look; None is no limit.
Reach = tuple[int | None, int | None]
FULL_PRECISION = "float32"


@dataclass(frozen=True)
class ModelRequest:
    """Which model is wanted and what is allowed on the way to it.

    `name` is ``builtin``, a folder, or a Hugging Face id with an optional ``@revision``. `download` allows fetching
    an id that is not cached, `offline` forbids every request; `trust_remote_code` allows Python code that comes with
    the model, `allow_pickle` weights that can run code when loaded. `device` is ``auto``, ``cpu``, ``cuda`` or
    ``mps``; `dtype`, ``float32``, ``bfloat16`` or ``float16``, is what the model computes in.
    """

    name: str = "builtin"
    download: bool = False
    offline: bool = False
    trust_remote_code: bool = False
    allow_pickle: bool = False
    device: str = "auto"
    dtype: str = "float32"

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a reader must know of a model that was asked for in this way: that its weights are rounded."""
        return () if self.dtype == FULL_PRECISION else (Note("half_precision", {"dtype": self.dtype}),)


@dataclass(frozen=True)
class Note:
    """Something a reader must know of a model before its numbers: a message key and what the message names."""

    key: str
    values: Mapping[str, int | float | str] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelInfo:
    """Which model made the numbers.

    `source` is ``builtin``, ``hub`` or ``local``; `revision` a commit or release where one is known; `dtype` the
    type of the stored weights (``q4_0`` for 4-bit). `layers` and `heads` are those whose attention is shown.
    `reach` has one entry a layer, or none where every token of every layer can look at every other.
    """

    name: str
    source: str
    revision: str | None
    type: str
    layers: int
    heads: int
    dtype: str
    reach: tuple[Reach, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def causal(self) -> bool:
        """Tell whether no token can look at a later one."""
        return bool(self.reach) and all(ahead == 0 for _back, ahead in self.reach)

    @property
    def computed_in(self) -> str:
        """The type that the model computed its attention in."""
        given = (str(note.values["dtype"]) for note in self.notes if note.key == "half_precision")
        return next(given, FULL_PRECISION)


@dataclass(frozen=True)
class Token:
    """One token: its readable text, its half-open span of characters in the sentence, and what it is.

    `text` is cut from the sentence, never from the vocabulary; a special token keeps its own name and has an
    empty span. `word` counts words from 0, None for special tokens: a word ends where the tokenizer ends it and at
    white space, so unbroken text, as Chinese is, is one word where the tokenizer does not part it. `unknown`: it is
    the tokenizer's one token for all that is not in its vocabulary.
    """

    text: str
    start: int
    end: int
    special: bool
    word: int | None
    unknown: bool = False


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

    # Cached, which lets a subclass that knows it beforehand set it.
    @cached_property
    def special(self) -> tuple[bool, ...]:
        """Which tokens are special ``[T]``."""
        return tuple(token.special for token in self.tokens)


@dataclass(frozen=True)
class AttentionMap:
    """The attention weights of one sentence: float32 ``[layers, heads, query, key]``, every row summing to 1.

    `reach` is that of the model: what a token could look at.
    """

    encoding: Encoding
    weights: torch.Tensor
    reach: tuple[Reach, ...] = ()
