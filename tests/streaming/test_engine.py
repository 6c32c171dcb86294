"""The stream gives what measuring sentence by sentence gives, whatever is beside a sentence."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnx import load_encoder
from attnx.encoders.encoder import Encoder
from attnx.statistics import score_heads
from attnx.streaming.engine import stream
from attnx.streaming.records import NAMES, BatchScores, Refused
from attnx.texts.sentence import Sentence, read_sentence

SAMPLES = Path(__file__).parents[2] / "samples"
TEXTS = (
    "the",
    "the cat sat",
    "мама мыла раму",
    "я [CLS] the",
    "cat, the. sat s",
    "我爱北",
    "the cat sat on the mat, the",
)
Values = dict[int, dict[str, np.ndarray[Any, Any]]]


def measured(encoder: Encoder, texts: Iterable[str], **options: Any) -> Values:
    """Return number -> scope -> [layers, heads, S] of the stream."""
    numbered = [(number, 0, read_sentence(text)) for number, text in enumerate(texts)]
    found: Values = {}
    for item in stream(encoder, numbered, **options):
        assert isinstance(item, BatchScores)
        for place, number in enumerate(item.batch.numbers):
            found[int(number)] = {scope: values[place] for scope, values in item.values.items()}
    return found


def alone(encoder: Encoder, text: str) -> dict[str, np.ndarray[Any, Any]]:
    scores = score_heads(encoder.observe(encoder.encode(read_sentence(text))))
    return {scope: np.stack([scores[scope].values[name] for name in NAMES[scope]], -1) for scope in NAMES}


# Statistics counted in tokens: what rounding does to a weight counts once for every token.
IN_TOKENS = ("distance", "signed_distance", "effective_tokens")


def assert_same(found: Values, encoder: Encoder, texts: Iterable[str]) -> None:
    texts = list(texts)
    assert sorted(found) == list(range(len(texts)))
    for number, text in enumerate(texts):
        for scope, expected in alone(encoder, text).items():
            differences = np.nan_to_num(np.abs(found[number][scope] - expected))
            assert (np.isnan(found[number][scope]) == np.isnan(expected)).all()
            allowed = [2e-6 * (len(text) if name in IN_TOKENS else 1) for name in NAMES[scope]]
            assert (differences <= allowed).all(), (text, scope, differences.max((0, 1)))


@pytest.mark.parametrize("language", ["zh", "ru", "en"])
def test_samples_give_the_same_as_one_by_one(encoder: Encoder, language: str) -> None:
    texts = (SAMPLES / f"{language}.txt").read_text(encoding="utf-8").splitlines()
    assert_same(measured(encoder, texts), encoder, texts)


KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("m01_bert_24pos.json", {}),
    "roberta positions": ("m02_xlmr_offset.json", {}),
    "position bias": ("m07_t5.json", {}),
    "window": ("m01_bert_24pos.json", {"model_type": "modernbert", "local_attention": 4}),
    "no interface": ("m01_bert_24pos.json", {"model_type": "mpnet", "pad_token_id": 1}),
    "causal": ("m01_bert_24pos.json", {"model_type": "llama", "num_key_value_heads": 1}),
    "sinks": (
        "m01_bert_24pos.json",
        {"model_type": "gpt_oss", "num_local_experts": 2, "num_experts_per_tok": 1, "num_key_value_heads": 1},
    ),
    "pooled": ("m11_funnel.json", {}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_gives_the_same_as_one_by_one(make_model: Callable[..., Path], kind: str) -> None:
    config, changes = KINDS[kind]
    sizes = {"head_dim": 8} if changes.get("model_type") in ("llama", "gpt_oss") else {}
    encoder = load_encoder(str(make_model(config, **changes, **sizes)))
    assert_same(measured(encoder, TEXTS), encoder, TEXTS)


def test_order_budget_and_look_ahead_change_nothing(make_model: Callable[..., Path]) -> None:
    encoder = load_encoder(str(make_model("m01_bert_24pos.json")))
    texts = [" ".join(TEXTS[i % 3] for _ in range(1 + i % 2)) for i in range(12)]
    usual = measured(encoder, texts)
    for options in ({"token_budget": 8}, {"look_ahead": 3}):
        other = measured(encoder, texts, **options)
        for number, scopes in usual.items():
            for scope, values in scopes.items():
                np.testing.assert_allclose(other[number][scope], values, rtol=0, atol=1e-6)
    backwards = measured(encoder, texts[::-1])
    for number, scopes in usual.items():
        for scope, values in scopes.items():
            np.testing.assert_allclose(backwards[11 - number][scope], values, rtol=0, atol=1e-6)


def test_a_sentence_that_is_too_long_is_refused_and_the_rest_goes_on(make_model: Callable[..., Path]) -> None:
    encoder = load_encoder(str(make_model("m01_bert_24pos.json")))
    sentences = [(0, 0, read_sentence("the cat")), (1, 0, Sentence("the " * 50, "en")), (2, 0, read_sentence("sat"))]
    items = list(stream(encoder, sentences, long="error"))
    [refused] = [item for item in items if isinstance(item, Refused)]
    assert (refused.number, refused.key) == (1, "text_too_long")
    numbers = [int(n) for item in items if isinstance(item, BatchScores) for n in item.batch.numbers]
    assert sorted(numbers) == [0, 2]


def test_the_model_is_left_as_it_was(make_model: Callable[..., Path]) -> None:
    encoder = load_encoder(str(make_model("m01_bert_24pos.json")))
    before = encoder.model.config._attn_implementation
    batches = stream(encoder, [(0, 0, read_sentence("the cat"))])
    next(batches)
    batches.close()
    assert encoder.model.config._attn_implementation == before == "eager"
