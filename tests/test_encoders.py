"""Models of many kinds in folders: what runs and what the heads give."""

import inspect
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel, AutoTokenizer, T5EncoderModel

from attnx import load_encoder
from attnx.encoders.encoder import Encoder
from attnx.errors import AttnxError, InputError
from attnx.texts.sentence import read_sentence

DATA = Path(__file__).parent / "data"
MakeModel = Callable[..., Path]
TEXT = "мама мыла раму"


def weights(encoder: Encoder, text: str) -> torch.Tensor:
    return encoder.observe(encoder.encode(read_sentence(text))).weights


def labels(encoder: Encoder, text: str) -> list[str]:
    return [token.text for token in encoder.encode(read_sentence(text)).tokens]


# --- a second real model ---


@pytest.fixture(scope="module")
def second(minilm: Path) -> Encoder:
    return load_encoder(str(minilm))


def test_attention_of_a_real_folder_is_what_plain_transformers_gives(second: Encoder, minilm: Path) -> None:
    text = "The cat sat on the mat because it was warm."
    model = AutoModel.from_pretrained(minilm, attn_implementation="eager", dtype=torch.float32).eval()
    batch = AutoTokenizer.from_pretrained(minilm)(text, return_tensors="pt")
    with torch.no_grad():
        plain = torch.stack(model(**batch, output_attentions=True).attentions)[:, 0]
    assert second.encode(read_sentence(text)).ids == tuple(batch["input_ids"][0].tolist())
    assert torch.equal(weights(second, text), plain)
    assert plain.shape == (6, 12, 13, 13)


def test_a_real_folder_is_described_by_its_path_and_its_configuration(second: Encoder, minilm: Path) -> None:
    info = second.info
    assert (info.name, info.source, info.revision) == (str(minilm), "local", None)
    assert (info.type, info.layers, info.heads, info.dtype) == ("bert", 6, 12, "float32")


def test_labels_are_the_words_as_written_not_pieces_of_the_vocabulary(second: Encoder) -> None:
    encoding = second.encode(read_sentence("Unaffable ÉCLAIR!"))
    shown = [token.text for token in encoding.tokens]
    assert shown[0] == "[CLS]" and shown[-1] == "[SEP]"
    assert "".join(shown[1:-1]) == "UnaffableÉCLAIR!"
    assert (encoding.cls, encoding.sep) == ((0,), (len(shown) - 1,))
    assert [token.special for token in encoding.tokens] == [True, *[False] * (len(shown) - 2), True]


def test_padding_and_cutting_stored_with_a_tokenizer_are_not_used(second: Encoder, minilm: Path) -> None:
    stored = json.loads((minilm / "tokenizer.json").read_text(encoding="utf-8"))
    assert stored["padding"] and stored["truncation"]["max_length"] < 200
    assert labels(second, "one") == ["[CLS]", "one", "[SEP]"]
    assert len(labels(second, "one " * 200)) == 202


@pytest.mark.parametrize("text", ["[SEP]", "[CLS]", "</s>", "<s>", "<pad>", "<unk>", "<mask>"])
def test_a_text_that_spells_a_special_token_is_ordinary_text(second: Encoder, encoder: Encoder, text: str) -> None:
    for model in (second, encoder):
        encoding = model.encode(read_sentence(f"a {text} b"))
        assert sum(token.special for token in encoding.tokens) == 2
        assert len(encoding.cls) == len(encoding.sep) == 1
        shown = "".join(token.text for token in encoding.tokens if not token.special)
        assert shown.replace("▁", "") == f"a{text}b"
        assert not set(encoding.ids[1:-1]) & set(model.tokenizer.all_special_ids)


# --- tiny models: types, tokenizers, configurations ---


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_checkpoints_are_computed_in_float32(make_model: MakeModel, dtype: torch.dtype) -> None:
    encoder = load_encoder(str(make_model("m01_bert_24pos.json", dtype=dtype)))
    assert {parameter.dtype for parameter in encoder.model.parameters()} == {torch.float32}
    assert encoder.info.dtype == str(dtype).removeprefix("torch.")
    rows = weights(encoder, TEXT).double().sum(-1)
    torch.testing.assert_close(rows, torch.ones_like(rows), rtol=0, atol=1e-6)


