"""Fast tokenizers of every common build: labels, spans, words and special tokens of real sentences."""

import unicodedata
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from attnx.encoders.records import Encoding
from attnx.encoders.tokenizing import tokenize
from attnx.errors import InputError
from attnx.texts.sentence import is_visible, read_sentence

SPECIAL = ("<s>", "</s>", "<unk>")
FAMILY = "👨\u200d👩\u200d👧"
# The pattern by which tiktoken-like tokenizers cut, in short: words with the space before them, numbers, the rest.
WORDS = r" ?\p{L}+| ?\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+"
LATIN_SOUP = set("ÐÑĠæðŁ")


def frame(template: str, backend: Tokenizer) -> Tokenizer:
    """Put the special tokens of a template, such as ``<s> $A``, around every text."""
    symbols = [part for part in template.split() if part != "$A"]
    backend.add_special_tokens([*SPECIAL, *symbols])
    pairs = [(symbol, backend.token_to_id(symbol)) for symbol in symbols]
    backend.post_processor = processors.TemplateProcessing(single=template, special_tokens=pairs)
    return backend


def numbered(*pieces: str) -> dict[str, int]:
    return {piece: i for i, piece in enumerate(dict.fromkeys((*SPECIAL, *pieces)))}


def word_piece() -> Tokenizer:
    backend = Tokenizer(models.WordPiece(numbered("мои", "мама", "##s", "cat", "我", "爱"), unk_token="<unk>"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return frame("<s> $A </s>", backend)


def byte_level(prefix: bool = False, pattern: str | None = None) -> Tokenizer:
    """Byte-level BPE with one merge; with `pattern`, cut by it first as tiktoken-like tokenizers do."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE(numbered(*alphabet, "ca"), [("c", "a")]))
    cutter = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=pattern is None)
    split = [pre_tokenizers.Split(Regex(pattern), "isolated")] if pattern else []
    backend.pre_tokenizer = pre_tokenizers.Sequence([*split, cutter])
    backend.add_special_tokens(list(SPECIAL))
    return backend


def roberta() -> Tokenizer:
    backend = byte_level(prefix=True)
    ids = {symbol: backend.token_to_id(symbol) for symbol in SPECIAL}
    backend.post_processor = processors.RobertaProcessing(("</s>", ids["</s>"]), ("<s>", ids["<s>"]))
    return backend


def unigram(template: str = "<s> $A </s>", cut: bool = True) -> Tokenizer:
    """SentencePiece-like, its special tokens pieces like any other; without `cut` it has no pre-tokenizer."""
    pieces = [*SPECIAL, "▁", "▁мама", "▁мыла", "▁раму", "▁我爱", "北", "a", "<", "/", "s", ">"]
    scores = [0.0, 0.0, 0.0, *[-2.0] * (len(pieces) - 3)]
    backend = Tokenizer(models.Unigram(list(zip(pieces, scores, strict=True)), unk_id=2))
    if cut:
        backend.pre_tokenizer = pre_tokenizers.Metaspace()
    else:
        backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    return frame(template, backend)


def byte_fallback() -> Tokenizer:
    """As LLaMA has it: no pre-tokenizer, and bytes for what the vocabulary lacks."""
    vocabulary = numbered(*(f"<0x{byte:02X}>" for byte in range(256)), "▁", "c", "a", "ca", "t")
    backend = Tokenizer(models.BPE(vocabulary, [("c", "a")], unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    return frame("<s> $A", backend)


def word_level() -> Tokenizer:
    backend = Tokenizer(models.WordLevel(numbered("мама", "мыла", "раму"), unk_token="<unk>"))
    backend.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()])
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return frame("<s> $A", backend)


def characters() -> Tokenizer:
    backend = Tokenizer(models.WordLevel(numbered(*"абвcat"), unk_token="<unk>"))
    backend.normalizer = normalizers.NFD()
    backend.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    return frame("$A </s>", backend)


KINDS: dict[str, Callable[[], Tokenizer]] = {
    "word piece": word_piece,
    "byte level": byte_level,
    "byte level, tiktoken": lambda: byte_level(pattern=WORDS),
    "byte level, roberta": roberta,
    "unigram": unigram,
    "unigram, end only": lambda: unigram("$A </s>"),
    "unigram, language": lambda: unigram("en_XX $A </s>"),
    "unigram, one word": lambda: unigram(cut=False),
    "byte fallback": byte_fallback,
    "word level": word_level,
    "characters": characters,
}


def wrap(backend: Tokenizer, **options: Any) -> PreTrainedTokenizerFast:
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"} | options
    return PreTrainedTokenizerFast(tokenizer_object=backend, **names)


@pytest.fixture(scope="module")
def kinds() -> dict[str, PreTrainedTokenizerFast]:
    return {name: wrap(build()) for name, build in KINDS.items()}


def encode(tokenizer: Any, text: str, limit: int | None = None) -> Encoding:
    return tokenize(tokenizer, read_sentence(text), limit)


def labels(encoding: Encoding) -> list[str]:
    return [token.text for token in encoding.tokens if not token.special]


def words(encoding: Encoding) -> list[int | None]:
    return [token.word for token in encoding.tokens if not token.special]


# --- what holds for every tokenizer and every text ---


TEXTS = st.text(
    st.sampled_from("аймcat s我爱北👍👨👩\u200d\ufe0f\u0306\u0301\u0323 \t\n\u3000.,<>/▁Ġ#ﬁ①שلَ\u202e\u200b"), min_size=1
)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=60)
@given(text=st.one_of(TEXTS, st.text(min_size=1)))
def test_labels_can_be_read_and_spans_and_words_stand_in_order(kind: str, text: str, kinds: dict[str, Any]) -> None:
    assume(any(map(is_visible, text)))
    sentence = read_sentence(text)
    try:
        encoding = tokenize(kinds[kind], sentence, None)
    except InputError as error:
        assume(error.key != "text_unknown")
        raise
    own = kinds[kind](sentence.text, split_special_tokens=True)["input_ids"]
    assert encoding.ids == tuple(own) or any(symbol in text for symbol in SPECIAL)
    content = [token for token in encoding.tokens if not token.special]
    for token in encoding.tokens:
        assert any(map(is_visible, token.text)) or unicodedata.category(token.text[0]) in ("Co", "Cn")
        assert token.text == token.text.strip() and not set(token.text) & set("\n\t\u202e\u200b\x00")
        assert 0 <= token.start <= token.end <= len(sentence.text)
        assert (token.word is None) == token.special
    starts = [token.start for token in content]
    numbers = [token.word for token in content]
    assert starts == sorted(starts)
    assert numbers[0] == 0 and all(next_ - word in (0, 1) for word, next_ in pairwise(numbers))


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_that_is_too_long_keeps_its_start_and_its_frame(kind: str, kinds: dict[str, Any]) -> None:
    text = "мама мыла раму 我 cats " * 3
    whole = encode(kinds[kind], text)
    cut = encode(kinds[kind], text, 9)
    kinds[kind].truncation_side = "right"
    own = kinds[kind](text, truncation=True, max_length=9)["input_ids"]
    assert cut.ids == tuple(own) and len(cut.tokens) == 9
    assert (whole.truncated_from, cut.truncated_from) == (None, len(whole.ids))
    kept = len(labels(cut))
    assert labels(cut) == labels(whole)[:kept] and words(cut) == words(whole)[:kept]
    assert [token.text for token in cut.tokens if token.special] == [t.text for t in whole.tokens if t.special]


def test_a_limit_that_the_special_tokens_fill_is_refused(kinds: dict[str, Any]) -> None:
    assert len(encode(kinds["unigram"], "мама мыла раму", 3).ids) == 3
    with pytest.raises(InputError) as caught:
        encode(kinds["unigram"], "мама мыла раму", 2)
    assert caught.value.key == "no_room"


# --- labels ---


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("word piece", "Мой cats我爱", ["Мой", "cat", "s", "我", "爱"]),
        ("word piece", "Zzz", ["Zzz"]),
        ("byte level", "cat я", ["ca", "t", "▁", "я¹", "я²"]),
        ("byte level, tiktoken", "cat я", ["ca", "t", "▁", "я¹", "я²"]),
        ("byte level, roberta", "cat", ["▁", "ca", "t"]),
        ("byte level, roberta", "я", ["▁", "я¹", "я²"]),
        ("unigram", "мама zz 我爱北", ["мама", "▁", "zz", "我爱", "北"]),
        ("unigram, one word", "мама мыла", ["мама", "мыла"]),
        ("byte fallback", "cat 我 й", ["▁", "ca", "t", "▁", "我¹", "我²", "我³", "▁", "й¹", "й²"]),
        ("byte fallback", "👍", ["▁", "👍¹", "👍²", "👍³", "👍⁴"]),
        ("word level", "мама é\u0301x", ["мама", "é\u0301x"]),
        ("characters", "cй", ["c", "й¹", "й²"]),
    ],
)
def test_labels_are_the_text_not_the_vocabulary(
    kind: str, text: str, expected: Sequence[str], kinds: dict[str, Any]
) -> None:
    shown = labels(encode(kinds[kind], text))
    assert shown == list(expected)
    assert not LATIN_SOUP & set("".join(shown)) and not any("<0x" in label for label in shown)


@pytest.mark.parametrize("kind", KINDS)
def test_an_emoji_sequence_is_never_shown_in_halves(kind: str, kinds: dict[str, Any]) -> None:
    shown = labels(encode(kinds[kind], f"{FAMILY} cat"))
    assert all(label.startswith(FAMILY) for label in shown if "👩" in label)
    assert any("👩" in label for label in shown)
    assert not any(label.startswith("U+200D") for label in shown)


@pytest.mark.parametrize(
    "text", ["שלום עולם", "مَرحبا", "हिन्दी में", "สวัสดี", "한국어", "a\tb\nc", "❤\ufe0f", "\u0306a", "ﬁ①"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_every_letter_of_any_script_is_in_some_label(kind: str, text: str, kinds: dict[str, Any]) -> None:
    encoding = encode(kinds[kind], text)
    covered = {i for token in encoding.tokens for i in range(token.start, token.end)}
    assert {i for i, character in enumerate(text) if is_visible(character)} <= covered
    shown = "".join(labels(encoding))
    assert all(character in shown for character in text if is_visible(character))


# --- words ---


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("unigram", "мама мыла раму", [0, 1, 2]),
        ("unigram, one word", "мама мыла раму", [0, 1, 2]),
        ("unigram, one word", "мама zz раму", [0, 1, 1, 2]),
        ("unigram, one word", "我爱北", [0, 0]),
        ("byte fallback", "cat ca", [0, 0, 0, 1, 1]),
        ("byte fallback", "ca\u3000t ", [0, 0, 1, 1, 1, 1, 2]),
        ("byte level", "мир 我", [0] * 6 + [1] * 4),
        ("byte level, tiktoken", "ca t", [0, 1, 1]),
        ("byte level, roberta", "ca t", [0, 0, 1, 1]),
        ("word piece", "cats我爱 мой", [0, 0, 1, 2, 3]),
        ("word piece", "a.b", [0, 1, 2]),
        ("word level", "мама, мыла", [0, 1]),
    ],
)
def test_words_end_at_white_space_and_where_the_tokenizer_ends_them(
    kind: str, text: str, expected: Sequence[int], kinds: dict[str, Any]
) -> None:
    assert words(encode(kinds[kind], text)) == list(expected)


# --- special tokens ---


@pytest.mark.parametrize(
    ("kind", "special", "cls", "sep"),
    [
        ("unigram", {0: "<s>", 2: "</s>"}, (0,), (2,)),
        ("unigram, end only", {1: "</s>"}, (), (1,)),
        ("unigram, language", {0: "en_XX", 2: "</s>"}, (), (2,)),
        ("byte level", {}, (), ()),
    ],
)
def test_special_tokens_stand_where_the_tokenizer_puts_them(
    kind: str, special: dict[int, str], cls: tuple[int, ...], sep: tuple[int, ...], kinds: dict[str, Any]
) -> None:
    encoding = encode(kinds[kind], "ca" if kind == "byte level" else "мама")
    assert {i: token.text for i, token in enumerate(encoding.tokens) if token.special} == special
    assert (encoding.cls, encoding.sep) == (cls, sep)
    assert all((token.start, token.end, token.word) == (0, 0, None) for token in encoding.tokens if token.special)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("symbol", ["<s>", "</s>"])
def test_a_spelled_special_token_is_ordinary_text(kind: str, symbol: str, kinds: dict[str, Any]) -> None:
    tokenizer = kinds[kind]
    text = f"ca {symbol} ca"
    encoding = encode(tokenizer, text)
    inner = [i for i, token in zip(encoding.ids, encoding.tokens, strict=True) if not token.special]
    assert not {tokenizer.bos_token_id, tokenizer.eos_token_id} & set(inner)
    assert [token.text for token in encoding.tokens if token.special] == [
        token.text for token in encode(tokenizer, "ca").tokens if token.special
    ]
    assert "".join(labels(encoding)).replace("▁", "") == text.replace(" ", "")
    # The tokenizer is left as it was.
    assert encode(tokenizer, "ca ca").ids == tuple(tokenizer("ca ca")["input_ids"])


def test_a_left_padding_tokenizer_pads_nothing() -> None:
    tokenizer = wrap(unigram(), pad_token="<s>", padding_side="left", truncation_side="left")
    tokenizer.backend_tokenizer.enable_padding(length=20, direction="left")
    tokenizer.backend_tokenizer.enable_truncation(2)
    assert labels(encode(tokenizer, "мама мыла раму")) == ["мама", "мыла", "раму"]
    assert labels(encode(tokenizer, "мама мыла раму", 4)) == ["мама", "мыла"]
