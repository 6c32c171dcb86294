"""A sentence becomes tokens: ids for the model, and for the reader labels, spans and words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnx.encoders.folder import first_line
from attnx.encoders.pieces import Pieces, cut_text, python_frame
from attnx.encoders.records import Encoding, Token
from attnx.errors import InputError
from attnx.texts.labels import label_tokens, visible
from attnx.texts.spans import clamp
from attnx.texts.words import number_words

if TYPE_CHECKING:
    from pathlib import Path

    import torch
    from transformers import PreTrainedTokenizerBase

    from attnx.texts.sentence import Sentence

SENTENCEPIECE_FILES = ("*.model", "*.spm")
LEAST_VOCABULARY = 2  # transformers adds a "▁" or "." of its own to a vocabulary that it did not find


def tokenize(tokenizer: PreTrainedTokenizerBase, sentence: Sentence, limit: int | None, long: str = "cut") -> Encoding:
    """Return the sentence as tokens, special ones added, at most `limit` of them (None: no limit).

    A longer text keeps its start and the special tokens around it. A text that spells a special token, such as
    ``</s>``, is tokenized as ordinary text. Raises InputError for a text longer than `limit` when `long` is
    ``error`` or not one token of the text would be left, and for a text that the tokenizer has no tokens for.
    """
    try:
        pieces = cut_text(tokenizer, sentence.text)
    except Exception as error:  # whatever a tokenizer raises that has no token for what it does not know
        raise InputError("text_not_tokenizable", reason=first_line(error)) from error
    total = len(pieces.ids)
    content = [i for i, special in enumerate(pieces.special) if not special]
    if not content or None in pieces.ids:
        raise InputError("text_unknown")
    tokens = _tokens(sentence.text, pieces, content, tokenizer.unk_token_id)
    kept = list(range(total))
    if limit is not None and total > limit:
        if long == "error":
            raise InputError("text_too_long", tokens=total, limit=limit)
        if total - len(content) >= limit:
            raise InputError("no_room", limit=limit)
        dropped = set(content[limit - total :])
        kept = [i for i in kept if i not in dropped]
    ids = tuple(pieces.ids[i] for i in kept)
    special = [pieces.special[i] for i in kept]
    return Encoding(
        sentence,
        ids,
        tuple(tokens[i] for i in kept),
        _positions(ids, special, tokenizer.cls_token_id, tokenizer.bos_token_id),
        _positions(ids, special, tokenizer.sep_token_id, tokenizer.eos_token_id),
        total if len(kept) < total else None,
    )


def load_tokenizer(path: Path, name: str, trust_remote_code: bool) -> PreTrainedTokenizerBase:
    """Return the tokenizer in the folder `path` of the model `name`; InputError says why there is none."""
    from transformers import AutoTokenizer
    from transformers.utils.import_utils import is_protobuf_available, is_sentencepiece_available

    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            path, local_files_only=True, trust_remote_code=trust_remote_code
        )
    except Exception as error:
        here = {"sentencepiece": is_sentencepiece_available(), "protobuf": is_protobuf_available()}
        missing = [package for package, available in here.items() if not available]
        # transformers names another package, or says only that the model's type is unknown.
        if missing and any(any(path.glob(pattern)) for pattern in SENTENCEPIECE_FILES):
            raise InputError("tokenizer_needs_package", path=name, packages=" ".join(missing)) from error
        raise InputError("tokenizer_not_loadable", path=name, reason=first_line(error)) from error
    return tokenizer


def check_tokenizer(tokenizer: PreTrainedTokenizerBase, model: torch.nn.Module, name: str) -> None:
    """Refuse a tokenizer that cannot belong to the model, or that takes no text alone.

    transformers quietly builds a tokenizer of special tokens alone where a folder holds no vocabulary. A model that
    has no table of token vectors (it hashes characters, or reads bytes) takes any id.
    """
    if not tokenizer.is_fast:
        try:
            python_frame(tokenizer)
        except Exception as error:
            raise InputError("tokenizer_not_for_text", path=name, reason=first_line(error)) from error
    size = len(tokenizer)
    if size - len(set(tokenizer.all_special_ids)) < LEAST_VOCABULARY:
        raise InputError("tokenizer_empty", path=name)
    rows = vocabulary_rows(model)
    if rows is not None and max(tokenizer.get_vocab().values()) >= rows:
        raise InputError("tokenizer_misfit", path=name, tokens=size, rows=rows)


def _tokens(text: str, pieces: Pieces, content: list[int], unknown: int | None) -> list[Token]:
    """Return all tokens of a text; `content` are the positions of those that are not special, `unknown` is an id."""
    spans = [(0, 0)] * len(pieces.ids)
    words: list[int | None] = [None] * len(pieces.ids)
    inside = clamp((pieces.spans[i] for i in content), len(text))
    numbers = number_words(text, inside, [pieces.words[i] for i in content])
    for i, span, word in zip(content, inside, numbers, strict=True):
        spans[i], words[i] = span, word
    labels = label_tokens(text, spans, pieces.strings, pieces.special)
    return [
        Token(label if called is None else visible(called), start, end, special, word, piece == unknown and not special)
        for label, called, (start, end), special, word, piece in zip(
            labels, pieces.names, spans, pieces.special, words, pieces.ids, strict=True
        )
    ]


def vocabulary_rows(model: torch.nn.Module) -> int | None:
    """Return how many tokens the model has a vector for, None where it has no table of them."""
    try:
        table = model.get_input_embeddings()  # type: ignore[operator]
    except (AttributeError, NotImplementedError):
        return None
    weight = getattr(table, "weight", None)
    return None if weight is None else len(weight)


def _positions(ids: tuple[int, ...], special: list[bool], *candidates: int | None) -> tuple[int, ...]:
    """Return where the first of `candidates` that the tokenizer has stands as a special token."""
    wanted = next((candidate for candidate in candidates if candidate is not None), None)
    return tuple(i for i, (token, flag) in enumerate(zip(ids, special, strict=True)) if flag and token == wanted)
