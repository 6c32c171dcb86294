"""Distances between heads by depth, on spreads and planes whose answer is known, and the report."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnx import load_encoder
from attnx.encoders.encoder import Encoder
from attnx.errors import InputError
from attnx.experiments import distance
from attnx.experiments.casting import roles_of
from attnx.experiments.distance import verdict_of
from attnx.experiments.measuring import measured
from attnx.experiments.records import Options, Progress
from attnx.experiments.running import run_experiment
from attnx.experiments.scaling import plane
from attnx.experiments.spreads import Spreads, spread_of
from attnx.i18n import languages, load_catalog
from attnx.report.experiment.reading import experiment_from_twin
from attnx.report.experiment.rendering import render_experiment
from attnx.report.experiment.twin import to_json
from attnx.statistics import score_heads
from attnx.statistics.accumulators.ranks import spearman
from attnx.statistics.accumulators.results import DistanceResult
from attnx.texts.sentence import read_sentence

SAMPLES = Path(__file__).parents[2] / "samples"
QUIET = Progress()


def spreads(by_depth: list[float], low: float, high: float) -> Spreads:
    """Distances of which only the spread of each layer is known."""
    nothing = np.full((1, 1), np.nan)
    trend = spearman(np.arange(len(by_depth), dtype=float), np.array(by_depth))
    nearest = np.zeros((1, 1), dtype=np.int64)
    found = DistanceResult(12, nothing, nothing, np.diag(by_depth), 0.1, 0.2, nearest, nothing, trend, low, high)
    return Spreads(found, None, None)


def test_points_in_a_plane_are_found_again() -> None:
    places = np.array([[0.0, 3.0], [0, -3], [1, 0], [-1, 0], [0.5, 1]])
    squares = ((places[:, None] - places) ** 2).sum(-1)
    np.fill_diagonal(squares, np.nan)
    points, share = plane(squares)
    again = ((points[:, None] - points) ** 2).sum(-1)
    np.testing.assert_allclose(again[squares > 0], squares[squares > 0], atol=1e-12)
    assert share == pytest.approx(1)
    assert (points[np.abs(points).argmax(0), [0, 1]] > 0).all()


def test_a_plane_shows_two_thirds_of_a_tetrahedron_and_leaves_out_what_has_no_distance() -> None:
    squares = np.full((5, 5), 1.0)
    squares[2] = squares[:, 2] = np.nan
    points, share = plane(squares)
    assert share == pytest.approx(2 / 3)  # four corners at distance 1 have three equal axes
    assert np.isnan(points).all(-1).tolist() == [False, False, True, False, False]
    same, all_of_it = plane(np.zeros((3, 3)))
    assert (same == 0).all() and all_of_it == 1


def test_the_spread_of_a_layer_is_the_mean_over_its_pairs() -> None:
    divergences = np.full((6, 6), 9.0)
    np.fill_diagonal(divergences, np.nan)
    for (a, b), value in {(0, 1): 0.1, (0, 2): 0.2, (1, 2): 0.6, (3, 4): 0.5, (3, 5): np.nan, (4, 5): np.nan}.items():
        divergences[a, b] = divergences[b, a] = value
    np.testing.assert_allclose(spread_of(divergences, 2), (0.3, 0.5))


def test_the_verdict() -> None:
    falling, tiny = spreads([0.3, 0.2, 0.1], -1, -0.9), spreads([0.300, 0.299, 0.298], -1, -0.9)
    rising, unsure = spreads([0.1, 0.2, 0.3], 0.9, 1), spreads([0.3, 0.2, 0.1], -1, 0.2)
    few = spreads([0.3, 0.2, 0.1], np.nan, np.nan)
    assert falling.rest == pytest.approx(1 / 3) and falling.trend == -1

    def verdict(content: Spreads, everything: Spreads, twin: Spreads = rising) -> str:
        return verdict_of({"content": content, "all": everything}, {"content": twin})

    assert verdict(falling, falling) == "holds"
    assert verdict(falling, falling, tiny) == "holds"  # the twin has the ranks, but no such fall
    assert verdict(tiny, tiny, tiny) == verdict(falling, falling, falling) == "mixed"
    assert verdict(falling, rising) == verdict(rising, falling) == "mixed"
    assert verdict(rising, rising) == verdict(unsure, unsure) == "fails"
    assert verdict(few, few) == "unclear"


def test_layers_of_one_spread_have_no_trend() -> None:
    assert spreads([0.2, 0.2, 0.2], np.nan, np.nan).trend == 0
    assert spreads([0.0, 0.0, 0.0], np.nan, np.nan).rest == 1


@pytest.fixture(scope="module")
def document(encoder: Encoder) -> Any:
    lines = SAMPLES.joinpath("en.txt").read_text(encoding="utf-8").splitlines()[:10]
    return run_experiment("distance", encoder, [read_sentence(line) for line in lines], Options(), QUIET)


def test_the_built_in_model_has_tight_late_layers(document: Any) -> None:
    numbers, table = document.result.numbers, document.result.exhibits[1]
    assert document.result.verdict == "holds"
    assert (numbers["widest"], numbers["tightest"]) == ("L3", "L10")
    assert numbers["rho"] == pytest.approx(-0.734, abs=0.01) and numbers["rest"] == pytest.approx(0.6, abs=0.05)
    assert numbers["within"] < numbers["between"]  # what Clark et al. say
    assert numbers["within_chance"] < 0.01  # heads with random weights hardly differ
    within, between, rho, low, high = table.rows[0].cells
    assert 0 < within < between < np.log(2) and low <= rho <= high < 0
    depth, _, points, *_ = document.result.exhibits
    assert all((curve.low <= curve.y).all() and (curve.y <= curve.high).all() for curve in depth.curves)
    assert np.isfinite(points.x).all() and points.x.shape == (12, 12)


def test_roles_are_those_of_the_means_of_single_texts(encoder: Encoder, document: Any) -> None:
    lines = SAMPLES.joinpath("en.txt").read_text(encoding="utf-8").splitlines()[:10]
    scores = [score_heads(encoder.observe(encoder.encode(read_sentence(line)))) for line in lines]
    roles = np.array(document.result.exhibits[3].roles)
    means = np.mean([one["all"].values["previous_share"] for one in scores], 0)
    assert (roles == "previous").sum() > 0
    np.testing.assert_array_equal(roles == "previous", means >= 0.5)
    broad = np.mean([one["content"].values["normalized_entropy"] for one in scores], 0) >= 0.9
    assert (broad[roles == "broad"]).all() and not broad[roles == ""].any()


def test_a_role_that_an_even_head_would_half_fulfil_is_not_given(encoder: Encoder) -> None:
    short = list(measured(encoder, [read_sentence("cat")], (), QUIET.advance))
    assert short[0].batch.tokens == 3  # an even head gives each token a third
    assert {name for row in roles_of(short) for name in row} <= {"", "positional", "punctuation", "sharp", "broad"}


def test_a_report_with_a_role_that_there_is_not_is_refused(document: Any) -> None:
    twin = json.loads(to_json(document))
    twin["exhibits"][3]["roles"][0][0] = "king"
    with pytest.raises(InputError) as caught:
        experiment_from_twin(twin)
    assert caught.value.key == "report_broken"


@pytest.mark.parametrize("language", languages())
def test_the_report_says_the_same_after_reading_it_back(document: Any, language: str) -> None:
    t = load_catalog(language)
    read = experiment_from_twin(json.loads(to_json(document)))
    assert to_json(read) == to_json(document)
    assert render_experiment(read, ".html", t) == render_experiment(document, ".html", t)


def test_one_text_gives_no_interval_and_no_answer(make_model: Callable[..., Path]) -> None:
    encoder = load_encoder(str(make_model("m01_bert_24pos.json", num_hidden_layers=3)))
    sentences = [read_sentence("the cat sat the"), read_sentence("the cat")]
    document = run_experiment("distance", encoder, sentences, Options(), QUIET)
    result = document.result
    assert result.verdict == "unclear"
    assert np.isnan(result.exhibits[1].rows[0].cells[-1])  # a dash, in every language
    again = experiment_from_twin(json.loads(to_json(document)))
    for language in languages():
        t = load_catalog(language)
        assert render_experiment(again, ".html", t) == render_experiment(document, ".html", t)
    assert {note.key: dict(note.values) for note in result.notes if note.key in ("small", "short")} == {
        "small": {"n": 1},
        "short": {"n": 1, "least": 4},
    }
    assert all(np.isfinite(value) for value in result.numbers.values() if not isinstance(value, str))


def test_what_cannot_be_compared_is_refused(encoder: Encoder) -> None:
    flat = replace(encoder, info=replace(encoder.info, layers=2))
    for model, text, key in (
        (flat, "the cat sat on the mat", "experiment_layers"),
        (encoder, "cat", "experiment_short"),
    ):
        with pytest.raises(InputError) as caught:
            distance.run(model, [read_sentence(text)], Options(), QUIET)
        assert caught.value.key == key
