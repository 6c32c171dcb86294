"""The published table as it was published, and what merging does to a model's states."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attnx import load_encoder
from attnx.encoders.encoder import Encoder
from attnx.errors import InputError
from attnx.experiments import heads
from attnx.experiments.merging import Merged
from attnx.experiments.records import Curves, Options, Progress, Table, Words
from attnx.experiments.running import run_experiment
from attnx.experiments.states import moved
from attnx.i18n import languages, load_catalog
from attnx.report.experiment.reading import experiment_from_twin
from attnx.report.experiment.rendering import render_experiment
from attnx.report.experiment.twin import to_json
from attnx.texts.sentence import read_sentence

QUIET = Progress()


def test_moved_by_hand() -> None:
    """Two tokens at a right angle, 1 − cos = 1 apart: one turned by 60° moves by 1/2, both together by 1/4."""
    before = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    turned = torch.tensor([[1.0, 3**0.5], [0.0, 5.0]])  # length does not count
    assert moved(torch.stack([before, turned]), before).tolist() == pytest.approx([0, 0.25])
    # The same turn among tokens only 60° apart counts double.
    near = torch.tensor([[2.0, 0.0], [1.0, 3**0.5]])
    assert moved(torch.tensor([[1.0, 3**0.5], [1.0, 3**0.5]]), near).item() == pytest.approx(0.5)
    for equal in (torch.ones(3, 2), torch.ones(1, 2)):
        with pytest.raises(InputError) as caught:
            moved(equal, equal)
        assert caught.value.key == "states_equal"


def test_statistics_of_constructed_heads() -> None:
    """Heads 1 and 2 look at the token itself, 3 and 4 at all evenly; the two kinds are JS((1, 0), (1/2, 1/2)) apart."""
    weights = torch.stack([torch.eye(2), torch.eye(2), torch.full((2, 2), 0.5), torch.full((2, 2), 0.5)])[None]
    states = torch.eye(2)
    apart = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25)) - np.log(2) / 2
    for groups, pairs in ((4, 4 / 6), (2, 1)):
        found = heads.statistics(Merged(groups, weights, weights, weights, states), states)
        assert found == pytest.approx((0, np.log(2) / 2, apart * pairs))
    assert np.isnan(heads.statistics(Merged(1, weights, weights, weights, states), states)[heads.DISTINCT])


@pytest.fixture(scope="module")
def document(encoder: Encoder) -> Any:
    return run_experiment("heads", encoder, [read_sentence("王者荣耀怎么玩")], Options(), QUIET)


def test_the_table_is_not_decided_by_merging(document: Any) -> None:
    assert document.result.verdict == "unclear"
    published, merged, moving = document.result.exhibits
    assert isinstance(published, Table) and isinstance(moving, Curves)
    # One constant width: heads × d_k = 512.
    assert [int(str(row.label)) * row.cells[0] for row in published.rows] == [512] * 5
    bleu = {row.label: cell.values["value"] for row in published.rows if isinstance(cell := row.cells[2], Words)}
    assert bleu == {"1": 24.9, "4": 25.5, "8": 25.8, "16": 25.8, "32": 25.4}
    assert [row.label for row in merged.rows] == ["12", "6", "4", "3", "2", "1"]
    assert merged.rows[0].cells[0] == pytest.approx(0, abs=1e-9)
    here, chance = (curve.y for curve in moving.curves)
    # A trained model needs its heads apart; with random weights all heads look evenly anyway.
    assert here[1:].min() > 0.05 > chance.max()


@pytest.mark.parametrize("language", languages())
def test_the_report_says_the_same_after_reading_it_back(document: Any, language: str) -> None:
    t = load_catalog(language)
    read = experiment_from_twin(json.loads(to_json(document)))
    assert to_json(read) == to_json(document)
    assert render_experiment(read, ".html", t) == render_experiment(document, ".html", t)


def test_a_tiny_model_and_a_text_too_short(make_model: Callable[..., Path]) -> None:
    encoder = load_encoder(str(make_model("m01_bert_24pos.json")))
    assert run_experiment("heads", encoder, [read_sentence("the cat sat")], Options(), QUIET).result.numbers["n"] == 1
    with pytest.raises(InputError) as caught:
        run_experiment("heads", encoder, [read_sentence("cat")], Options(), QUIET)
    assert caught.value.key == "experiment_short"
