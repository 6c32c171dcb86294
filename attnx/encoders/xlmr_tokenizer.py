"""The XLM-R tokenizer, built from SentencePiece pieces and scores."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import normalizers, processors
    from transformers import PreTrainedTokenizerBase

# XLM-R's normalization leaves these two alone where NFKC would change them (to "~" and to 配).
KEPT_FROM_NFKC = ("\uff5e", "\U0001f23b")
MASK = "<mask>"
# Where a control symbol that stands in a text is cut, so that no piece is the whole of it: "</" and "s>".
SPELLED_SYMBOL = "(?<=<)(?=(s|pad|unk|mask)>)|(?<=</)(?=s>)"


@dataclass(frozen=True)
class Vocabulary:
    """The pieces of a unigram model with their log probabilities, and the ids of its special tokens.

    Piece i is token i; `scores` has one natural logarithm for every piece.
    """

    pieces: list[str]
    scores: list[float]
    bos: int
    eos: int
    pad: int
    unk: int


def build_tokenizer(vocabulary: Vocabulary, max_length: int) -> "PreTrainedTokenizerBase":
    """Return an ordinary fast tokenizer: ``<s> text </s>``, padding on the right, at most `max_length` tokens.

    Unigram segmentation after Kudo (2018), arXiv:1804.10959, the way SentencePiece and XLM-R use it.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, pre_tokenizers
    from tokenizers.models import Unigram
    from transformers import PreTrainedTokenizerFast

    pieces = vocabulary.pieces
    bos, eos, pad, unk = (pieces[i] for i in (vocabulary.bos, vocabulary.eos, vocabulary.pad, vocabulary.unk))
    backend = Tokenizer(Unigram())
    backend.normalizer = xlmr_normalizer()
    # SentencePiece never finds a control symbol in a text; Unigram would, for these are pieces like any other.
    spelled = pre_tokenizers.Split(Regex(SPELLED_SYMBOL), "isolated")
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), spelled])
    backend.decoder = decoders.Metaspace()
    backend.post_processor = _template(bos, vocabulary.bos, eos, vocabulary.eos)
    tokenizer: PreTrainedTokenizerBase = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=max_length,
        padding_side="right",
        model_input_names=["input_ids", "attention_mask"],
    )
    # The constructor copies its tokenizer through JSON; the 250,000 pieces are spared that when they come after.
    model = Unigram(list(zip(pieces, vocabulary.scores, strict=True)), unk_id=vocabulary.unk)
    tokenizer.backend_tokenizer.model = model
    mask = AddedToken(MASK, lstrip=True, special=True, normalized=False)
    tokenizer.add_special_tokens(
        {
            "bos_token": bos,
            "cls_token": bos,
            "eos_token": eos,
            "sep_token": eos,
            "pad_token": pad,
            "unk_token": unk,
            "mask_token": mask,
        }
    )
    return tokenizer


def xlmr_normalizer() -> "normalizers.Sequence":
    """Return SentencePiece's ``nmt_nfkc`` normalization, with runs of spaces made one.

    NMT turns every kind of space into U+0020 and drops control characters; so these are free to stand for the
    characters that NFKC must not see.
    """
    from tokenizers import Regex, normalizers

    stand_ins = [(kept, chr(1 + i)) for i, kept in enumerate(KEPT_FROM_NFKC)]
    return normalizers.Sequence(
        [
            normalizers.Nmt(),
            *(normalizers.Replace(kept, stand_in) for kept, stand_in in stand_ins),
            normalizers.NFKC(),
            *(normalizers.Replace(stand_in, kept) for kept, stand_in in stand_ins),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )


def _template(bos: str, bos_id: int, eos: str, eos_id: int) -> "processors.TemplateProcessing":
    """Return what puts the special tokens around one text, ``<s> A </s>``, or two, ``<s> A </s></s> B </s>``."""
    from tokenizers.processors import TemplateProcessing

    return TemplateProcessing(
        single=[bos, "$A", eos],
        pair=[bos, "$A", eos, eos, "$B", eos],
        special_tokens=[(bos, bos_id), (eos, eos_id)],
    )
