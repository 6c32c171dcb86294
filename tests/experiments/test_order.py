"""Variants of a text, the index on heads whose answer is known, and the report."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attnx.encoders.encoder import Encoder
from attnx.encoders.records import AttentionMap, Encoding
from attnx.errors import InputError
from attnx.experiments import order
from attnx.experiments.divergence import between
from attnx.experiments.records import Options, Progress
from attnx.experiments.running import run_experiment
from attnx.experiments.variants import RULES, given_order, in_order, orders, words_of
from attnx.i18n import languages, load_catalog
from attnx.report.experiment.reading import experiment_from_twin
from attnx.report.experiment.rendering import render_experiment
from attnx.report.experiment.twin import to_json
from attnx.texts.sentence import read_sentence

QUIET = Progress()


class Constructed:
    """An encoder of two heads: one looks at the next place, the other at the same token whatever its place."""

    class info:  # noqa: N801
        layers, heads = 1, 2

    apart = False

    def observe_batch(self, encodings: list[Encoding]) -> list[AttentionMap]:
        return [AttentionMap(encoding, self.weights(encoding), ()) for encoding in encodings]

    @staticmethod
    def weights(encoding: Encoding) -> torch.Tensor:
        size = len(encoding.ids)
        places = torch.eye(size).roll(1, 1)
        tokens = torch.zeros(size, size)
        # A token looks at the one whose id is next in size, wherever it stands.
        ranked = sorted(range(size), key=lambda place: encoding.ids[place])
        for this, following in zip(ranked, ranked[1:] + ranked[:1], strict=True):
            tokens[this, following] = 1
        return torch.stack([places, tokens])[None]


def test_divergence_of_maps_by_hand() -> None:
    assert between(torch.eye(2), torch.eye(2).flip(0)).item() == pytest.approx(np.log(2))
    assert between(torch.eye(3), torch.eye(3)).item() == 0
    half = torch.tensor([[0.5, 0.5], [0.0, 0.0]])  # the second row does not count
    # JS((1, 0), (1/2, 1/2)) = H(3/4, 1/4) - ln 2 / 2.
    expected = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25)) - np.log(2) / 2
    assert between(torch.eye(2), half).item() == pytest.approx(expected)


def test_words_stay_whole_or_are_broken(encoder: Encoder) -> None:
    encoding = encoder.encode(read_sentence("Переставляемые головушки наблюдают"))
    words = words_of(encoding)
    assert len(words) == 3 and any(len(word) > 1 for word in words)
    chance = random.Random(0)
    for found in orders("reordered", encoding, chance, 5):
        content = found[1:-1]
        starts = [content.index(word[0]) for word in words]
        assert all(list(content[at : at + len(word)]) == word for at, word in zip(starts, words, strict=True))
    for found in orders("broken", encoding, chance, 5):
        assert all(sorted(found[word[0] : word[-1] + 1]) == word for word in words)
    for rule in RULES:
        for found in orders(rule, encoding, chance, 5):
            assert sorted(found) == list(range(len(encoding.ids))) and found[0] == 0 and found[-1] == len(found) - 1
    [inverted] = orders("inverted", encoding, chance, 5)
    assert list(inverted[1:-1]) == [place for word in words[1:] + words[:1] for place in word]


def test_the_worked_example_is_the_order_that_its_text_says(encoder: Encoder) -> None:
    encoding = encoder.encode(read_sentence("王者荣耀怎么玩"))
    found = given_order(encoding, encoder.encode(read_sentence("怎么玩王者荣耀")))
    assert "".join(token.text for token in in_order(encoding, found).tokens[1:-1]) == "怎么玩王者荣耀"
    with pytest.raises(InputError) as caught:
        given_order(encoding, encoder.encode(read_sentence("怎么玩三国演义")))
    assert caught.value.key == "variant_other_tokens"


def test_a_head_of_places_gets_minus_one_and_a_head_of_tokens_one(encoder: Encoder) -> None:
    sentences = [read_sentence("The cat sat on the mat"), read_sentence("Сегодня идёт сильный дождь")]
    changes = order.make_changes(encoder, sentences, Options())
    frames = order.measure(Constructed(), changes, QUIET.advance)  # type: ignore[arg-type]
    index = order.index_of(*order.mean_frames(frames))
    # Weight on special tokens is left out, and a token next to one then has none: hence not exactly.
    np.testing.assert_allclose(index[0], (-1, 1), atol=1e-12)
    assert order.verdict_of(index) == "holds"
    assert order.verdict_of(index[:, :1]) == "mixed"
    assert order.verdict_of(np.zeros((1, 2))) == "fails"


@pytest.fixture(scope="module")
def document(encoder: Encoder) -> Any:
    options = Options(variants=("怎么玩王者荣耀",))
    return run_experiment("order", encoder, [read_sentence("王者荣耀怎么玩")], options, QUIET)


def test_the_built_in_model_has_heads_of_both_kinds(document: Any) -> None:
    numbers = document.result.numbers
    assert document.result.verdict == "holds"
    assert (numbers["top"], numbers["bottom"]) == ("L1·H11", "L3·H7")  # L3·H7 is the head of the next token
    assert numbers["bottom_index"] == pytest.approx(-1, abs=0.01)
    assert -0.9 < numbers["chance_low"] < numbers["chance_high"] < 0.9


@pytest.mark.parametrize("language", languages())
def test_the_report_says_the_same_after_reading_it_back(document: Any, language: str) -> None:
    t = load_catalog(language)
    read = experiment_from_twin(json.loads(to_json(document)))
    assert to_json(read) == to_json(document)
    assert render_experiment(read, ".html", t) == render_experiment(document, ".html", t)


def test_a_report_with_words_that_do_not_exist_is_refused(document: Any) -> None:
    twin = json.loads(to_json(document))
    for path, value in (
        (("verdict",), "sure"),
        (("exhibits", 0, "key"), "x"),
        (("numbers",), {}),
        (("experiment",), "x"),
    ):
        changed = json.loads(json.dumps(twin))
        part = changed
        for step in path[:-1]:
            part = part[step]
        part[path[-1]] = value
        with pytest.raises(InputError) as caught:
            experiment_from_twin(changed)
        assert caught.value.key == "report_broken"


def test_the_command_writes_a_report(cli: Callable[..., Any], make_model: Callable[..., Path], tmp_path: Path) -> None:
    model = make_model("m01_bert_24pos.json")
    result = cli("experiment", "order", "the cat sat the", "-m", model, "-o", "o.html", "-o", "o.json", "-l", "ru")
    assert result.exit_code == 0, result.stderr
    assert "Какие головы следуют за словами" in (tmp_path / "o.html").read_text(encoding="utf-8")
    short = cli("experiment", "order", "the cat", "-m", model)
    assert short.exit_code == 2 and "too short" in short.stderr


def test_an_option_that_another_experiment_uses_is_refused(cli: Callable[..., Any]) -> None:
    for name, option, value, owner in (("qkv", "--variant", "a b", "order"), ("order", "--head", "1.1", "qkv")):
        result = cli("experiment", name, "the cat sat", option, value)
        assert result.exit_code == 2
        assert f"{option} belongs to: attnx experiment {owner}" in result.stderr
