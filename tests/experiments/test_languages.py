"""Heads in several languages: agreement on numbers whose answer is known, tables of languages, and the report."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnx.encoders.encoder import Encoder
from attnx.errors import InputError
from attnx.experiments import languages as experiment
from attnx.experiments.agreement import agreement, margin, rank_ranges
from attnx.experiments.languages import STATISTICS, verdict_of
from attnx.experiments.records import Options, Progress
from attnx.experiments.running import run_experiment
from attnx.experiments.texts import read_texts
from attnx.i18n import languages, load_catalog
from attnx.report.experiment.reading import experiment_from_twin
from attnx.report.experiment.rendering import render_experiment
from attnx.report.experiment.twin import to_json
from attnx.texts.sentence import Sentence

QUIET = Progress()
PARALLEL = Path(__file__).parents[2] / "samples/parallel.tsv"


def test_agreement_by_hand() -> None:
    # Two statistics of four heads: in the first both languages have one order, in the second the opposite one.
    first = np.array([[1.0, 1], [2, 2], [3, 3], [4, 4]])
    second = np.array([[10.0, 4], [20, 3], [30, 2], [40, 1]])
    values = np.array([first, first, second, second])
    found = agreement(values, np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(found.pairs, [[1], [-1]])
    np.testing.assert_allclose(found.halves, [1, 1])
    np.testing.assert_allclose(found.overlap, [1, 0])  # the top 2 of 4 heads
    assert found.overall == 0
    np.testing.assert_allclose(rank_ranges(found.means), [0.5, 1 / 6, 1 / 6, 0.5])  # of places 0, 1, 2, 3


def test_what_a_language_does_not_define_is_left_out() -> None:
    values = np.random.default_rng(0).normal(size=(4, 5, 2))
    values[2:, :, 1] = np.nan
    found = agreement(values, np.array([0, 0, 1, 1]))
    assert np.isnan(found.pairs[1]).all() and found.overall == found.pairs[0, 0]


def test_the_margin_is_wide_where_texts_differ() -> None:
    chance = np.random.default_rng(1)
    heads, groups = np.arange(30.0)[:, None], np.repeat([0, 1], 12)
    same, other = (heads + chance.normal(0, noise, (24, 30, 1)) for noise in (0.01, 40))
    assert margin(same, groups, 0) < 0.01 < 0.05 < margin(other, groups, 0)
    assert margin(other, groups, 0) == margin(other, groups, 0) != margin(other, groups, 1)


def test_the_verdict() -> None:
    assert verdict_of(0.9, 0.05, 0.7) == "holds"
    assert verdict_of(0.9, 0.05, 0.86) == "mixed"  # the twin is within the interval
    assert verdict_of(0.6, 0.05, 0.0) == "mixed"
    assert verdict_of(0.4, 0.05, 0.0) == "fails"
    assert verdict_of(0.9, float("nan"), 0.0) == "unclear"


def test_a_table_gives_its_rows_in_every_language(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text('id,ru,zh,note\n1,да,是,x\n2,,不,x\n3,"нет, нет",不,x\n4,5,6,x\n', encoding="utf-8")
    assert read_texts([str(table)], 2) == [
        Sentence("да", "ru"),
        Sentence("是", "zh"),
        Sentence("нет, нет", "ru"),
        Sentence("不", "zh"),
    ]
    # A column says what language it is, whatever the script.
    assert [sentence.language for sentence in read_texts([str(table), "the cat"], 3)[-3:]] == ["ru", "zh", "en"]


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ("id\ttext\n1\tда\n", "columns_no_language"),
        ("ru\tzh\nда\n", "line_in_file"),
        ("ru\tru\nда\tда\n", "column_twice"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(content: str, key: str, tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_texts([str(table)], 2)
    assert caught.value.key == key


@pytest.fixture(scope="module")
def document(encoder: Encoder) -> Any:
    return run_experiment("languages", encoder, read_texts([str(PARALLEL)], 12), Options(), QUIET)


def test_the_built_in_model_has_the_same_heads_in_three_languages(document: Any) -> None:
    numbers, (pairs, statistics, moves, entropies) = document.result.numbers, document.result.exhibits
    assert document.result.verdict == "holds" and document.count == 36
    assert (numbers["languages"], numbers["n"], numbers["top"]) == ("en, ru, zh", 12, 10)
    assert 0.9 < numbers["rho"] < 0.97
    # What random weights reach is why the twin is there.
    assert 0.6 < numbers["rho_chance"] < 0.87
    assert "twin" in [note.key for note in document.result.notes]
    assert [row.label.key for row in statistics.rows] == list(STATISTICS)
    matrix = np.array([row.cells for row in pairs.rows])
    np.testing.assert_array_equal(matrix, matrix.T)
    assert (matrix.diagonal() > 0.9).all()
    assert moves.values.shape == entropies.x.shape == (12, 12)


@pytest.mark.parametrize("language", languages())
def test_the_report_says_the_same_after_reading_it_back(document: Any, language: str) -> None:
    t = load_catalog(language)
    read = experiment_from_twin(json.loads(to_json(document)))
    assert to_json(read) == to_json(document)
    html = render_experiment(document, ".html", t)
    assert render_experiment(read, ".html", t) == html
    assert t.text("statistics.signed_distance.name") in html.decode()


def test_few_texts_give_no_answer_and_one_language_is_refused(
    cli: Callable[..., Any], make_model: Callable[..., Path], tmp_path: Path
) -> None:
    model = make_model("m01_bert_24pos.json")
    few = cli("experiment", "languages", "the cat sat", "мама мыла раму", "-m", model, "-o", "o.json")
    assert few.exit_code == 0, few.stderr
    twin = json.loads((tmp_path / "o.json").read_text(encoding="utf-8"))
    assert twin["verdict"] == "unclear" and twin["notes"][0]["key"] == "small"
    alone = cli("experiment", "languages", "the cat sat", "-m", model)
    assert alone.exit_code == 2 and "compares languages" in alone.stderr


def test_two_heads_have_no_rank(make_model: Callable[..., Path]) -> None:
    from attnx import load_encoder

    encoder = load_encoder(str(make_model("m01_bert_24pos.json", num_hidden_layers=1, num_attention_heads=2)))
    with pytest.raises(InputError) as caught:
        experiment.run(encoder, [Sentence("the cat", "en"), Sentence("мама мыла", "ru")], Options(), QUIET)
    assert caught.value.key == "experiment_undefined"
