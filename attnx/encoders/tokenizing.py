"""A sentence becomes tokens: ids for the model, and for the reader labels, spans and words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnx.encoders.records import Encoding, Token
from attnx.errors import InputError
from attnx.texts.labels import label_tokens

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase

    from attnx.texts.sentence import Sentence


def tokenize(
    tokenizer: PreTrainedTokenizerBase, sentence: Sentence, limit: int | None, on_long: str = "cut"
) -> Encoding:
    """Return the sentence as tokens, special ones added, at most `limit` of them (None: no limit).

    A text that spells a special token, such as ``</s>``, is tokenized as ordinary text. Raises InputError
    for a text longer than `limit` when `on_long` is ``error``.
    """
    # Not verbose: the length is dealt with here, and transformers would write about it to the terminal.
    options = {"split_special_tokens": True, "return_special_tokens_mask": True, "verbose": False}
    batch = tokenizer(sentence.text, **options)
    total = len(batch["input_ids"])
    cut = limit is not None and total > limit
    if cut and on_long == "error":
        raise InputError("text_too_long", tokens=total, limit=limit)
    if cut:
        batch = tokenizer(sentence.text, truncation=True, max_length=limit, **options)
    fast = batch.encodings[0]
    special = [bool(flag) for flag in fast.special_tokens_mask]
    labels = label_tokens(sentence.text, fast.offsets, fast.tokens, special)
    tokens = tuple(
        Token(label, start, end, is_special, word)
        for label, (start, end), is_special, word in zip(labels, fast.offsets, special, fast.word_ids, strict=True)
    )
    return Encoding(
        sentence,
        tuple(fast.ids),
        tokens,
        _positions(fast.ids, special, tokenizer.cls_token_id, tokenizer.bos_token_id),
        _positions(fast.ids, special, tokenizer.sep_token_id, tokenizer.eos_token_id),
        total if cut else None,
    )


def check_tokenizer(tokenizer: PreTrainedTokenizerBase, model: torch.nn.Module, name: str) -> None:
    """Refuse a tokenizer that cannot belong to the model.

    transformers quietly builds a tokenizer of special tokens alone where a folder holds no vocabulary.
    """
    if not tokenizer.is_fast:
        raise InputError("tokenizer_no_offsets", path=name)
    size = len(tokenizer)
    if size <= len(set(tokenizer.all_special_ids)):
        raise InputError("tokenizer_empty", path=name)
    rows = model.get_input_embeddings().num_embeddings  # type: ignore[operator]
    if max(tokenizer.get_vocab().values()) >= rows:
        raise InputError("tokenizer_misfit", path=name, tokens=size, rows=rows)


def _positions(ids: list[int], special: list[bool], *candidates: int | None) -> tuple[int, ...]:
    """Return where the first of `candidates` that the tokenizer has stands as a special token."""
    wanted = next((candidate for candidate in candidates if candidate is not None), None)
    return tuple(i for i, (token, flag) in enumerate(zip(ids, special, strict=True)) if flag and token == wanted)
