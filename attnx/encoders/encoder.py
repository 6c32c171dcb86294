"""An encoder: a model with its tokenizer, that turns a sentence into an attention map."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnx.encoders.records import AttentionMap, Encoding, ModelInfo, ModelRequest
from attnx.encoders.tokenizing import tokenize
from attnx.errors import AttnxError, InputError

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase

    from attnx.texts.sentence import Sentence

ROW_SUM_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Encoder:
    """A loaded model, its tokenizer, what it is called, and how many tokens it takes (None: no limit)."""

    model: torch.nn.Module
    tokenizer: PreTrainedTokenizerBase
    info: ModelInfo
    max_tokens: int | None

    def encode(self, sentence: Sentence, on_long: str = "cut") -> Encoding:
        """Return the sentence as tokens, cut at the model's limit; see `attnx.encoders.tokenizing.tokenize`."""
        return tokenize(self.tokenizer, sentence, self.max_tokens, on_long)

    def observe(self, encoding: Encoding) -> AttentionMap:
        """Run one forward pass and return the attention weights of every head.

        Raises AttnxError when the model returns none, or returns something that is not attention weights.
        """
        import torch  # here, so that a name that cannot be loaded is refused without the seconds that torch takes

        ids = torch.tensor([encoding.ids])
        inputs = {"input_ids": ids}
        if "attention_mask" in inspect.signature(self.model.forward).parameters:
            inputs["attention_mask"] = torch.ones_like(ids)
        with torch.inference_mode():
            output = self.model(**inputs, output_attentions=True)
        layers = getattr(output, "attentions", None) or getattr(output, "encoder_attentions", None)
        if not layers or any(layer is None for layer in layers):
            raise AttnxError("no_attentions", type=self.info.type)
        self._check(layers, len(encoding.ids))
        return AttentionMap(encoding, torch.stack([layer[0] for layer in layers]))

    def _check(self, layers: tuple[torch.Tensor, ...], length: int) -> None:
        kind = self.info.type
        shapes = [tuple(layer.shape) for layer in layers]
        if shapes != [(1, self.info.heads, length, length)] * self.info.layers:
            raise AttnxError("attentions_shape", type=kind, shape=" ".join(map(str, dict.fromkeys(shapes))))
        error = max(float((layer.double().sum(-1) - 1).abs().max()) for layer in layers)
        if not error <= ROW_SUM_TOLERANCE:
            raise AttnxError("attentions_rows", type=kind)
        if length > 1 and all(float(layer.triu(1).abs().max()) == 0 for layer in layers):
            raise InputError("model_causal", type=kind)


def load_encoder(request: ModelRequest) -> Encoder:
    """Load the encoder that is asked for. Raises InputError when there is no such model or it cannot be used."""
    from attnx.encoders.folder import BUILTIN, find_folder

    if request.name == BUILTIN:
        from attnx.encoders.builtin import load_builtin

        model, tokenizer, info = load_builtin()
    else:
        folder = find_folder(request)
        from attnx.encoders.pretrained import load_pretrained

        model, tokenizer, info = load_pretrained(folder)
    from attnx.encoders.pretrained import max_tokens

    return Encoder(model, tokenizer, info, max_tokens(model, tokenizer))
