import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from attnx.texts.labels import label_tokens

FAMILY = "👨\u200d👩\u200d👧"


@pytest.fixture
def byte_level() -> Tokenizer:
    """Byte-level BPE without merges: one token a byte."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({piece: index for index, piece in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


@pytest.fixture
def word_piece() -> Tokenizer:
    """Lower-casing WordPiece that folds й to и and ё to е."""
    pieces = ["[CLS]", "[SEP]", "[UNK]", "мои", "еж", "##ик", "семья"]
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 1), ("[CLS]", 0))
    return tokenizer


@pytest.fixture
def unigram() -> Tokenizer:
    """SentencePiece-like: a word's space is a piece of its own, whose offsets cover the word's first character."""
    pieces = [("<unk>", -10.0), ("▁", -2.0), ("我", -3.0), ("我爱", -2.5), ("▁мама", -1.0), ("мир", -3.0)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer


def labels(tokenizer: Tokenizer, text: str) -> list[str]:
    encoding = tokenizer.encode(text)
    special = [bool(mark) for mark in encoding.special_tokens_mask]
    return list(label_tokens(text, encoding.offsets, encoding.tokens, special))


def label(text: str, *spans: tuple[int, int]) -> list[str]:
    return list(label_tokens(text, spans, ["x"] * len(spans), [False] * len(spans)))


def test_tok_1_folded_letters_are_shown_as_written(word_piece: Tokenizer) -> None:
    assert labels(word_piece, "мой") == ["[CLS]", "мой", "[SEP]"]
    assert labels(word_piece, "мои\u0306") == ["[CLS]", "мои\u0306", "[SEP]"]
    assert labels(word_piece, "Ёжик") == ["[CLS]", "Ёж", "ик", "[SEP]"]


def test_tok_2_bytes_of_one_character_are_numbered(byte_level: Tokenizer) -> None:
    expected = ["м¹", "м²", "и¹", "и²", "р¹", "р²", "▁", "我¹", "我²", "我³", "▁", "👍¹", "👍²", "👍³", "👍⁴"]
    assert labels(byte_level, "мир 我 👍") == expected


def test_byte_level_prefix_space_is_no_part_of_the_first_letter(byte_level: Tokenizer) -> None:
    byte_level.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    assert labels(byte_level, "я") == ["▁", "я¹", "я²"]


def test_parts_are_counted_beyond_nine(byte_level: Tokenizer) -> None:
    shown = labels(byte_level, FAMILY)
    assert len(shown) == 18
    assert shown[8:12] == [f"{FAMILY}⁹", f"{FAMILY}¹⁰", f"{FAMILY}¹¹", f"{FAMILY}¹²"]


def test_fnt_2_an_emoji_sequence_is_one_label(word_piece: Tokenizer) -> None:
    assert labels(word_piece, f"{FAMILY} семья") == ["[CLS]", FAMILY, "семья", "[SEP]"]


def test_unknown_tokens_show_their_text(word_piece: Tokenizer) -> None:
    assert labels(word_piece, "Zzz") == ["[CLS]", "Zzz", "[SEP]"]


@pytest.mark.parametrize("text", ["我", "我爱"])
def test_a_lone_space_piece_shares_nothing(unigram: Tokenizer, text: str) -> None:
    assert labels(unigram, text) == ["▁", text]


def test_space_pieces_of_xlm_r_with_its_offsets() -> None:
    assert label_tokens("我", [(0, 1), (0, 1)], ["▁", "我"], [False, False]) == ("▁", "我")


def test_spaces_around_a_word_are_not_shown(unigram: Tokenizer) -> None:
    assert labels(unigram, " мама мир") == ["мама", "▁", "мир"]


def test_the_sentence_may_hold_the_space_mark_itself() -> None:
    assert label_tokens("a▁", [(0, 1), (1, 2)], ["a", "▁"], [False, False]) == ("a", "▁")


def test_empty_and_white_spans() -> None:
    assert label("a \u3000b", (0, 1), (1, 3), (3, 3), (3, 4)) == ["a", "▁", "▁", "b"]


def test_special_tokens_keep_their_names_and_are_not_numbered() -> None:
    assert label_tokens("я", [(0, 0), (0, 1), (0, 0)], ["<s>", "я", "<s>"], [True, False, True]) == ("<s>", "я", "<s>")


def test_a_repeated_word_is_not_numbered() -> None:
    assert label("да да", (0, 2), (3, 5)) == ["да", "да"]


def test_half_a_cluster_is_widened_and_numbered() -> None:
    assert label("a\u0301b", (0, 1), (1, 2), (2, 3)) == ["a\u0301¹", "a\u0301²", "b"]


def test_a_mark_without_a_letter_stands_on_a_dotted_circle() -> None:
    assert label(" \u0306x", (0, 2), (2, 3)) == ["◌\u0306", "x"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\u200b", "U+200B"),
        ("he\u00adllo", "heU+00ADllo"),
        ("\u202eabc", "U+202Eabc"),
        ("a\x07b", "aU+0007b"),
        ("a\nb", "aU+000Ab"),
        ("\u200d", "U+200D"),
        ("\ufe0f", "U+FE0F"),
        ("❤\ufe0f", "❤\ufe0f"),
    ],
)
def test_invisible_characters_are_written_as_code_points(text: str, shown: str) -> None:
    assert label(text, (0, len(text))) == [shown]
