"""Every experiment says beforehand how many forward passes it will make."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from attnx import load_encoder
from attnx.encoders.encoder import Encoder
from attnx.errors import InputError
from attnx.experiments.records import Options, Progress
from attnx.experiments.registry import COMPARE, NAMES, find_experiment
from attnx.texts.sentence import read_sentence

TEXTS = ("the cat sat on the mat", "the dog sat on the cat", "мама мыла раму the cat")


class Heard(Progress):
    """Adds up what it hears."""

    def __init__(self) -> None:
        self.expected, self.done = 0, 0

    def expect(self, passes: int) -> None:
        self.expected += passes

    def advance(self, passes: int) -> None:
        self.done += passes


@pytest.fixture(scope="module")
def tiny(make_model: Callable[..., Path]) -> Encoder:
    return load_encoder(str(make_model("m01_bert_24pos.json", num_hidden_layers=3)))


@pytest.mark.parametrize("name", [*NAMES, COMPARE])
def test_as_many_are_done_as_were_expected(tiny: Encoder, name: str) -> None:
    sentences = [read_sentence(text) for text in TEXTS]
    if name == "average":  # it takes fifty texts
        sentences = [replace(sentences[i % 2], text=f"{sentences[i % 2].text} the cat sat on") for i in range(50)]
    heard = Heard()
    try:
        find_experiment(name)(tiny, sentences, Options(), heard)
    except InputError as error:
        assert error.key == "experiment_undefined"
    assert heard.done == heard.expected > 0
