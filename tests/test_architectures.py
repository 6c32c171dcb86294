"""Unusual architectures: what is shown of them, what is said of them, and which checks refuse a model."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModel, BertConfig, BertModel, LongformerModel, XLMModel

from attnx import load_encoder
from attnx.encoders.adapters import REFUSED, Adapter
from attnx.encoders.attending import attend
from attnx.encoders.baseline import random_twin
from attnx.encoders.encoder import Encoder
from attnx.encoders.probe import probe
from attnx.encoders.records import AttentionMap
from attnx.errors import InputError
from attnx.statistics import score_heads
from attnx.texts.sentence import read_sentence

DATA = Path(__file__).parent / "data/models"
MakeModel = Callable[..., Path]
BASE = "m01_bert_24pos.json"
WORDS_ALONE = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]"}
TEXT = "мама мыла раму"
IDS = range(10, 23)


@pytest.fixture(scope="module")
def load(make_model: MakeModel) -> Callable[..., Encoder]:
    """Load a tiny model: the settings of a BERT of 2 layers × 2 heads, changed."""

    def run(**changes: Any) -> Encoder:
        return load_encoder(str(make_model(BASE, **changes)))

    return run


Load = Callable[..., Encoder]


def observe(encoder: Encoder, *texts: str) -> tuple[AttentionMap, ...]:
    return encoder.observe_batch([encoder.encode(read_sentence(text)) for text in texts])


def keys(encoder: Encoder) -> list[str]:
    return [note.key for note in encoder.info.notes]


# --- what a token can look at ---


def test_local_layers_are_found_by_looking(load: Load) -> None:
    encoder = load(
        model_type="modernbert",
        local_attention=6,
        global_attn_every_n_layers=2,
        num_hidden_layers=4,
        max_position_embeddings=64,
    )
    assert encoder.info.reach == ((None, None), (3, 3), (None, None), (3, 3))
    [attention] = observe(encoder, "the cat sat " * 4)
    size = len(attention.encoding.tokens)
    far = (torch.arange(size) - torch.arange(size)[:, None]).abs() > 3
    assert (attention.weights[[1, 3]][..., far] == 0).all()
    assert (attention.weights[[0, 2]][..., far] > 0).all()
    # Entropy over its maximum: at most the logarithm of 7 keys in a window, which 14 tokens would lower.
    even = replace(attention, weights=(~far / (~far).sum(-1, keepdim=True)).float().expand(4, 2, -1, -1))
    assert score_heads(even)["all"].values["normalized_entropy"][[1, 3]] == pytest.approx(1.0)


def test_a_text_shorter_than_the_window_is_full(load: Load) -> None:
    encoder = load(model_type="modernbert", local_attention=6, global_attn_every_n_layers=2)
    [attention] = observe(encoder, "the")
    assert (attention.weights > 0).all()


def test_a_decoder_is_causal_and_normalized_by_the_keys_it_sees(make_model: MakeModel) -> None:
    encoder = load_encoder(str(make_model("m08_gpt2_causal.json", "words", WORDS_ALONE)))
    assert encoder.info.causal
    assert encoder.info.reach == ((None, 0), (None, 0))
    [attention] = observe(encoder, "the cat sat")
    assert attention.weights.triu(1).abs().max() == 0
    even = replace(attention, weights=(torch.ones(3, 3).tril() / torch.arange(1, 4)[:, None]).expand(2, 2, 3, 3))
    assert score_heads(even)["all"].values["normalized_entropy"] == pytest.approx(1.0)


def test_a_window_that_is_too_long_to_try_limits_the_text(load: Load) -> None:
    encoder = load(
        model_type="mistral", sliding_window=2000, max_position_embeddings=4000, num_key_value_heads=2, head_dim=8
    )
    assert encoder.info.causal
    assert encoder.max_tokens == 2000
    around = load(model_type="modernbert", local_attention=3000, max_position_embeddings=4000)
    assert (around.info.reach, around.max_tokens) == ((), 1500)


def test_longformer_is_put_back_into_tokens_by_tokens(make_model: MakeModel) -> None:
    """Column c of query i is key i + c - 2: written out by hand for the model's own output."""
    folder = make_model(BASE, model_type="longformer", attention_window=[4, 4], max_position_embeddings=64)
    encoder = load_encoder(str(folder))
    assert encoder.info.reach == ((2, 2), (2, 2))
    encoding = encoder.encode(read_sentence("the cat sat the cat sat"))
    size = len(encoding.ids)
    model = LongformerModel.from_pretrained(folder).eval()
    with torch.no_grad():
        windows = model(input_ids=torch.tensor([encoding.ids]), output_attentions=True).attentions
    expected = torch.zeros(2, 2, size, size)
    for layer, window in enumerate(windows):
        for query in range(size):
            for column in range(5):
                key = query + column - 2
                if 0 <= key < size:
                    expected[layer, :, query, key] = window[0, :, query, column]
    torch.testing.assert_close(encoder.observe(encoding).weights, expected, rtol=0, atol=1e-7)
    torch.testing.assert_close(expected.sum(-1), torch.ones(2, 2, size), rtol=0, atol=1e-6)


