"""Tokenizers that cannot be used: that fit no text, no model, or need what is not there."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    BertConfig,
    BertModel,
    CanineConfig,
    CanineModel,
    IBertConfig,
    IBertModel,
    PreTrainedTokenizerFast,
)

from attnx.encoders.records import Encoding
from attnx.encoders.tokenizing import check_tokenizer, load_tokenizer, tokenize
from attnx.errors import InputError
from attnx.texts.sentence import read_sentence

SPECIAL = ("<s>", "</s>", "<unk>")
SMALL = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}


def wrap(vocabulary: dict[str, int]) -> PreTrainedTokenizerFast:
    """A tokenizer of whole words, three special tokens apart."""
    special = {symbol: i for i, symbol in enumerate(SPECIAL)}
    backend = Tokenizer(models.WordLevel(special | vocabulary, unk_token="<unk>"))
    backend.add_special_tokens(list(SPECIAL))
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def encode(tokenizer: Any, text: str) -> Encoding:
    return tokenize(tokenizer, read_sentence(text), None)


# --- what no token can be made of ---


def test_a_tokenizer_without_a_token_for_the_unknown_is_one_plain_error() -> None:
    backend = Tokenizer(models.WordLevel({"a": 0}))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    with pytest.raises(InputError) as caught:
        encode(PreTrainedTokenizerFast(tokenizer_object=backend), "a b")
    assert caught.value.key == "text_not_tokenizable" and "\n" not in str(caught.value)


def test_a_text_of_which_nothing_is_left_is_refused() -> None:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE({"a": 0, "b": 1}, [])))
    assert len(encode(tokenizer, "xay").ids) == 1
    with pytest.raises(InputError) as caught:
        encode(tokenizer, "xyz")
    assert caught.value.key == "text_unknown"


# --- a tokenizer that does not fit ---


@pytest.fixture(scope="module")
def bert() -> BertModel:
    return BertModel(BertConfig(vocab_size=30, **SMALL))


def refusal(tokenizer: Any, model: torch.nn.Module) -> str | None:
    try:
        check_tokenizer(tokenizer, model, "here")
    except InputError as error:
        return error.key
    return None


@pytest.mark.parametrize(
    ("vocabulary", "key"),
    [
        ({}, "tokenizer_empty"),
        ({"▁": 3}, "tokenizer_empty"),
        ({".": 3}, "tokenizer_empty"),
        ({"a": 3, "b": 29}, None),
        ({"a": 3, "b": 30}, "tokenizer_misfit"),
    ],
)
def test_a_vocabulary_must_have_words_and_fit_the_embedding(
    vocabulary: dict[str, int], key: str | None, bert: BertModel
) -> None:
    assert refusal(wrap(vocabulary), bert) == key


@pytest.mark.parametrize("kind", ["t5", "mbart", "bert", "splinter", "xlm-roberta", "udop"])
def test_a_tokenizer_that_transformers_makes_up_is_refused(kind: str, tmp_path: Path, bert: BertModel) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    assert refusal(load_tokenizer(tmp_path, "here", False), bert) == "tokenizer_empty"


def test_a_model_without_a_table_of_tokens_takes_any_id() -> None:
    tokenizer = wrap({"a": 3, "b": 30})
    assert refusal(tokenizer, CanineModel(CanineConfig(**SMALL, num_hash_functions=2))) is None
    assert refusal(tokenizer, IBertModel(IBertConfig(vocab_size=31, **SMALL))) is None
    assert refusal(tokenizer, IBertModel(IBertConfig(vocab_size=30, **SMALL))) == "tokenizer_misfit"


# --- loading ---


@pytest.mark.skipif(find_spec("sentencepiece") is not None, reason="the package is there")
@pytest.mark.parametrize(
    ("kind", "file"),
    [("t5", "spiece.model"), ("xlm-roberta", "sentencepiece.bpe.model"), ("marian", "source.spm")],
)
def test_a_sentencepiece_file_says_which_package_it_needs(kind: str, file: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    (tmp_path / file).write_bytes(b"\x0a\x05\x0a\x03<s>")
    with pytest.raises(InputError) as caught:
        load_tokenizer(tmp_path, "here", False)
    assert caught.value.key == "tokenizer_needs_package"
    assert "pip install sentencepiece" in str(caught.value) and "\n" not in str(caught.value)


def test_a_tokenizer_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(InputError) as caught:
        load_tokenizer(tmp_path, "here", False)
    assert caught.value.key == "tokenizer_not_loadable" and "\n" not in str(caught.value)
