"""Mean maps: made-up heads of every kind, texts of one length, and the report."""

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnx.encoders.encoder import Encoder
from attnx.errors import InputError
from attnx.experiments import average as experiment
from attnx.experiments.average import Averaged, share_right
from attnx.experiments.records import Options, Progress
from attnx.experiments.running import run_experiment
from attnx.i18n import languages, load_catalog
from attnx.report.experiment.reading import experiment_from_twin
from attnx.report.experiment.rendering import render_experiment
from attnx.report.experiment.twin import to_json
from attnx.statistics.accumulators.quadrants import QUADRANTS
from attnx.statistics.accumulators.results import QuadrantResult
from attnx.texts.sentence import Sentence, read_sentence

QUIET = Progress()
WHO = ("我妈妈", "他哥哥", "老师们", "小朋友")
WHEN = ("今天早上", "昨天晚上", "上个星期", "明年春天")
WHAT = ("在公园里跑步，然后回家", "去北京看朋友，还拍了照片", "给大家唱首歌，声音很好听", "买了三斤苹果，又买了花")


def texts() -> list[Sentence]:
    """64 sentences of ten tokens and more, in two orders of words."""
    made = []
    for i, (who, when, what) in enumerate(product(WHO, WHEN, WHAT)):
        made.append(read_sentence(f"{who}{when}{what}" if i % 2 else f"{when}{who}{what}"))
    return made


def test_only_position_and_content_are_what_the_mean_map_says() -> None:
    index = np.array(
        [[QUADRANTS.index(name) for name in ("position", "content", "content", "broad", "sink")], [-1] * 5]
    )
    nothing = np.zeros(index.shape)
    averaged = Averaged(QuadrantResult(index, nothing, nothing, nothing, "variability"), 50, nothing)
    assert share_right(averaged) == 3 / 5  # heads that are undefined do not count
    assert [averaged.count(name) for name in QUADRANTS] == [1, 2, 1, 1, 0]


@pytest.fixture(scope="module")
def document(encoder: Encoder) -> Any:
    return run_experiment("average", encoder, texts(), Options(), QUIET)


def test_the_head_of_the_next_token_follows_position(document: Any) -> None:
    numbers, exhibits = document.result.numbers, {exhibit.key: exhibit for exhibit in document.result.exhibits}
    assert numbers["n"] == 64 and numbers["heads"] == 144
    assert sum(numbers[name] for name in QUADRANTS) == 144
    assert numbers["right"] == (numbers["position"] + numbers["content"]) / 144
    # L3·H7 looks at the next token in every text: a clear mean map, and hardly any variability.
    assert exhibits["peakedness"].values[2, 6] > 0.8 and exhibits["variability"].values[2, 6] < 0.1
    # With random weights all maps are nearly even, which is no sign of content.
    twin = exhibits["layers"].rows[-1].cells
    assert twin[QUADRANTS.index("broad")] == 144 and numbers["right_chance"] == 0
    whole = np.array([row.cells for row in exhibits["layers"].rows[:12]])
    np.testing.assert_array_equal(whole.sum(0), exhibits["layers"].rows[12].cells)


def test_mean_maps_are_shown_without_special_tokens(document: Any) -> None:
    shown = document.result.exhibits[0].maps
    assert shown[0].label.key == "position_head"
    for one in shown:
        assert one.values.shape == (10, 10) and one.tokens == tuple(map(str, range(1, 11)))
        # The tokens after the tenth take the rest.
        assert (one.values.sum(-1) <= 1 + 1e-6).all()
    np.testing.assert_allclose(shown[0].values.diagonal(1), 0.97, atol=0.03)


@pytest.mark.parametrize("language", languages())
def test_the_report_says_the_same_after_reading_it_back(document: Any, language: str) -> None:
    t = load_catalog(language)
    read = experiment_from_twin(json.loads(to_json(document)))
    assert to_json(read) == to_json(document)
    assert render_experiment(read, ".html", t) == render_experiment(document, ".html", t)


def test_short_texts_are_judged_by_relative_information(make_model: Callable[..., Path]) -> None:
    from attnx import load_encoder

    encoder = load_encoder(str(make_model("m01_bert_24pos.json")))
    words = ("the", "cat", "sat", "мама")
    made = [read_sentence(" ".join(chosen)) for chosen in product(words, repeat=3)]
    result = experiment.run(encoder, made, Options(), QUIET)
    assert "relative_information" in [exhibit.key for exhibit in result.exhibits]
    assert [note.key for note in result.notes] == ["rule_relative_information", "number"]
    assert all(np.isfinite(value) for value in result.numbers.values())
    for one in result.exhibits[0].maps:
        assert one.tokens == ("1", "2", "3")
        np.testing.assert_allclose(one.values.sum(-1), 1, atol=1e-6)


def test_few_texts_are_refused(encoder: Encoder) -> None:
    with pytest.raises(InputError) as caught:
        experiment.run(encoder, texts()[:49], Options(), QUIET)
    assert caught.value.key == "experiment_average"
    assert caught.value.values == {"n": 49, "least": 50, "longest": 32, "positions": 10}