# --- what is said of a model ---


def test_albert_says_that_its_layers_share_their_weights(load: Load) -> None:
    encoder = load(model_type="albert", embedding_size=16, num_hidden_layers=5, num_hidden_groups=1)
    assert encoder.info.layers == 5
    assert [(note.key, note.values["n"]) for note in encoder.info.notes] == [("shared_layers", 1)]


def test_an_encoder_decoder_says_that_the_encoder_is_shown(make_model: MakeModel) -> None:
    assert keys(load_encoder(str(make_model("m07_t5.json")))) == ["encoder_only"]


def test_sparse_attention_is_made_full_and_said_so(load: Load) -> None:
    encoder = load(model_type="big_bird", attention_type="block_sparse", block_size=4)
    assert keys(encoder) == ["full_attention"]
    for _ in range(2):  # left as it is, the model would change itself at the first short text
        [attention] = observe(encoder, TEXT)
        torch.testing.assert_close(attention.weights.sum(-1), torch.ones(2, 2, 5), rtol=0, atol=1e-5)


def test_a_learned_sink_is_left_out_and_said_so(load: Load) -> None:
    encoder = load(model_type="gpt_oss", num_key_value_heads=2, head_dim=8, num_local_experts=2, num_experts_per_tok=1)
    assert "sinks" in keys(encoder)
    raw = attend(encoder.model, encoder.adapter, [list(IDS)], ["en"])
    assert all((layer.sum(-1) < 0.95).any() for layer in raw)
    [attention] = observe(encoder, "the cat sat on the mat")
    torch.testing.assert_close(attention.weights.sum(-1), torch.ones_like(attention.weights.sum(-1)), rtol=0, atol=1e-6)


def test_layers_of_pooled_positions_are_left_out_and_counted(make_model: MakeModel) -> None:
    encoder = load_encoder(str(make_model("m11_funnel.json")))
    [note] = encoder.info.notes
    assert (note.key, note.values) == ("pooled_layers", {"shown": 2, "total": 3})
    assert observe(encoder, "the cat sat")[0].weights.shape[:2] == (2, 2)


# --- languages, padding, types ---


def test_xlm_is_told_the_language_of_the_text(make_model: MakeModel) -> None:
    changes = {"emb_dim": 16, "n_heads": 2, "n_langs": 2, "use_lang_emb": True, "lang2id": {"en": 0, "ru": 1}}
    folder = make_model(BASE, model_type="xlm", **changes)
    encoder = load_encoder(str(folder))
    model = XLMModel.from_pretrained(folder, attn_implementation="eager").eval()
    for text, language in (("the cat sat", 0), (TEXT, 1)):
        [attention] = observe(encoder, text)
        ids = torch.tensor([attention.encoding.ids])
        with torch.no_grad():
            plain = model(input_ids=ids, langs=torch.full_like(ids, language), output_attentions=True).attentions
        torch.testing.assert_close(attention.weights, torch.stack(plain)[:, 0], rtol=0, atol=1e-6)


