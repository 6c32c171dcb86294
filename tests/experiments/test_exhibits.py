"""Exhibits as they are drawn: what is not defined, formulas, the texts and the definitions around them."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnx import load_encoder
from attnx.encoders.encoder import Encoder
from attnx.experiments.powers import rounded_up
from attnx.experiments.records import Curve, Curves, Exhibit, HeadMap, Options, Points, Progress, TokenMap, TokenMaps
from attnx.experiments.running import run_experiment
from attnx.i18n import languages, load_catalog
from attnx.report.experiment.build import experiment_view
from attnx.report.experiment.exhibits import Speaker, exhibit_view
from attnx.report.experiment.reading import experiment_from_twin
from attnx.report.experiment.rendering import render_experiment
from attnx.report.experiment.twin import to_json
from attnx.texts.sentence import Sentence, read_sentence

TOKENS = ("the", "cat")
NOTHING = np.full((2, 2), np.nan)
# The keys are those of `merge`, which has words for every kind but points.
UNDEFINED = (
    HeadMap("merged_self", NOTHING, "share"),
    TokenMaps("most_self", (TokenMap("L1·H1", NOTHING, TOKENS), TokenMap("L1·H2", NOTHING, TOKENS))),
    Curves("by_number", ("x", "y"), (Curve("L1", np.arange(2.0), NOTHING[0]),)),
    Points("groups", ("x", "y"), NOTHING, np.ones((2, 2))),
)


@pytest.fixture(scope="module")
def document(make_model: Callable[..., Path]) -> Any:
    encoder = load_encoder(str(make_model("m01_bert_24pos.json")))
    sentences = [read_sentence(text) for text in ("the cat sat", '<script>alert(1)</script> & "s"', "cat") * 3]
    return run_experiment("merge", encoder, sentences, Options(), Progress())


@pytest.mark.parametrize("exhibit", UNDEFINED, ids=lambda exhibit: type(exhibit).__name__)
def test_what_is_nowhere_defined_says_so(exhibit: Exhibit) -> None:
    view = exhibit_view(exhibit, Speaker("merge", load_catalog("en"), count(1)))
    assert view.undefined == "For this model and these texts nothing of this is defined."
    assert (view.grid, view.maps, view.figure, view.table) == (None, (), None, None)


@pytest.mark.parametrize("language", languages())
def test_a_report_without_a_defined_number_is_drawn_and_read_back(document: Any, language: str) -> None:
    t = load_catalog(language)
    kept = tuple(UNDEFINED[:3])
    undefined = replace(document, result=replace(document.result, exhibits=kept))
    read = experiment_from_twin(json.loads(to_json(undefined)))
    html = render_experiment(read, ".html", t)
    assert html == render_experiment(undefined, ".html", t)
    assert html.decode().count(t.text("experiments.undefined")) == 3


def test_an_undefined_map_beside_a_defined_one_is_gray() -> None:
    maps = TokenMaps("most_self", (TokenMap("L1·H1", NOTHING, TOKENS), TokenMap("L1·H2", np.eye(2), TOKENS)), True)
    undefined, defined = exhibit_view(maps, Speaker("merge", load_catalog("en"), count(1))).maps
    assert undefined.alt == "L1·H1. Not defined."
    assert defined.alt == "L1·H2. The largest value is from “the” to “the”: 100%."
    assert undefined.image != defined.image


def test_a_report_names_its_first_texts_and_what_it_uses(document: Any) -> None:
    view = experiment_view(document, load_catalog("en"))
    assert (len(view.texts), view.more) == (5, "and 4 more")
    assert [definition.name for definition in view.definitions] == ["Attention entropy"]
    alone = replace(document, count=5, result=replace(document.result, exhibits=()))
    view = experiment_view(alone, load_catalog("en"))
    assert view.more == "" and view.definitions == ()
    assert "definitions" not in {entry.anchor for entry in view.contents}


def test_formulas_are_set_and_texts_are_escaped(document: Any) -> None:
    html = render_experiment(document, ".html", load_catalog("ru")).decode()
    assert "p<sub>h</sub><sup>1/√m</sup>" in html
    assert "<script>" not in html and "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &#34;s&#34;" in html


@pytest.mark.parametrize(
    ("value", "written"), [(0.0, "0"), (3.2e-6, "4·10⁻⁶"), (9.5e-7, "1·10⁻⁶"), (1e-5, "1·10⁻⁵"), (2e-10, "2·10⁻¹⁰")]
)
def test_a_bound_is_never_below_its_value(value: float, written: str) -> None:
    assert rounded_up(value) == written


@pytest.mark.parametrize("name", ("order", "merge", "position", "masks"))
def test_maps_are_those_of_a_short_text_and_a_note_says_if_there_is_none(
    encoder: Encoder, make_model: Callable[..., Path], name: str
) -> None:
    if name != "position":  # which shows nothing of random weights
        encoder = load_encoder(str(make_model("m01_bert_24pos.json", max_position_embeddings=48)))
    long, short = (read_sentence("the cat sat mama on the mat " * times) for times in (4, 1))

    def shown(*sentences: Sentence) -> tuple[int, list[str]]:
        result = run_experiment(name, encoder, sentences, Options(), Progress()).result
        maps = [one for exhibit in result.exhibits if isinstance(exhibit, TokenMaps) for one in exhibit.maps]
        return len(maps), [note.key for note in result.notes]

    for both in ((long, short), (short, long)):
        maps, notes = shown(*both)
        assert maps and "no_maps" not in notes
    maps, notes = shown(long)
    assert not maps and "no_maps" in notes