def test_dropout_is_off_and_two_runs_are_identical(make_model: MakeModel) -> None:
    encoder = load_encoder(str(make_model("m01_bert_24pos.json", attention_probs_dropout_prob=0.5)))
    first = weights(encoder, TEXT)
    assert first.shape == (2, 2, 5, 5)
    assert float(first.max()) <= 1
    torch.testing.assert_close(first.double().sum(-1), torch.ones(2, 2, 5).double(), rtol=0, atol=1e-5)
    assert torch.equal(first, weights(encoder, TEXT))


@pytest.mark.parametrize(
    "stored",
    [
        {"attn_implementation": "sdpa"},
        {"_attn_implementation": "sdpa"},
        {"output_attentions": True},
    ],
)
def test_attention_is_eager_whatever_the_configuration_says(make_model: MakeModel, stored: dict[str, Any]) -> None:
    folder = make_model("m01_bert_24pos.json")
    config = json.loads((folder / "config.json").read_text()) | stored
    (folder / "config.json").write_text(json.dumps(config))
    assert weights(load_encoder(str(folder)), TEXT).shape == (2, 2, 5, 5)


def test_a_model_without_attention_weights_is_a_named_error(make_model: MakeModel) -> None:
    encoder = load_encoder(str(make_model("m01_bert_24pos.json")))
    encoder.model.set_attn_implementation("sdpa")
    with pytest.raises(AttnxError) as caught:
        weights(encoder, TEXT)
    assert caught.value.key == "no_attentions"
    assert "bert" in str(caught.value)


def test_limit_is_the_position_table_where_the_tokenizer_knows_none(make_model: MakeModel) -> None:
    stored = json.loads((DATA / "models/tok_no_maxlen.json").read_text())
    encoder = load_encoder(str(make_model("m01_bert_24pos.json", tokenizer_config=stored)))
    assert encoder.max_tokens == 24
    encoding = encoder.encode(read_sentence("我" * 600))
    assert (len(encoding.tokens), encoding.truncated_from) == (24, 602)
    assert [token.text for token in encoding.tokens] == ["[CLS]", *["我"] * 22, "[SEP]"]
    assert encoder.observe(encoding).weights.shape == (2, 2, 24, 24)
    with pytest.raises(InputError) as caught:
        encoder.encode(read_sentence("我" * 600), "error")
    assert caught.value.key == "text_too_long"
    assert "602" in str(caught.value) and "24" in str(caught.value)


def test_a_text_of_just_the_limit_is_not_cut(make_model: MakeModel) -> None:
    encoder = load_encoder(str(make_model("m01_bert_24pos.json")))
    assert encoder.encode(read_sentence("我" * 22), "error").truncated_from is None
    assert encoder.encode(read_sentence("我" * 23)).truncated_from == 25


def test_a_roberta_table_holds_fewer_positions_than_rows(make_model: MakeModel) -> None:
    encoder = load_encoder(str(make_model("m02_xlmr_offset.json")))
    assert encoder.max_tokens == 24
    assert weights(encoder, "我" * 600).shape == (2, 2, 24, 24)


def test_a_tokenizer_that_cuts_at_the_start_is_made_to_keep_the_start(make_model: MakeModel) -> None:
    stored = {"tokenizer_class": "PreTrainedTokenizerFast", "truncation_side": "left", "unk_token": "[UNK]"}
    encoder = load_encoder(str(make_model("m01_bert_24pos.json", tokenizer_config=stored)))
    assert labels(encoder, "мама " + "мыла " * 40)[1] == "мама"


def test_a_tokenizer_without_padding_or_frame_works(make_model: MakeModel) -> None:
    stored = json.loads((DATA / "models/tok_no_pad.json").read_text())
    folder = make_model("m01_bert_24pos.json", "words", stored)
    encoder = load_encoder(str(folder))
    assert encoder.model.get_input_embeddings().num_embeddings == 64
    encodings = [encoder.encode(read_sentence(text)) for text in ("the", "the cat", "the cat sat")]
    for encoding, together in zip(encodings, encoder.observe_batch(encodings), strict=True):
        assert [token.text for token in encoding.tokens] == encoding.sentence.text.split()
        assert (encoding.cls, encoding.sep) == ((), ())
        torch.testing.assert_close(together.weights, encoder.observe(encoding).weights, rtol=0, atol=1e-6)
    assert weights(encoder, "the cat sat").shape == (2, 2, 3, 3)