def test_a_text_gets_the_same_weights_beside_a_longer_one(load: Load) -> None:
    encoder = load()
    texts = ("the", "the cat sat on the mat", "мама мыла")
    for together, text in zip(observe(encoder, *texts), texts, strict=True):
        torch.testing.assert_close(together.weights, observe(encoder, text)[0].weights, rtol=0, atol=1e-6)


def test_texts_are_run_one_by_one_where_padding_changes_the_weights(load: Load) -> None:
    encoder = load(model_type="convbert", head_ratio=1, embedding_size=32, conv_kernel_size=9)
    assert encoder.apart
    texts = ("the", "the cat sat on the mat")
    for together, text in zip(observe(encoder, *texts), texts, strict=True):
        assert torch.equal(together.weights, observe(encoder, text)[0].weights)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_on_request_still_gives_rows_of_one_in_float32(make_model: MakeModel, dtype: str) -> None:
    folder = str(make_model(BASE))
    half, full = load_encoder(folder, dtype=dtype), load_encoder(folder)
    assert next(half.model.parameters()).dtype == getattr(torch, dtype)
    [attention], [exact] = observe(half, TEXT), observe(full, TEXT)
    assert attention.weights.dtype == torch.float32
    torch.testing.assert_close(attention.weights.sum(-1), torch.ones(2, 2, 5), rtol=0, atol=1e-6)
    torch.testing.assert_close(attention.weights, exact.weights, rtol=0, atol=2e-2)
    assert [(note.key, note.values) for note in half.info.notes] == [("half_precision", {"dtype": dtype})]
    assert (half.info.computed_in, full.info.computed_in) == (dtype, "float32")


def test_layers_of_a_model_are_read_from_the_weights_not_the_configuration(load: Load) -> None:
    encoder = load(model_type="convbert", head_ratio=2, embedding_size=32, conv_kernel_size=3)
    assert encoder.model.config.num_attention_heads == 2
    assert encoder.info.heads == 1
    assert keys(encoder) == ["half_mixing"]


# --- the checks ---


class WithDropout(BertModel):
    """Dropout that stays on whatever the mode."""

    def forward(self, **inputs: Any) -> Any:
        self.train()
        return super().forward(**inputs)


class WithoutMask(BertModel):
    """Padding is attended to."""

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, **options: Any) -> Any:
        return super().forward(input_ids, torch.ones_like(attention_mask), **options)


class Changed(BertModel):
    """What comes back is not what the layers made."""

    change: Callable[[tuple[torch.Tensor, ...]], Sequence[torch.Tensor]]

    def forward(self, **inputs: Any) -> Any:
        output = super().forward(**inputs)
        output["attentions"] = type(self).change(output["attentions"])
        return output


class Doubled(Changed):
    """A copy of the first layer's map stands for that of a layer that does not exist."""

    @staticmethod
    def change(layers: tuple[torch.Tensor, ...]) -> Sequence[torch.Tensor]:
        return (*layers, layers[0].clone())


class FewerHeads(Changed):
    """The second layer has one head."""

    @staticmethod
    def change(layers: tuple[torch.Tensor, ...]) -> Sequence[torch.Tensor]:
        return (layers[0], layers[1][:, :1])


class Averaged(Changed):
    """The heads are averaged, so that three dimensions are left."""

    @staticmethod
    def change(layers: tuple[torch.Tensor, ...]) -> Sequence[torch.Tensor]:
        return [layer.mean(1) for layer in layers]


class Nothing(Changed):
    """No weights come back, as under another implementation of attention."""

    @staticmethod
    def change(layers: tuple[torch.Tensor, ...]) -> Sequence[torch.Tensor]:
        return ()


class EveryOther(BertModel):
    """A token sees every other position only."""

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, **options: Any) -> Any:
        places = torch.arange(input_ids.shape[1])
        striped = ((places - places[:, None]) % 2 == 0) & attention_mask[:, None].bool()
        mask = torch.zeros(striped.shape).masked_fill(~striped, torch.finfo(torch.float32).min)
        return super().forward(input_ids, mask[:, None], **options)


def tiny_bert(kind: type[BertModel] = BertModel) -> BertModel:
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=64, max_position_embeddings=24, attn_implementation="eager", **sizes)
    return kind(config).eval()


