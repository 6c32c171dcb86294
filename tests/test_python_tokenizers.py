"""Tokenizers written in Python, which keep no offsets: where their tokens stand, and what is told when none says."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from transformers import (
    BlenderbotSmallTokenizer,
    ByT5Tokenizer,
    CanineTokenizer,
    EsmTokenizer,
    PerceiverTokenizer,
    ProphetNetTokenizer,
    RoCBertTokenizer,
    VitsTokenizer,
)

from attnx.encoders.offsets import Placed, place_pieces
from attnx.encoders.records import Encoding
from attnx.encoders.tokenizing import check_tokenizer, load_tokenizer, tokenize
from attnx.errors import InputError
from attnx.texts.sentence import is_visible, read_sentence

FAMILY = "👨\u200d👩\u200d👧"
WORDS = [
    "[PAD]",
    "[CLS]",
    "[SEP]",
    "[UNK]",
    "[MASK]",
    "мои",
    "мама",
    "the",
    "cat",
    "sep",
    "##e",
    "##p",
    "##s",
    *"аs[].,我爱",
]
AMINO_ACIDS = ["<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<mask>"]


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("vocabularies")

    def lines(name: str, words: Sequence[str]) -> str:
        (folder / name).write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
        return str(folder / name)

    def numbers(name: str, words: Sequence[str]) -> str:
        (folder / name).write_text(json.dumps({word: i for i, word in enumerate(words)}), encoding="utf-8")
        return str(folder / name)

    words = lines("words.txt", WORDS)
    merges = lines("merges.txt", ["#version", "t h", "th e</w>"])
    blender = ["__null__", "__start__", "__end__", "__unk__", "__newln__", "the", "c@@", "a@@", "t", "."]
    return {
        "canine": CanineTokenizer(),
        "perceiver": PerceiverTokenizer(),
        "byt5": ByT5Tokenizer(),
        "prophetnet": ProphetNetTokenizer(words, x_sep_token="[X_SEP]"),
        "roc_bert": RoCBertTokenizer(words, numbers("shapes.json", WORDS), numbers("sounds.json", WORDS)),
        "esm": EsmTokenizer(lines("acids.txt", AMINO_ACIDS)),
        "blenderbot-small": BlenderbotSmallTokenizer(numbers("blender.json", blender), merges),
        "vits": VitsTokenizer(
            numbers("letters.json", ["_", *"abcdefghijklmnopqrst '", "<unk>"]),
            pad_token="_",
            phonemize=False,
            is_uroman=False,
        ),
    }


KINDS = ("canine", "perceiver", "byt5", "prophetnet", "roc_bert", "esm", "blenderbot-small", "vits")


def encode(tokenizer: Any, text: str, limit: int | None = None) -> Encoding:
    return tokenize(tokenizer, read_sentence(text), limit)


def labels(encoding: Encoding) -> list[str]:
    return [token.text for token in encoding.tokens if not token.special]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("canine", "Мой я", ["М", "о", "й", "▁", "я"]),
        ("canine", "и\u0306", ["и\u0306¹", "и\u0306²"]),
        ("perceiver", "aя 我", ["a", "я¹", "я²", "▁", "我¹", "我²", "我³"]),
        ("byt5", "aя 我", ["a", "я¹", "я²", "▁", "我¹", "我²", "我³"]),
        ("prophetnet", "Мой the cats.", ["Мой", "the", "cat", "s", "."]),
        ("prophetnet", "и\u0306 мои\u0306 Thé", ["и\u0306", "мои\u0306", "Thé"]),
        ("prophetnet", "xyzа а 我爱你", ["xyzа", "а", "我", "爱", "你"]),
        ("prophetnet", "zzz!cat zz-zz ЩЩ", ["zzz", "!", "cat", "zz", "-", "zz", "ЩЩ"]),
        ("prophetnet", "Zz\u200bz ca\u00adt", ["ZzU+200Bz", "caU+00ADt"]),
        ("prophetnet", "ｔｈｅ the", ["ｔｈｅ", "the"]),
        ("prophetnet", FAMILY + " cat", [FAMILY, "cat"]),
        ("roc_bert", "Мой cats爱", ["Мой", "cat", "s", "爱"]),
        ("esm", "MKT-AYX", list("MKT-AYX")),
        ("esm", "MKT мама LA", ["M", "K", "T", "мама", "L", "A"]),
        ("blenderbot-small", "The Cat.", ["The", "C", "a", "t", "."]),
        ("blenderbot-small", "Ягода the", [*"Ягода", "the"]),
        ("vits", "Cat", ["_", "C", "_", "a", "_", "t", "_"]),
    ],
)
def test_labels_are_cut_from_the_text(kind: str, text: str, expected: Sequence[str], kinds: dict[str, Any]) -> None:
    assert labels(encode(kinds[kind], text)) == list(expected)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=40)
@given(text=st.one_of(st.text(min_size=1), st.text("абвйcat the我爱.- \n\u0306\u200b👍ﬁ##▁@", min_size=1)))
def test_any_text_gives_the_ids_of_the_tokenizer_and_labels_that_can_be_read(
    kind: str, text: str, kinds: dict[str, Any]
) -> None:
    assume(any(map(is_visible, text)))
    sentence = read_sentence(text)
    try:
        encoding = tokenize(kinds[kind], sentence, None)
    except InputError as error:
        assume(error.key != "text_unknown")
        raise
    assert encoding.ids == tuple(kinds[kind](sentence.text)["input_ids"])
    content = [token for token in encoding.tokens if not token.special]
    assert all(token.text == token.text.strip() != "" for token in encoding.tokens)
    assert all(0 <= token.start <= token.end <= len(sentence.text) for token in encoding.tokens)
    assert [token.start for token in content] == sorted(token.start for token in content)
    assert [token.word for token in content] == sorted(token.word for token in content)


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_text_is_cut_as_the_tokenizer_cuts_it(kind: str, kinds: dict[str, Any]) -> None:
    text = "the cat the cat the cat"
    cut = encode(kinds[kind], text, 4)
    assert cut.ids == tuple(kinds[kind](text, truncation=True, max_length=4)["input_ids"])
    assert cut.truncated_from == len(kinds[kind](text)["input_ids"])


@pytest.mark.parametrize(
    ("kind", "special", "cls", "sep"),
    [
        ("canine", ["[CLS]", "[SEP]"], 1, 1),
        ("perceiver", ["[CLS]", "[SEP]"], 1, 1),
        ("byt5", ["</s>"], 0, 1),
        ("prophetnet", ["[SEP]"], 0, 1),
        ("roc_bert", ["[CLS]", "[SEP]"], 1, 1),
        ("esm", ["<cls>", "<eos>"], 1, 1),
        ("blenderbot-small", [], 0, 0),
        ("vits", [], 0, 0),
    ],
)
@pytest.mark.parametrize("text", ["a cat", "a [SEP] cat", "a [CLS] cat", "a <eos> cat", "a </s> cat"])
def test_only_what_the_tokenizer_adds_is_special(
    kind: str, special: list[str], cls: int, sep: int, text: str, kinds: dict[str, Any]
) -> None:
    encoding = encode(kinds[kind], text)
    assert [token.text for token in encoding.tokens if token.special] == special
    assert (len(encoding.cls), len(encoding.sep)) == (cls, sep)
    inner = {i for i, token in zip(encoding.ids, encoding.tokens, strict=True) if not token.special}
    tokenizer = kinds[kind]
    assert not inner & (set(tokenizer.all_special_ids) - {tokenizer.unk_token_id, tokenizer.pad_token_id})
    if kind != "vits":
        assert "".join(labels(encoding)).replace("▁", "") == text.replace(" ", "")


def test_words_end_at_white_space(kinds: dict[str, Any]) -> None:
    for kind in ("canine", "byt5", "prophetnet", "blenderbot-small"):
        encoding = encode(kinds[kind], "the cat, s")
        found: dict[int | None, str] = {}
        for token in encoding.tokens:
            found[token.word] = found.get(token.word, "") + token.text.strip("▁")
        assert [found[word] for word in (0, 1, 2)] == ["the", "cat,", "s"]


def test_a_tokenizer_that_takes_no_text_alone_is_refused(kinds: dict[str, Any]) -> None:
    class Table(CanineTokenizer):
        def build_inputs_with_special_tokens(self, token_ids_0: list[int], token_ids_1: Any = None) -> list[int]:
            raise ValueError("a table is needed\nand more")

    with pytest.raises(InputError) as caught:
        check_tokenizer(Table(), None, "here")  # type: ignore[arg-type] - refused before the model is looked at
    assert caught.value.key == "tokenizer_not_for_text"
    assert "a table is needed" in str(caught.value) and "\n" not in str(caught.value)


# --- pieces laid on a text ---


def place(text: str, *pieces: str, unknown: str | None = None) -> list[tuple[str, str | None]]:
    """Lay pieces on a text with a tokenizer that looks at the whole of it; the parts of the text and the names."""
    placed = place_pieces(text, pieces, lambda _run: [], str, unknown)
    return [(text[slice(*place.span)], place.name) for place in placed]


@pytest.mark.parametrize(
    ("text", "pieces", "parts"),
    [
        ("Мой дом", ["мо@@", "и", "дом"], ["Мо", "й", "дом"]),
        ("the the", ["▁th", "e", "▁", "the"], ["th", "e", "", "the"]),
        ("low lower", ["low</w>", "low", "er</w>"], ["low", "low", "er"]),
        ("##a @@ </w>", ["##", "a", "@@", "</w>"], ["##", "a", "@@", "</w>"]),
        ("ﬁn Ⅳ", ["f", "in", "IV"], ["ﬁ", "ﬁn", "Ⅳ"]),
        ("Straße", ["strasse"], ["Straße"]),
        ("हिन्दी", ["ह", "ि", "##न्द", "##ी"], ["ह", "ि", "न्द", "ी"]),
        ("한국어", ["한", "##국어"], ["한", "국어"]),
        ("„ja“, nein", ['"', "ja", '"', ",", "nein"], ["„", "ja", "“", ",", "nein"]),
    ],
)
def test_pieces_are_found_under_case_accents_and_marks(text: str, pieces: Sequence[str], parts: Sequence[str]) -> None:
    assert place(text, *pieces) == [(part, None) for part in parts]


def test_the_unknown_takes_the_text_between_what_is_known() -> None:
    assert place("aa ?? bb", "aa", "?", "bb", unknown="?") == [("aa", None), ("??", None), ("bb", None)]
    assert place("aa xx yy bb", "aa", "?", "?", "bb", unknown="?")[1:3] == [("xx", None), ("yy", None)]
    assert place("我你他", "?", "?", "他", unknown="?")[:2] == [("我", None), ("你", None)]


def test_pieces_that_are_not_found_share_the_gap_and_keep_their_letters() -> None:
    assert place("aa Привет bb", "aa", "pri", "##vet", "bb")[1:3] == [("Привет", "pri"), ("Привет", "vet")]
    # As many pieces as letters: one each; more: they are parts of letters, which the label numbers.
    assert place("aa юж bb", "aa", "yu", "zh", "bb")[1:3] == [("ю", None), ("ж", None)]
    assert place("aa ж bb", "aa", "z", "h", "bb")[1:3] == [("ж", None), ("ж", None)]
    assert place("aa bb", "aa", "new", "bb")[1] == ("", "new")


def test_characters_and_bytes_are_placed_exactly() -> None:
    assert place_pieces("a b", ["a", " ", "b"], list, str, None) == tuple(
        Placed(span) for span in ((0, 1), (1, 2), (2, 3))
    )
    assert place("я", "Ñ", "\x8f") == [("я", None), ("я", None)]


def test_a_folder_of_vocabulary_files_is_loaded(tmp_path: Path, kinds: dict[str, Any]) -> None:
    kinds["prophetnet"].save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "prophetnet"}))
    tokenizer = load_tokenizer(tmp_path, "here", False)
    assert labels(encode(tokenizer, "Мой cats")) == ["Мой", "cat", "s"]
