"""Scores multiplied: against rebuilt models and hand-worked rows, and the report."""

import copy
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attnx import load_encoder
from attnx.encoders.encoder import Encoder
from attnx.encoders.interventions.records import Scale, Variant
from attnx.encoders.interventions.run import intervene
from attnx.encoders.records import AttentionMap
from attnx.errors import InputError
from attnx.experiments import scale
from attnx.experiments.records import Options, Progress
from attnx.experiments.running import run_experiment
from attnx.i18n import languages, load_catalog
from attnx.report.experiment.reading import experiment_from_twin
from attnx.report.experiment.rendering import render_experiment
from attnx.report.experiment.twin import to_json
from attnx.statistics.view import ScopeView, scope_view
from attnx.texts.sentence import read_sentence

QUIET = Progress()
TEXT = "Today the weather is very good"


def view_of(encoder: Encoder, *heads: torch.Tensor) -> ScopeView:
    encoding = encoder.encode(read_sentence("Wer"))
    assert len(encoding.ids) == len(heads[0])
    return scope_view(AttentionMap(encoding, torch.stack(heads)[None].double()), "all")


def test_rows_by_hand(encoder: Encoder) -> None:
    """Even, one-hot, and 1 : 2 : 1."""
    heads = (torch.full((3, 3), 1 / 3), torch.eye(3), torch.tensor([0.25, 0.5, 0.25]).expand(3, 3))
    view = view_of(encoder, *heads)
    entropy, confidence, share = scale.scores(view)[:, 0]
    np.testing.assert_allclose(entropy, (1, 0, 1.5 * math.log(2) / math.log(3)), atol=1e-7)
    np.testing.assert_allclose(confidence, (1 / 3, 1, 0.5), atol=1e-7)
    assert share.tolist() == [0, 1, 0]
    # The scores 0, ln 2, 0 have a variance of (ln 2)² · 2/9.
    spread = scale.spread_of(view)[0]
    assert spread[0] == pytest.approx(0, abs=1e-7) and spread[2] == pytest.approx(math.log(2) * math.sqrt(2) / 3)
    assert np.isnan(spread[1])  # all other scores are −∞
    squared = scale.sharpened(heads[2].double(), 2)
    np.testing.assert_allclose(squared[0], (1 / 6, 4 / 6, 1 / 6))


def test_entropy_falls_as_the_variance_of_the_scores_says() -> None:
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(6, generator=generator, dtype=torch.float64).softmax(-1)
    logs, beta, step = weights.log(), 1.7, 1e-5

    def entropy(at: float) -> float:
        return float(torch.special.entr(scale.sharpened(weights, at)).sum())

    p = scale.sharpened(weights, beta)
    variance = float((p * logs**2).sum() - (p * logs).sum() ** 2)
    slope = (entropy(beta + step) - entropy(beta - step)) / (2 * step)
    assert slope == pytest.approx(-beta * variance, rel=1e-6)


def test_one_layer_alone_is_what_the_model_makes_of_it(encoder: Encoder) -> None:
    encoding = encoder.encode(read_sentence(TEXT))
    beta = scale.root_width(encoder)
    assert beta == pytest.approx(math.sqrt(32))
    outcome = intervene(encoder, [encoding] * 2, [Variant(), Variant(scale=Scale(beta, frozenset({3})))])
    before, after = outcome.attention[3]
    torch.testing.assert_close(scale.sharpened(before.double(), beta).float(), after, rtol=0, atol=2e-5)


def test_all_layers_are_a_model_with_larger_queries(encoder: Encoder) -> None:
    encoding = encoder.encode(read_sentence(TEXT))
    rebuilt = copy.deepcopy(encoder.model)
    for name, parameter in rebuilt.named_parameters():
        if ".self.query." in name:
            parameter.data *= 2
    weights = replace(encoder, model=rebuilt).observe(encoding).weights
    found = scale.measure(encoder, [encoding], np.array([1.0, 2.0]), QUIET.advance).rows[0, scale.ALL, 1]
    expected = scale.scores(scope_view(AttentionMap(encoding, weights), "content"))
    np.testing.assert_allclose(found[:2], expected[:2], atol=1e-4)


def test_verdicts() -> None:
    assert scale.verdict_of(np.array([0.1, 0.6])) == "holds"
    assert scale.verdict_of(np.array([0.1, 0.3])) == "mixed"
    assert scale.verdict_of(np.array([0.6, 0.8])) == "mixed"
    assert scale.verdict_of(np.array([0.0, 0.1])) == "fails"


@pytest.fixture(scope="module")
def document(encoder: Encoder) -> Any:
    sentences = [read_sentence(text) for text in ("王者荣耀怎么玩", TEXT)]
    return run_experiment("scale", encoder, sentences, Options(), QUIET)


def test_the_built_in_model_half_saturates(document: Any) -> None:
    result = document.result
    numbers = result.numbers
    assert result.verdict == "mixed" and numbers["width"] == 32
    assert numbers["before"] < 0.1 and 0.3 < numbers["after"] < 0.5 and numbers["twin"] == 0
    assert numbers["twin_spread"] < 0.2 < 1 < numbers["spread"] < 1.5
    assert all((np.diff(curve.y) < 0).all() for curve in result.exhibits[0].curves)  # entropy, each layer alone


@pytest.mark.parametrize("language", languages())
def test_the_report_says_the_same_after_reading_it_back(document: Any, language: str) -> None:
    t = load_catalog(language)
    read = experiment_from_twin(json.loads(to_json(document)))
    assert render_experiment(read, ".html", t) == render_experiment(document, ".html", t)


def test_models_that_do_not_divide_are_refused(make_model: Callable[..., Path]) -> None:
    sentences = [read_sentence("the cat sat the")]
    with pytest.raises(InputError) as caught:
        run_experiment("scale", load_encoder(str(make_model("m07_t5.json"))), sentences, Options(), QUIET)
    assert caught.value.key == "scale_none"
    causal = run_experiment("scale", load_encoder(str(make_model("m08_gpt2_causal.json"))), sentences, Options(), QUIET)
    assert causal.result.verdict == "fails"
    render_experiment(causal, ".html", load_catalog("zh"))
