"""An encoder: a model with its tokenizer, that turns a sentence into an attention map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from attnx.encoders.adapters import Adapter
from attnx.encoders.attending import attend
from attnx.encoders.checks import check_rows, check_shapes, tolerance
from attnx.encoders.folder import ModelFolder, first_line
from attnx.encoders.records import AttentionMap, Encoding, ModelInfo
from attnx.encoders.tokenizing import tokenize
from attnx.errors import AttnxError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from attnx.texts.sentence import Sentence


# Weights of all layers that one batch may hold.
HELD = 1 << 26


@dataclass(frozen=True)
class Encoder:
    """A loaded model with its tokenizer, and what is known of it.

    `max_tokens` is how many tokens it takes, None if any number; `adapter` what its architecture needs; `apart` tells
    that padding changes its weights, so that texts are run one by one; `folder` is where it was loaded from, None for
    the built-in model.
    """

    model: torch.nn.Module
    tokenizer: PreTrainedTokenizerBase
    info: ModelInfo
    max_tokens: int | None
    adapter: Adapter
    apart: bool = False
    folder: ModelFolder | None = None

    def encode(self, sentence: Sentence, long: str = "cut") -> Encoding:
        """Return the sentence as tokens, cut at the model's limit; see `attnx.encoders.tokenizing.tokenize`."""
        return tokenize(self.tokenizer, sentence, self.max_tokens, long)

    def observe(self, encoding: Encoding) -> AttentionMap:
        """Run one forward pass and return the attention weights of every head."""
        return self.observe_batch([encoding])[0]

    def observe_batch(self, encodings: Sequence[Encoding]) -> tuple[AttentionMap, ...]:
        """Run several sentences at once, padded to the longest, and return a map for each.

        Raises InputError when the model returns something that is not attention weights.
        """
        if self.apart and len(encodings) > 1:
            return tuple(self.observe(encoding) for encoding in encodings)
        layers = self._layers(encodings)
        maps = []
        for i, encoding in enumerate(encodings):
            size = len(encoding.ids)
            weights = torch.stack([layer[i, :, :size, :size] for layer in layers])
            maps.append(AttentionMap(encoding, weights, self.info.reach))
        return tuple(maps)

    def _layers(self, encodings: Sequence[Encoding]) -> list[torch.Tensor]:
        """Return checked weights, float32 ``[batch, heads, T, T]`` a layer.

        Where the model computes in half precision or keeps a part for a sink, rows are rescaled to sum to 1.
        """
        sizes = [len(encoding.ids) for encoding in encodings]
        languages = [encoding.sentence.language for encoding in encodings]
        try:
            layers = attend(self.model, self.adapter, [encoding.ids for encoding in encodings], languages)
        except (RuntimeError, ValueError, TypeError, LookupError) as error:
            reason = first_line(error)
            raise AttnxError("forward_failed", type=self.info.type, tokens=max(sizes), reason=reason) from error
        check_shapes(layers, len(sizes), max(sizes), self.info.type)
        layers = [layer.cpu().float() for layer in layers]
        mask = torch.arange(max(sizes)) < torch.tensor(sizes)[:, None]
        check_rows(layers, mask, tolerance(self.model), self.info.type, below=self.rescaled)
        if self.rescaled or next(self.model.parameters()).dtype != torch.float32:
            return [layer / layer.sum(-1, keepdim=True) for layer in layers]
        return layers

    @property
    def rescaled(self) -> bool:
        """Tell whether a learned sink takes a part of each row, so that only its shares of the rest can be shown."""
        return any(note.key == "sinks" for note in self.info.notes)


def rows_at_once(encoder: Encoder, tokens: int) -> int:
    """Return how many texts of so many tokens a batch may have, so that their attention fits into memory."""
    return max(1, HELD // (encoder.info.layers * encoder.info.heads * tokens**2))
