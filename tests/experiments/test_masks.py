"""The three masks on a real model, what their fills do to a row that sees nothing, and the report."""

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
from attnx.experiments import masks, padded
from attnx.experiments.records import Options, Progress, Words
from attnx.experiments.running import run_experiment
from attnx.i18n import languages, load_catalog
from attnx.report.experiment.reading import experiment_from_twin
from attnx.report.experiment.rendering import render_experiment
from attnx.report.experiment.twin import to_json
from attnx.texts.sentence import read_sentence

QUIET = Progress()
TEXT = "The weather is very good"


def test_masks_by_hand() -> None:
    made = padded.masks([False, False, True], -1.0)
    assert made["padding"].tolist() == [[0, 0, -1]] * 3
    assert made["look_ahead"].tolist() == [[0, -1, -1], [0, 0, -1], [0, 0, 0]]
    assert made["combined"].tolist() == [[0, -1, -2], [0, 0, -2], [0, 0, -1]]


def test_a_text_with_hidden_padding_is_the_text_beside_a_longer_one(encoder: Encoder) -> None:
    """The oracle: the padding that the model makes and hides by itself."""
    encoding, longest = (encoder.encode(read_sentence(text)) for text in (TEXT, TEXT + " " + TEXT))
    size, room = len(encoding.ids), len(longest.ids) - len(encoding.ids)
    longer = padded.lengthened(encoder, encoding, room)
    hidden = padded.masks([place >= size for place in range(len(longer.ids))], -torch.inf)["padding"]
    variant = masks.Variant(mask=masks.Mask(hidden))
    [weights] = padded.weights_under(encoder, longer, [variant])[..., :size, :size]
    batched = encoder.observe_batch([encoding, longest])[0].weights
    torch.testing.assert_close(weights, batched, rtol=0, atol=1e-5)


def test_a_row_that_sees_nothing(encoder: Encoder) -> None:
    encoding = encoder.encode(read_sentence(TEXT))
    infinite, billion, smallest = padded.undefined_rows(encoder, encoding)
    assert infinite[0] == pytest.approx(1 / len(encoding.ids)) and (infinite[1:] == 1).all()
    assert not billion.any() and not smallest.any()


def test_half_precision_turns_a_billion_into_infinity() -> None:
    rows = {
        row.label.values["fill"]: [cell.key for cell in row.cells if isinstance(cell, Words)]
        for row in padded.fill_table().rows
        if isinstance(row.label, Words)
    }
    assert rows == {
        "−∞": ["undefined"] * 3,
        "−10⁹": ["even_row", "undefined", "even_row"],
        "min": ["even_row"] * 3,
        "min + min": ["undefined"] * 3,
    }


def test_verdicts() -> None:
    def found(leak: float, difference: float) -> masks.Measured:
        one = np.zeros(1)
        return masks.Measured(one, one, one, np.full((1, 3, 3), leak), np.full((1, 3, 3), difference))

    assert masks.verdict_of(found(0, 1e-6), 1e-5) == "holds"
    assert masks.verdict_of(found(1e-9, 1e-6), 1e-5) == masks.verdict_of(found(0, 1), 1e-5) == "mixed"
    assert masks.verdict_of(found(0.1, 1), 1e-5) == "fails"


@pytest.fixture(scope="module")
def document(encoder: Encoder) -> Any:
    return run_experiment(
        "masks", encoder, [read_sentence(text) for text in ("王者荣耀怎么玩", TEXT)], Options(), QUIET
    )


def test_masks_hide_all_and_nothing_else(document: Any) -> None:
    numbers = document.result.numbers
    assert document.result.verdict == "holds" and numbers["leak"] == "0" and numbers["difference"].endswith("·10⁻⁶")
    assert 0 < numbers["padded"] < numbers["even"] and numbers["last"] == 1
    assert numbers["twin_padded"] == pytest.approx(numbers["even"], abs=0.01)  # random weights look evenly
    lines = {curve.label.values["fill"]: curve.y for curve in document.result.exhibits[1].curves}
    assert list(lines) == ["−∞", "−10⁹, min"] and not lines["−10⁹, min"].any()
    ahead = document.result.exhibits[4].maps[2].values
    assert (np.triu(ahead, 1) == 0).all() and ahead[0, 0] == 1


@pytest.mark.parametrize("language", languages())
def test_the_report_says_the_same_after_reading_it_back(document: Any, language: str) -> None:
    t = load_catalog(language)
    read = experiment_from_twin(json.loads(to_json(document)))
    assert render_experiment(read, ".html", t) == render_experiment(document, ".html", t)


def test_a_text_that_fills_the_model_has_no_room(make_model: Callable[..., Path]) -> None:
    tiny = load_encoder(str(make_model("m01_bert_24pos.json")))
    result = run_experiment("masks", tiny, [read_sentence("the cat sat")], Options(), QUIET)
    assert result.result.verdict == "holds"
    with pytest.raises(InputError) as caught:
        run_experiment("masks", tiny, [read_sentence("the cat sat " * 9)], Options(), QUIET)
    assert caught.value.key == "masks_no_room"
