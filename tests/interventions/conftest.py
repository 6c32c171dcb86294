"""Tiny models of any type, whose weights are spread so that heads differ."""

from collections.abc import Callable

import pytest

from attnx import load_encoder
from attnx.encoders.encoder import Encoder
from attnx.encoders.records import Encoding
from attnx.texts.sentence import read_sentence
from tests.types.tiny import save_tiny

TEXT = "the cat sat on"  # a letter is a token: 13 with [CLS] and [SEP]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Encoder]:
    """Make the encoder of a type, 2 layers of 4 heads, once."""
    made: dict[str, Encoder] = {}

    def make(kind: str) -> Encoder:
        if kind not in made:
            folder = tmp_path_factory.mktemp(kind)
            save_tiny(kind, folder)
            made[kind] = load_encoder(str(folder))
        return made[kind]

    return make


@pytest.fixture(scope="session")
def bert(tiny: Callable[[str], Encoder]) -> Encoder:
    return tiny("bert")


@pytest.fixture(scope="session")
def text(bert: Encoder) -> Encoding:
    """One sentence for all tiny models: they have the same vocabulary."""
    return bert.encode(read_sentence(TEXT))
