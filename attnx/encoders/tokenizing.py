"""A sentence becomes tokens: ids for the model, and for the reader labels, spans and words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnx.encoders.folder import first_line
from attnx.encoders.pieces import Pieces, cut_texts, python_frame
from attnx.encoders.records import Encoding, Token
from attnx.errors import InputError
from attnx.texts.labels import label_tokens, visible
from attnx.texts.spans import Span, clamp
from attnx.texts.words import number_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import torch
    from transformers import PreTrainedTokenizerBase

    from attnx.texts.sentence import Sentence

SENTENCEPIECE_FILES = ("*.model", "*.spm")
LEAST_VOCABULARY = 2  # transformers adds a "▁" or "." of its own to a vocabulary that it did not find


@dataclass(frozen=True)
class Cut:
    """A sentence cut into pieces, at most as many as are wanted; the reader's labels are yet to be made.

    `pieces` are all pieces of the sentence, `content` the places of those that are not special, `kept` the places of
    those that are left. `cls`, `sep` and `truncated_from` are those of an `Encoding`.
    """

    sentence: Sentence
    pieces: Pieces
    content: tuple[int, ...]
    kept: tuple[int, ...]
    cls: tuple[int, ...]
    sep: tuple[int, ...]
    truncated_from: int | None

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of the pieces that are left."""
        return tuple(self.pieces.ids[i] for i in self.kept)

    @property
    def special(self) -> tuple[bool, ...]:
        """Which of the pieces that are left are special."""
        return tuple(self.pieces.special[i] for i in self.kept)

    @property
    def spans(self) -> list[Span]:
        """The range of characters that each piece of the whole sentence stands for, in order and inside the text."""
        spans = [(0, 0)] * len(self.pieces.ids)
        inside = clamp((self.pieces.spans[i] for i in self.content), len(self.sentence.text))
        for i, span in zip(self.content, inside, strict=True):
            spans[i] = span
        return spans


def tokenize(tokenizer: PreTrainedTokenizerBase, sentence: Sentence, limit: int | None, long: str = "cut") -> Encoding:
    """Return the sentence as tokens, special ones added, at most `limit` of them (None: no limit).

    A longer text keeps its start and the special tokens around it. A text that spells a special token, such as
    ``</s>``, is tokenized as ordinary text. Raises InputError for a text longer than `limit` when `long` is
    ``error`` or not one token of the text would be left, and for a text that the tokenizer has no tokens for.
    """
    [cut] = cut_sentences(tokenizer, [sentence], limit, long)
    if isinstance(cut, InputError):
        raise cut
    tokens = _tokens(cut, tokenizer.unk_token_id)
    kept = tuple(tokens[i] for i in cut.kept)
    return Encoding(sentence, cut.ids, kept, cut.cls, cut.sep, cut.truncated_from)


def cut_sentences(
    tokenizer: PreTrainedTokenizerBase, sentences: Sequence[Sentence], limit: int | None, long: str
) -> list[Cut | InputError]:
    """Cut many sentences at once, which takes a fast tokenizer less time; what `tokenize` raises is returned."""
    try:
        pieces = cut_texts(tokenizer, [sentence.text for sentence in sentences])
    except Exception as error:  # whatever a tokenizer raises that has no token for what it does not know
        if len(sentences) > 1:
            return [cut_sentences(tokenizer, [sentence], limit, long)[0] for sentence in sentences]
        refusal = InputError("text_not_tokenizable", reason=first_line(error))
        refusal.__cause__ = error
        return [refusal]
    found: list[Cut | InputError] = []
    for sentence, own in zip(sentences, pieces, strict=True):
        try:
            found.append(_fit(tokenizer, sentence, own, limit, long))
        except InputError as refusal:
            found.append(refusal)
    return found


def _fit(tokenizer: PreTrainedTokenizerBase, sentence: Sentence, pieces: Pieces, limit: int | None, long: str) -> Cut:
    """Return which pieces of the sentence are left where at most `limit` fit; see `tokenize`, also for errors."""
    total = len(pieces.ids)
    content = tuple(i for i, special in enumerate(pieces.special) if not special)
    if not content or None in pieces.ids:
        raise InputError("text_unknown")
    kept = tuple(range(total))
    if limit is not None and total > limit:
        if long == "error":
            raise InputError("text_too_long", tokens=total, limit=limit)
        if total - len(content) >= limit:
            raise InputError("no_room", limit=limit)
        dropped = set(content[limit - total :])
        kept = tuple(i for i in kept if i not in dropped)

    def positions(*candidates: int | None) -> tuple[int, ...]:
        """Return where the first of `candidates` that the tokenizer has stands as a special token."""
        wanted = next((candidate for candidate in candidates if candidate is not None), None)
        return tuple(place for place, i in enumerate(kept) if pieces.special[i] and pieces.ids[i] == wanted)

    return Cut(
        sentence,
        pieces,
        content,
        kept,
        positions(tokenizer.cls_token_id, tokenizer.bos_token_id),
        positions(tokenizer.sep_token_id, tokenizer.eos_token_id),
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


def _tokens(cut: Cut, unknown: int | None) -> list[Token]:
    """Return all tokens of a cut sentence, kept or not; `unknown` is the id of what is not in the vocabulary."""
    text, pieces, spans = cut.sentence.text, cut.pieces, cut.spans
    words: list[int | None] = [None] * len(spans)
    numbers = number_words(text, [spans[i] for i in cut.content], [pieces.words[i] for i in cut.content])
    for i, word in zip(cut.content, numbers, strict=True):
        words[i] = word
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