def test_an_ordinary_model_passes_every_check() -> None:
    found = probe(tiny_bert(), Adapter(), "bert", IDS, 24)
    assert (found.layers, found.heads, found.reach, found.notes, found.limit, found.apart) == (2, 2, (), (), 24, False)


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        (WithDropout, "check_rows"),
        (WithoutMask, "check_padding"),
        (Doubled, "check_calls"),
        (FewerHeads, "check_heads"),
        (Averaged, "check_dimensions"),
        (Nothing, "no_attentions"),
        (EveryOther, "check_reach"),
    ],
)
def test_a_model_that_fails_a_check_is_refused_by_type_and_check(kind: type[BertModel], key: str) -> None:
    with pytest.raises(InputError) as caught:
        probe(tiny_bert(kind), Adapter(), "bert-of-a-kind", IDS, 24)
    assert caught.value.key == key
    assert "bert-of-a-kind" in str(caught.value)


def test_dropout_elsewhere_than_in_the_weights_is_noticed_by_repeating() -> None:
    model = tiny_bert(WithDropout)
    for layer in model.encoder.layer:
        layer.attention.self.dropout.p = 0.0
    with pytest.raises(InputError) as caught:
        probe(model, Adapter(), "bert", IDS, 24)
    assert caught.value.key == "check_repeat"


@pytest.mark.parametrize(
    ("name", "changes", "key"),
    [
        ("squeezebert", {"embedding_size": 16}, "check_rows"),
        ("longformer", {"attention_window": [4, 4]}, "check_dimensions"),
        ("yoso", {}, "check_dimensions"),
        ("gpt_oss", {"num_key_value_heads": 2, "head_dim": 8, "num_local_experts": 2, "num_experts_per_tok": 1}, None),
    ],
)
def test_an_adapted_type_without_its_adapter_would_be_refused(name: str, changes: dict[str, Any], key: str) -> None:
    """So a type like it, which a later transformers brings, gives no wrong numbers."""
    settings = json.loads((DATA / BASE).read_text()) | changes | {"model_type": name}
    model = AutoModel.from_config(AutoConfig.for_model(**settings), attn_implementation="eager").eval()
    if key is None:  # a sink is recognized by its parameter in any type
        assert "sinks" in [note.key for note in probe(model, Adapter(), name, IDS, 24).notes]
        return
    with pytest.raises(InputError) as caught:
        probe(model, Adapter(), name, IDS, 24)
    assert caught.value.key == key
    assert name in str(caught.value)


@pytest.mark.parametrize("name", sorted(REFUSED.keys() & {"fnet", "mra", "yoso", "reformer", "perceiver", "pegasus_x"}))
def test_a_type_without_attention_between_tokens_is_refused_in_one_line(make_model: MakeModel, name: str) -> None:
    folder = make_model(BASE)
    (folder / "config.json").write_text(json.dumps({"model_type": name}))
    with pytest.raises(InputError) as caught:
        load_encoder(str(folder))
    assert caught.value.key == REFUSED[name]
    assert name in str(caught.value) and "\n" not in str(caught.value)


def test_longt5_with_attention_to_blocks_is_refused(make_model: MakeModel) -> None:
    folder = make_model("m07_t5.json", model_type="longt5")
    settings = json.loads((folder / "config.json").read_text()) | {"encoder_attention_type": "transient-global"}
    (folder / "config.json").write_text(json.dumps(settings))
    with pytest.raises(InputError) as caught:
        load_encoder(str(folder))
    assert caught.value.key == "no_attention_blocks"


# --- the random twin ---


def test_a_random_twin_is_the_same_architecture_with_other_weights_drawn_from_a_seed(load: Load) -> None:
    encoder = load()
    encoding = encoder.encode(read_sentence(TEXT))
    own, first, again, other = (
        one.observe(encoding).weights
        for one in (encoder, random_twin(encoder, 1), random_twin(encoder, 1), random_twin(encoder, 2))
    )
    assert own.shape == first.shape
    assert torch.equal(first, again)
    assert not torch.equal(first, other) and not torch.equal(own, first)
    assert encoder.observe(encoding).weights.equal(own)