def test_only_what_the_model_takes_is_given_to_it(make_model: MakeModel) -> None:
    stored = {"tokenizer_class": "BertTokenizer", "model_input_names": ["input_ids", "token_type_ids"]}
    encoder = load_encoder(str(make_model("m09_distilbert.json", tokenizer_config=stored)))
    assert "token_type_ids" in encoder.tokenizer(TEXT)
    assert "token_type_ids" not in inspect.signature(encoder.model.forward).parameters
    assert weights(encoder, TEXT).shape == (2, 2, 5, 5)
    assert (encoder.info.type, encoder.info.layers, encoder.info.heads) == ("distilbert", 2, 2)


def test_an_encoder_decoder_gives_the_self_attention_of_its_encoder(make_model: MakeModel) -> None:
    folder = make_model("m07_t5.json")
    encoder = load_encoder(str(folder))
    seen = weights(encoder, TEXT)
    plain = T5EncoderModel.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        ids = torch.tensor([encoder.encode(read_sentence(TEXT)).ids])
        expected = plain(input_ids=ids, output_attentions=True).attentions
    assert seen.shape == (2, 2, 5, 5)
    assert torch.equal(seen, torch.stack(expected)[:, 0])
    assert encoder.max_tokens is None


def test_an_encoder_saved_without_its_decoder_is_accepted(make_model: MakeModel, tmp_path: Path) -> None:
    folder = make_model("m07_t5.json")
    T5EncoderModel.from_pretrained(folder).save_pretrained(tmp_path)
    for file in folder.glob("tokenizer*"):
        shutil.copy(file, tmp_path)
    assert torch.equal(weights(load_encoder(str(tmp_path)), TEXT), weights(load_encoder(str(folder)), TEXT))


# --- labels, end to end (TOK-1, TOK-2) ---


@pytest.mark.parametrize("text", ["\u043c\u043e\u0439", "\u043c\u043e\u0438\u0306"], ids=["composed", "combining"])
def test_a_folding_tokenizer_shows_the_word_as_written(make_model: MakeModel, text: str) -> None:
    encoder = load_encoder(str(make_model("m01_bert_24pos.json")))
    encoding = encoder.encode(read_sentence(text))
    assert encoder.tokenizer.convert_ids_to_tokens(list(encoding.ids)) == ["[CLS]", "мои", "[SEP]"]
    assert [token.text for token in encoding.tokens] == ["[CLS]", text, "[SEP]"]


def test_a_byte_level_tokenizer_shows_letters_and_numbers_the_parts_of_one(make_model: MakeModel) -> None:
    encoder = load_encoder(str(make_model("m01_bert_24pos.json", "byte_level", vocab_size=300)))
    shown = labels(encoder, "мир 我 👍")
    assert shown[1:-1] == [
        "м¹",
        "м²",
        "и¹",
        "и²",
        "р¹",
        "р²",
        "▁",
        "我¹",
        "我²",
        "我³",
        "▁",
        "👍¹",
        "👍²",
        "👍³",
        "👍⁴",
    ]
    assert not set("".join(shown)) & set("ÐÑĠæ")
    assert weights(encoder, "мир 我 👍").shape == (2, 2, 17, 17)


def test_words_of_unicode_files_are_shown_whole(encoder: Encoder) -> None:
    for line in (DATA / "f20_unicode_words.txt").read_text(encoding="utf-8").splitlines():
        if line.strip("\u200b \ufeff"):
            encoding = encoder.encode(read_sentence(line))
            shown = [token.text for token in encoding.tokens if not token.special]
            assert shown and all(label and "\ufffd" not in label for label in shown)
            assert not any(character in "\u200b\u00ad" for label in shown for character in label)
