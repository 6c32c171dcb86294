"""Merged heads against a rebuilt model and by hand, and what the experiment says of constructed heads."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attnx import load_encoder
from attnx.encoders.encoder import Encoder
from attnx.encoders.interventions.records import Merge, Variant
from attnx.encoders.interventions.run import intervene
from attnx.errors import InputError
from attnx.experiments import merge
from attnx.experiments.merging import averaged, divisors, merge_heads, multiplied
from attnx.experiments.records import HeadMap, Options, Progress, Table
from attnx.experiments.running import run_experiment
from attnx.i18n import languages, load_catalog
from attnx.report.experiment.reading import experiment_from_twin
from attnx.report.experiment.rendering import render_experiment
from attnx.report.experiment.twin import to_json
from attnx.texts.sentence import read_sentence

QUIET = Progress()
SENTENCE = "王者荣耀怎么玩"


def test_merged_by_hand() -> None:
    """Four heads into one: p ∝ Π p_h^(1/2), the masked key stays masked."""
    rows = torch.tensor([[0.64, 0.36, 0.0], [0.36, 0.64, 0.0], [0.64, 0.36, 0.0], [0.64, 0.36, 0.0]])
    weights = rows[None, :, None].expand(1, 4, 3, 3).contiguous()
    one = multiplied(weights, 1)
    # 0.8³ · 0.6 against 0.6³ · 0.8, so 0.64 against 0.36.
    assert torch.allclose(one[0, 0, 0], torch.tensor([0.64, 0.36, 0.0]))
    assert torch.allclose(averaged(weights, 1)[0, 0, 0], torch.tensor([0.57, 0.43, 0.0]))
    # Two heads that agree are sharpened: (16/9)^√2.
    ratio = (0.64 / 0.36) ** np.sqrt(2)
    assert multiplied(weights, 2)[0, 2, 0, 0].item() == pytest.approx(ratio / (1 + ratio))
    assert multiplied(weights, 4) is weights
    even = torch.full((1, 4, 3, 3), 1 / 3)
    assert torch.allclose(multiplied(even, 2), even)


def test_a_rebuilt_model_has_these_weights_in_its_first_layer(encoder: Encoder) -> None:
    encoding = encoder.encode(read_sentence(SENTENCE))
    for merged in merge_heads(encoder, encoding, (12, 2), QUIET.advance):
        config = copy.deepcopy(encoder.model.config)
        config.num_attention_heads = merged.groups
        model: Any = type(encoder.model)(config, add_pooling_layer=False).eval()
        model.load_state_dict(encoder.model.state_dict())
        rebuilt = replace(encoder, model=model, info=replace(encoder.info, heads=merged.groups)).observe(encoding)
        members = 12 // merged.groups
        assert torch.allclose(rebuilt.weights[0], merged.place[0, ::members], atol=2e-6)
        assert torch.allclose(rebuilt.weights, merged.again[:, ::members], atol=2e-5)


def test_in_place_is_a_layer_merged_alone(encoder: Encoder) -> None:
    encoding = encoder.encode(read_sentence(SENTENCE))
    [_own, merged] = merge_heads(encoder, encoding, (12, 3), QUIET.advance)
    for layer in (3, 11):
        alone = intervene(encoder, [encoding], [Variant(merge=Merge(3, frozenset({layer})))])
        assert torch.allclose(alone.attention[layer][0], merged.place[layer], atol=2e-5)


def test_verdicts() -> None:
    low, high = np.full((2, 4), 0.1), np.full((2, 4), 0.9)
    half = np.where(np.arange(4) < 2, high, low)
    assert merge.verdict_of(low, high) == merge.verdict_of(low, half) == "holds"
    assert merge.verdict_of(low, np.where(np.arange(4) < 1, high, low)) == "mixed"
    assert merge.verdict_of(low, low + 0.06) == "mixed"
    assert merge.verdict_of(low, low) == merge.verdict_of(low + 0.3, low) == "fails"


def test_the_number_that_the_answer_is_about(encoder: Encoder) -> None:
    assert divisors(encoder) == (12, 6, 4, 3, 2, 1)
    assert [merge.chosen(numbers) for numbers in ((12, 6, 4, 3, 2, 1), (9, 3, 1), (5, 1))] == [2, 3, 1]


@pytest.fixture(scope="module")
def document(encoder: Encoder) -> Any:
    return run_experiment("merge", encoder, [read_sentence(SENTENCE)], Options(), QUIET)


def test_the_built_in_model_does_not_collapse(document: Any) -> None:
    numbers = document.result.numbers
    assert (numbers["heads"], numbers["groups"], numbers["total"]) == (12, 2, 24)
    # With random weights heads are even, and stay so: 1/T for 8 tokens.
    table = next(exhibit for exhibit in document.result.exhibits if isinstance(exhibit, Table))
    assert len(table.rows) == 11
    own = table.rows[0].cells
    assert own[0] == pytest.approx(numbers["own"], abs=2e-6) and own[4] == pytest.approx(0, abs=1e-9)
    shares = next(exhibit for exhibit in document.result.exhibits if isinstance(exhibit, HeadMap)).values
    assert np.array_equal(shares[:, :6], np.repeat(shares[:, :1], 6, 1))
    assert shares.mean() == pytest.approx(numbers["again"], abs=2e-6)


@pytest.mark.parametrize("language", languages())
def test_the_report_says_the_same_after_reading_it_back(document: Any, language: str) -> None:
    t = load_catalog(language)
    read = experiment_from_twin(json.loads(to_json(document)))
    assert to_json(read) == to_json(document)
    assert render_experiment(read, ".html", t) == render_experiment(document, ".html", t)


def test_ten_texts_have_an_interval(make_model: Callable[..., Path]) -> None:
    encoder = load_encoder(str(make_model("m01_bert_24pos.json")))
    sentences = [read_sentence(text) for text in ["the cat sat", "мама мыла раму", "the cat", "мама", "sat"] * 2]
    document = run_experiment("merge", encoder, sentences, Options(), QUIET)
    assert [note.key for note in document.result.notes] == ["specials", "without", "interval"]
    assert document.result.verdict == "fails"  # random weights


def test_a_model_with_one_head_is_refused(make_model: Callable[..., Path]) -> None:
    encoder = load_encoder(str(make_model("m01_bert_24pos.json", num_attention_heads=1)))
    with pytest.raises(InputError) as caught:
        run_experiment("merge", encoder, [read_sentence("the cat")], Options(), QUIET)
    assert caught.value.key == "one_head"
