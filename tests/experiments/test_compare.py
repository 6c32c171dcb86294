"""Two texts, or two models, head by head: by hand, on the built-in model, and as a command."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
import torch

from attnx import load_encoder
from attnx.encoders.encoder import Encoder
from attnx.encoders.records import AttentionMap
from attnx.experiments import compare
from attnx.experiments.compare import Side
from attnx.experiments.records import HeadMap, Options, Progress, Table, TokenMaps
from attnx.experiments.running import run_experiment
from attnx.i18n import languages, load_catalog
from attnx.report.experiment.reading import experiment_from_twin
from attnx.report.experiment.rendering import render_experiment
from attnx.report.experiment.twin import to_json
from attnx.statistics import score_heads
from attnx.texts.sentence import read_sentence

QUIET = Progress()
CAT, DOG = "The cat sat on the mat", "The dog sat on the mat"


def side(encoder: Encoder, **scores: list[list[float]]) -> Side:
    encoding = encoder.encode(read_sentence(CAT))
    attention = AttentionMap(encoding, torch.eye(len(encoding.ids)).expand(2, 2, -1, -1))
    return Side("x", attention, {name: np.array(values) for name, values in scores.items()})


def test_changes_by_hand(encoder: Encoder) -> None:
    """The standard deviation of 0, 0, 0, 4 and 0, 0, 4, 4 is √3.75, and only one of four heads changed, by 4."""
    first = side(encoder, entropy=[[0, 0], [0, 4]], self_share=[[1, 1], [1, 1]], sink=[[1, 2], [3, 4]])
    second = side(encoder, entropy=[[0, 0], [4, 4]], self_share=[[1, 1], [1, 1]], sink=[[4, 3], [2, 1]])
    sink, entropy = compare.changes_of(first, second)  # a share that is the same everywhere is left out
    assert (sink.statistic, entropy.statistic) == ("sink", "entropy")
    np.testing.assert_allclose(entropy.values, np.array([[0, 0], [4, 0]]) / 3.75**0.5)
    assert entropy.size == pytest.approx(1 / 3.75**0.5)
    assert sink.correlation == pytest.approx(-1)
    assert entropy.correlation == pytest.approx(scipy.stats.spearmanr([0, 0, 0, 4], [0, 0, 4, 4]).statistic)


@pytest.mark.parametrize(("rho", "verdict"), [(0.9, "holds"), (0.5, "mixed"), (0.1, "fails"), (-0.5, "fails")])
def test_verdict(rho: float, verdict: str) -> None:
    assert compare.verdict_of(rho, chance=0.1) == verdict


def test_a_text_beside_itself_has_not_changed(encoder: Encoder) -> None:
    result = compare.run(encoder, [read_sentence(CAT)] * 2, Options(), QUIET)
    assert result.verdict == "holds" and result.numbers["rho"] == pytest.approx(1) and result.numbers["top_change"] == 0
    assert float(result.numbers["chance"]) < 0.2
    change, _table, divergence, differences, _maps = result.exhibits
    assert isinstance(divergence, HeadMap) and isinstance(differences, TokenMaps)
    assert not change.values.any() and divergence.values.max() < 1e-12
    assert all(not one.values.any() for one in differences.maps)


@pytest.fixture(scope="module")
def document(encoder: Encoder) -> Any:
    return run_experiment("compare", encoder, [read_sentence(CAT), read_sentence(DOG)], Options(), QUIET)


def test_one_other_word(encoder: Encoder, document: Any) -> None:
    result = document.result
    assert result.verdict == "holds" and [note.key for note in result.notes] == ["one_pair"]
    change, table, divergence, differences, maps = result.exhibits
    assert isinstance(table, Table) and change.values.shape == (12, 12)
    sizes = [float(row.cells[2]) for row in table.rows]
    assert sizes == sorted(sizes, reverse=True) and len(sizes) == result.numbers["n"]
    assert [len(differences.maps), len(maps.maps)] == [3, 6]
    assert "cat/dog" in differences.maps[0].tokens
    weights = [encoder.observe(encoder.encode(read_sentence(text))).weights.double().numpy() for text in (CAT, DOG)]
    apart = scipy.spatial.distance.jensenshannon(*weights, axis=-1) ** 2
    np.testing.assert_allclose(divergence.values, apart.mean(-1), atol=1e-6)
    top = divmod(int(divergence.values.argmax()), 12)
    assert differences.maps[0].label == "L{}·H{}".format(*(i + 1 for i in top))
    np.testing.assert_allclose(differences.maps[0].values, weights[1][top] - weights[0][top], atol=1e-6)
    first = score_heads(encoder.observe(encoder.encode(read_sentence(CAT))))["content"].values
    [entropy] = [row for row in table.rows if row.label.key == "entropy"]
    assert entropy.cells[0].values["value"] == pytest.approx(first["entropy"].mean(), abs=1e-6)


@pytest.mark.parametrize("language", languages())
def test_the_report_says_the_same_after_reading_it_back(document: Any, language: str) -> None:
    t = load_catalog(language)
    read = experiment_from_twin(json.loads(to_json(document)))
    assert to_json(read) == to_json(document)
    html = render_experiment(read, ".html", t)
    assert html == render_experiment(document, ".html", t)
    assert t.text("statistics.entropy.name") in html.decode()


def test_texts_of_unequal_length_have_no_differences(encoder: Encoder) -> None:
    result = compare.run(
        encoder, [read_sentence(CAT), read_sentence("Where did you leave the keys?")], Options(), QUIET
    )
    assert [type(exhibit) for exhibit in result.exhibits] == [HeadMap, Table, TokenMaps]
    assert [note.key for note in result.notes] == ["lengths", "not_aligned", "one_pair"]


def test_the_command(cli: Callable[..., Any], make_model: Callable[..., Path], tmp_path: Path) -> None:
    models = [make_model("m01_bert_24pos.json"), make_model("m09_distilbert.json")]
    other = make_model("m01_bert_24pos.json", num_hidden_layers=1)
    result = cli("compare", "the cat sat", "-m", models[0], "--with-model", models[0], "-o", "o.html", "-o", "o.json")
    assert result.exit_code == 0, result.stderr
    assert "Second model" in (tmp_path / "o.html").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "o.json").read_text())["settings"]["other_model"] == str(models[0])
    assert cli("render", "o.json", "-o", "r.html", "-l", "ru").exit_code == 0
    assert cli("compare", "the cat sat", "the cat", "-m", models[1], "-o", "p.html").exit_code == 0
    for arguments, message in (
        (["the cat"], "Give two texts"),
        (["the cat", "the cat", "--with-model", other], "Give two texts"),
        (["the cat", "--with-model", other], "different sizes"),
    ):
        refused = cli("compare", *arguments, "-m", models[0])
        assert refused.exit_code == 2 and message in refused.stderr


def test_models_of_other_sizes(make_model: Callable[..., Path]) -> None:
    first, second = (
        load_encoder(str(make_model("m01_bert_24pos.json", **size))) for size in ({}, {"num_hidden_layers": 1})
    )
    with pytest.raises(compare.InputError) as caught:
        compare.run(first, [read_sentence("the cat sat")], Options(other=second), QUIET)
    assert caught.value.key == "compare_shapes"
