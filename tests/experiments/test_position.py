"""Positions taken away: heads whose answer is known, the oracle of reordered tokens, the built-in model, the report."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attnx import load_encoder
from attnx.encoders.encoder import Encoder
from attnx.encoders.interventions.positions import positions_off
from attnx.encoders.records import AttentionMap, Encoding
from attnx.errors import InputError
from attnx.experiments import position
from attnx.experiments.batching import in_batches
from attnx.experiments.divergence import between
from attnx.experiments.intervals import interval, mean_of
from attnx.experiments.records import Options, Progress
from attnx.experiments.running import run_experiment
from attnx.experiments.variants import in_order, orders
from attnx.i18n import languages, load_catalog
from attnx.report.experiment.reading import experiment_from_twin
from attnx.report.experiment.rendering import render_experiment
from attnx.report.experiment.twin import to_json
from attnx.texts.sentence import read_sentence

QUIET = Progress()
TEXT = "Today the weather is very good and warm"


def maps_of(encoding: Encoding, *heads: torch.Tensor) -> AttentionMap:
    return AttentionMap(encoding, torch.stack(heads)[None])


def test_constructed_heads(encoder: Encoder) -> None:
    """A head that follows words keeps its map, one of places becomes even, a sink stays, an even one has no change."""
    encoding = encoder.encode(read_sentence(TEXT))
    size = len(encoding.ids)
    even = torch.full((size, size), 1 / size)
    words = torch.eye(size)[torch.randperm(size, generator=torch.Generator().manual_seed(1))]
    following = torch.eye(size).roll(1, 1)
    sink = torch.full((size, size), 0.01)
    sink[:, 3] = 1 - 0.01 * (size - 1)
    before, after = maps_of(encoding, words, following, sink, even), maps_of(encoding, words, even, sink, even)
    found = position.compare(before, after, torch.Generator().manual_seed(0))
    change = position.change_of(found)[0]
    np.testing.assert_allclose(change[:3], (0, 1, 0), atol=1e-6)
    assert np.isnan(change[3])
    # The last row has no weight in scope and does not count.
    assert found[2, 0, 1] == 1
    assert position.counts(change[None]) == {"kept": 2, "lost": 1, "even": 1}


def test_the_verdict_needs_both_kinds_and_a_rising_line() -> None:
    chance, rate = np.ones((1, 4)), np.array([[0.1, 0.2, 0.8, 0.9]])
    changes = np.array([[0.1, 0.2, 0.8, 0.9]])
    assert position.verdict_of(np.stack([changes, chance, rate])) == "holds"
    assert position.verdict_of(np.stack([changes, chance, rate[:, ::-1]])) == "mixed"
    assert position.verdict_of(np.stack([changes * 0.2, chance, rate])) == "mixed"
    assert position.verdict_of(np.stack([np.full((1, 4), 0.5), chance, rate])) == "fails"
    assert position.verdict_of(np.stack([changes, chance * 0, rate])) == "unclear"


def test_without_positions_all_orders_look_alike(encoder: Encoder) -> None:
    """The oracle: in the content frame nothing changes, in any layer."""
    encoding = encoder.encode(read_sentence(TEXT))
    [order, *_] = orders("shuffled", encoding, random.Random(0), 1)
    with positions_off(encoder, encoding):
        old, new = (one.weights for one in encoder.observe_batch([encoding, in_order(encoding, order)]))
    moved = torch.tensor(order)
    assert between(new, old[:, :, moved[:, None], moved]).max() < 1e-8


def test_intervals_and_batches(encoder: Encoder) -> None:
    values = np.tile(np.array([[1.0, np.nan], [3.0, 5.0]]), (10, 1))
    np.testing.assert_array_equal(mean_of(values), (2, 5))
    low, high = interval(values, lambda mean: float(mean[0]), 0)
    # The mean of 20 values of spread 1 has a standard error of 1/√20.
    assert low == pytest.approx(2 - 1.96 / np.sqrt(20), abs=0.1) and high == pytest.approx(4 - low, abs=0.1)
    assert np.isnan(interval(values[:9], lambda mean: float(mean[0]), 0)).all()
    encodings = [encoder.encode(read_sentence(text)) for text in ("Да", TEXT, "Нет", TEXT)]
    [batch] = in_batches(encoder, encodings)
    assert sorted(map(id, batch)) == sorted(map(id, encodings)) and batch[0].sentence.text == TEXT
    alone = list(in_batches(encoder, encodings, copies=10**9))
    assert [len(one) for one in alone] == [1] * 4


@pytest.fixture(scope="module")
def document(encoder: Encoder) -> Any:
    sentences = [read_sentence(text) for text in ("今天天气很好，我们去公园散步吧", TEXT, "Да")]
    return run_experiment("position", encoder, sentences, Options(), QUIET)


def test_the_head_of_the_next_token_loses_its_map(document: Any) -> None:
    result = document.result
    change = result.exhibits[1].values
    assert result.verdict == "holds" and result.numbers["n"] == 2
    assert [note.key for note in result.notes] == ["left_out", "small"]
    assert change[2, 6] > 0.9 and change[1, 7] > 0.8 and change[1, 10] > 0.8  # L3·H7 next, L2·H8 and L2·H11 before
    assert change[0, 4] < 0.1 and change[11].max() < 0.75
    model, twin = (row.cells for row in result.exhibits[0].rows)
    assert model[0] > 20 * twin[0]
    assert (result.numbers["rho"], result.numbers["rho_chance"]) == (model[5], twin[5])


@pytest.mark.parametrize("language", languages())
def test_the_report_says_the_same_after_reading_it_back(document: Any, language: str) -> None:
    t = load_catalog(language)
    read = experiment_from_twin(json.loads(to_json(document)))
    assert render_experiment(read, ".html", t) == render_experiment(document, ".html", t)


def test_tiny_models(make_model: Callable[..., Path]) -> None:
    """A few heads of random weights have no rank correlation; a causal model has positions that stay."""
    sentences = [read_sentence("the cat sat the")]
    tiny = load_encoder(str(make_model("m01_bert_24pos.json")))
    document = run_experiment("position", tiny, sentences, Options(), QUIET)
    assert document.result.verdict == "unclear"  # random weights are too even
    assert "ρ is –;" in render_experiment(document, ".html", load_catalog("en")).decode()
    with pytest.raises(InputError) as caught:
        run_experiment("position", load_encoder(str(make_model("m08_gpt2_causal.json"))), sentences, Options(), QUIET)
    assert caught.value.key == "positions_stay"
