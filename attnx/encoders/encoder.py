"""An encoder: a model with its tokenizer, that turns a sentence into an attention map."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnx.encoders.records import AttentionMap, Encoding, ModelInfo, Token
from attnx.errors import AttnxError, InputError
from attnx.texts.labels import label_tokens

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
        """Return the sentence as tokens, special ones added, cut at the model's limit.

        A text that spells a special token, such as ``</s>``, is tokenized as ordinary text. Raises InputError
        for a text longer than the model takes when `on_long` is ``error``.
        """
        # Not verbose: the length is dealt with here, and transformers would write about it to the terminal.
        options = {"split_special_tokens": True, "return_special_tokens_mask": True, "verbose": False}
        batch = self.tokenizer(sentence.text, **options)
        total = len(batch["input_ids"])
        cut = self.max_tokens is not None and total > self.max_tokens
        if cut and on_long == "error":
            raise InputError("text_too_long", tokens=total, limit=self.max_tokens)
        if cut:
            batch = self.tokenizer(sentence.text, truncation=True, max_length=self.max_tokens, **options)
        fast = batch.encodings[0]
        special = [bool(flag) for flag in fast.special_tokens_mask]
        labels = label_tokens(sentence.text, fast.offsets, fast.tokens, special)
        tokens = tuple(
            Token(label, start, end, is_special, word)
            for label, (start, end), is_special, word in zip(labels, fast.offsets, special, fast.word_ids, strict=True)
        )
        tokenizer = self.tokenizer
        return Encoding(
            sentence,
            tuple(fast.ids),
            tokens,
            _positions(fast.ids, special, tokenizer.cls_token_id, tokenizer.bos_token_id),
            _positions(fast.ids, special, tokenizer.sep_token_id, tokenizer.eos_token_id),
            total if cut else None,
        )

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


def load_encoder(name: str = "builtin", *, download: bool = False, trust_remote_code: bool = False) -> Encoder:
    """Load an encoder: ``builtin``, a local folder, or a Hugging Face id that is in the local cache.

    `download` allows fetching an id that is not cached; `trust_remote_code` allows code and pickled weights that
    come with the model. Raises InputError when there is no such model or it cannot be used.
    """
    from attnx.encoders.folder import BUILTIN, find_folder

    if name == BUILTIN:
        from attnx.encoders.builtin import load_builtin

        model, tokenizer, info = load_builtin()
    else:
        folder = find_folder(name, download=download, trust_remote_code=trust_remote_code)
        from attnx.encoders.pretrained import load_pretrained

        model, tokenizer, info = load_pretrained(folder)
    from attnx.encoders.pretrained import max_tokens

    return Encoder(model, tokenizer, info, max_tokens(model, tokenizer))


def _positions(ids: list[int], special: list[bool], *candidates: int | None) -> tuple[int, ...]:
    """Return where the first of `candidates` that the tokenizer has stands as a special token."""
    wanted = next((candidate for candidate in candidates if candidate is not None), None)
    return tuple(i for i, (token, flag) in enumerate(zip(ids, special, strict=True)) if flag and token == wanted)
