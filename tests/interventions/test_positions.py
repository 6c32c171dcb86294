"""Without positions a text is a bag of tokens."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnx.encoders.encoder import Encoder
from attnx.encoders.interventions import edits
from attnx.encoders.interventions.positions import positions_off
from attnx.encoders.interventions.records import HeadEdit, Scale, Variant
from attnx.encoders.interventions.run import intervene
from attnx.encoders.records import Encoding
from attnx.errors import InputError
from attnx.texts.sentence import read_sentence
from tests.interventions.rebuilt import SIZE, close, without_heads

# Tables, of other names and as a buffer; rotations, with keys that heads share too; biases and vectors for distances.
TYPES = ("bert", "roberta", "m2m_100", "siglip_text_model", "nomic_bert", "eurobert", "roformer", "t5", "mpnet")


def permuted(encoding: Encoding, order: list[int]) -> Encoding:
    return replace(encoding, ids=tuple(encoding.ids[i] for i in order))


@pytest.mark.parametrize("kind", TYPES)
def test_order_is_nothing(tiny: Callable[[str], Encoder], text: Encoding, kind: str) -> None:
    encoder = tiny(kind)
    order = torch.randperm(SIZE, generator=torch.Generator().manual_seed(7)).tolist()
    other = permuted(text, order)
    before = encoder.observe(text).weights
    assert not close(encoder.observe(other).weights, before[:, :, order][..., order], 1e-3)
    with positions_off(encoder, text):
        weights = encoder.observe(text).weights
        assert close(encoder.observe(other).weights, weights[:, :, order][..., order], 5e-6)
    assert weights.std(-1).mean() > 1e-3  # what the tokens are still counts
    assert torch.equal(encoder.observe(text).weights, before)


@settings(max_examples=10, deadline=None)
@given(order=st.permutations(range(SIZE)))
def test_states_and_changes_follow_the_tokens(bert: Encoder, text: Encoding, order: list[int]) -> None:
    variant = Variant((HeadEdit(0, 1, edits.uniform), HeadEdit(1, 2, edits.identity)), scale=Scale(2.0))
    with positions_off(bert, text):
        outcome = intervene(bert, [text, permuted(text, order)], [variant] * 2)
    assert close(outcome.states[1], outcome.states[0, order], 5e-6)


def test_the_builtin_model(encoder: Encoder) -> None:
    encoding = encoder.encode(read_sentence("王者荣耀怎么玩"))
    order = list(range(len(encoding.ids)))[::-1]
    with positions_off(encoder, encoding):
        weights, reversed_ = encoder.observe(encoding).weights, encoder.observe(permuted(encoding, order)).weights
    assert close(reversed_, weights.flip(-1, -2), 2e-5)


def test_without_a_head_too(bert: Encoder, text: Encoding) -> None:
    places = [(0, 3), (1, 1)]
    expected = without_heads(bert, places)
    model: Any = copy.deepcopy(expected.model)
    model.embeddings.position_embeddings.weight.data[:] = 0
    with positions_off(bert, text):
        outcome = intervene(bert, [text], [Variant(tuple(HeadEdit(*place, edits.zero) for place in places))])
    assert close(outcome.states, intervene(replace(expected, model=model), [text], [Variant()]).states)


def test_the_model_is_what_it_was(bert: Encoder, text: Encoding) -> None:
    before = {name: (id(tensor), tensor.data_ptr()) for name, tensor in bert.model.state_dict(keep_vars=True).items()}
    with pytest.raises(KeyError, match="mine"), positions_off(bert, text):
        raise KeyError("mine")
    after = {name: (id(tensor), tensor.data_ptr()) for name, tensor in bert.model.state_dict(keep_vars=True).items()}
    assert after == before


@pytest.mark.parametrize("kind", ["gpt2", "modernbert", "mobilebert", "convbert", "xlnet"])
def test_refused_by_name(tiny: Callable[[str], Encoder], text: Encoding, kind: str) -> None:
    """A decoder's mask, a window of 4 tokens, inputs made of three neighbors, a convolution, an unknown way."""
    before = tiny(kind).observe(text).weights
    with pytest.raises(InputError, match=kind) as error, positions_off(tiny(kind), text):
        pass
    assert error.value.key == "positions_stay"
    assert torch.equal(tiny(kind).observe(text).weights, before)


def test_a_window_that_reaches_everywhere(tiny: Callable[[str], Encoder], text: Encoding) -> None:
    """A window of 4 tokens hides nothing of three tokens."""
    encoder = replace(tiny("modernbert"), max_tokens=3)
    with positions_off(encoder, replace(text, ids=text.ids[:3], tokens=text.tokens[:3])):
        pass
