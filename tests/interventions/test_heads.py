"""A head with other weights gives the output that these weights make, and nothing else changes."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnx.encoders.encoder import Encoder, rows_at_once
from attnx.encoders.interventions import edits
from attnx.encoders.interventions.records import Change, HeadEdit, Outcome, Scale, Variant
from attnx.encoders.interventions.run import intervene
from attnx.encoders.records import Encoding
from attnx.errors import InputError
from attnx.texts.sentence import read_sentence
from tests.interventions.rebuilt import HEADS, LAYERS, SIZE, WIDTH, close, states, without_heads

EVERY_HEAD = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]


def run(encoder: Encoder, encoding: Encoding, *heads: HeadEdit) -> Outcome:
    return intervene(encoder, [encoding], [Variant(heads)])


def test_nothing_changes_nothing(encoder: Encoder) -> None:
    encoding = encoder.encode(read_sentence("王者荣耀怎么玩"))
    outcome = run(encoder, encoding)
    assert torch.equal(torch.stack(outcome.attention, 1)[0], encoder.observe(encoding).weights)
    assert torch.equal(outcome.states, states(encoder, encoding))


@pytest.mark.parametrize("kind", ["bert", "t5", "eurobert", "modernbert", "albert", "gpt2", "gpt_oss"])
def test_own_weights_change_nothing(tiny: Callable[[str], Encoder], text: Encoding, kind: str) -> None:
    encoder = tiny(kind)
    plain = run(encoder, text)
    same = run(
        encoder, text, *(HeadEdit(*place, edits.given(plain.attention[place[0]][0, place[1]])) for place in EVERY_HEAD)
    )
    assert close(same.states, plain.states, 1e-5 * float(plain.states.abs().max()))
    assert all(map(torch.equal, same.attention[:1], plain.attention[:1]))


MAP = torch.rand(SIZE, SIZE, generator=torch.Generator().manual_seed(1)).softmax(-1)
BY_HAND = {
    "zero": (edits.zero, torch.zeros(SIZE, SIZE)),
    "uniform": (edits.uniform, torch.full((SIZE, SIZE), 1 / SIZE)),
    "identity": (edits.identity, torch.eye(SIZE)),
    "given": (edits.given(MAP), MAP),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(bert: Encoder, text: Encoding, name: str) -> None:
    """What the output matrix of a layer is given is the weights times the values, in the columns of the head."""
    change, weights = BY_HAND[name]
    assert len(text.ids) == len(weights)
    model: Any = bert.model
    attention = model.encoder.layer[1].attention
    seen: dict[str, torch.Tensor] = {}
    hooks = [
        attention.self.value.register_forward_hook(lambda _m, _i, output: seen.update(values=output[0])),
        attention.output.dense.register_forward_pre_hook(lambda _m, inputs: seen.update(mixed=inputs[0][0])),
    ]
    try:
        plain, before = run(bert, text), dict(seen)
        outcome, after = run(bert, text, HeadEdit(1, 2, change)), dict(seen)
    finally:
        for hook in hooks:
            hook.remove()
    columns = slice(2 * WIDTH, 3 * WIDTH)
    assert close(after["mixed"][:, columns], weights @ after["values"][:, columns])
    assert close(outcome.attention[1][0, 2], weights)
    others = [i for i in range(HEADS * WIDTH) if not columns.start <= i < columns.stop]
    assert torch.equal(after["mixed"][:, others], before["mixed"][:, others])
    assert torch.equal(outcome.attention[0], plain.attention[0])


@settings(max_examples=15, deadline=None)
@given(places=st.lists(st.sampled_from(EVERY_HEAD), unique=True))
def test_zero_is_no_column(bert: Encoder, text: Encoding, places: list[tuple[int, int]]) -> None:
    outcome = run(bert, text, *(HeadEdit(*place, edits.zero) for place in places))
    assert close(outcome.states, states(without_heads(bert, places), text))


def test_uniform_is_no_query(bert: Encoder, text: Encoding) -> None:
    model: Any = copy.deepcopy(bert.model)
    for name in ("weight", "bias"):
        getattr(model.encoder.layer[0].attention.self.query, name).data[WIDTH : 2 * WIDTH] = 0
    outcome = run(bert, text, HeadEdit(0, 1, edits.uniform))
    assert close(outcome.states, states(replace(bert, model=model), text))


def test_uniform_keeps_to_what_is_seen(tiny: Callable[[str], Encoder], text: Encoding) -> None:
    """In a decoder row i has i keys; in a window of 4 two to each side; a learned sink takes no part."""
    for kind, back, ahead in (("gpt2", SIZE, 0), ("gpt_oss", SIZE, 0), ("modernbert", 2, 2), ("t5", SIZE, SIZE)):
        outcome = run(tiny(kind), text, HeadEdit(1, 0, edits.uniform))
        seen = torch.ones(SIZE, SIZE).tril(ahead).triu(-back)
        assert close(outcome.attention[1][0, 0], seen / seen.sum(-1, keepdim=True))


def test_uniform_where_weights_are_rounded_to_nothing(bert: Encoder, text: Encoding) -> None:
    """A key that is seen and gets no weight, for its score is far below the largest, counts all the same."""
    variant = Variant((HeadEdit(1, 0, edits.uniform),), scale=Scale(1e4))
    layer = intervene(bert, [text], [variant]).attention[1][0]
    assert bool((layer[1] == 0).any())
    assert close(layer[0], torch.full((SIZE, SIZE), 1 / SIZE))


@pytest.mark.parametrize("change", [edits.zero, edits.uniform, edits.identity, edits.given(MAP)])
def test_what_is_given_stays(change: Change) -> None:
    weights = torch.full((1, SIZE, SIZE), 0.5)
    change(weights, weights > 0)
    assert bool((weights == 0.5).all())


def test_rows_of_a_batch(bert: Encoder, tiny: Callable[[str], Encoder]) -> None:
    """Texts of unequal lengths under different variants are what each is alone."""
    encodings = [bert.encode(read_sentence(text)) for text in ("the cat sat", "a cat", "the cat sat", "mat")]
    changes: list[Change] = [edits.uniform, edits.identity, edits.zero, edits.given(torch.full((5, 5), 0.2))]
    variants = [Variant((HeadEdit(i % LAYERS, i, change),)) for i, change in enumerate(changes)]
    for kind in ("bert", "t5", "eurobert"):
        together = intervene(tiny(kind), encodings, variants)
        for i, (encoding, variant) in enumerate(zip(encodings, variants, strict=True)):
            alone, size = intervene(tiny(kind), [encoding], [variant]), len(encoding.ids)
            largest = max(1.0, float(alone.states.abs().max()))
            assert close(together.states[i, :size] / largest, alone.states[0] / largest)
            for layer, single in zip(together.attention, alone.attention, strict=True):
                assert close(layer[i, :, :size, :size], single[0])


def test_each_head_of_the_builtin_model(encoder: Encoder) -> None:
    """All 144 heads in one batch: each row is the model without that head."""
    encoding = encoder.encode(read_sentence("王者荣耀怎么玩"))
    places = [(layer, head) for layer in range(12) for head in range(12)]
    variants = [Variant(), *(Variant((HeadEdit(*place, edits.zero),)) for place in places)]
    assert rows_at_once(encoder, len(encoding.ids)) > len(variants)
    outcome = intervene(encoder, [encoding] * len(variants), variants)
    assert len(outcome.states) == 145
    assert bool(((outcome.states[1:] - outcome.states[0]).abs().amax((1, 2)) > 1e-4).all())
    row = 1 + places.index((7, 3))
    assert close(outcome.states[row], run(encoder, encoding, HeadEdit(7, 3, edits.zero)).states[0], 5e-6)


def test_the_model_is_what_it_was(bert: Encoder, text: Encoding) -> None:
    def fail(weights: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        raise KeyError("mine")

    before = bert.observe(text).weights
    with pytest.raises(KeyError, match="mine"):
        run(bert, text, HeadEdit(0, 0, fail))
    assert torch.equal(bert.observe(text).weights, before)
    assert bert.model.config._attn_implementation == "eager"


@pytest.mark.parametrize("place", [(2, 0), (0, 4), (-1, 0)])
def test_no_such_head(bert: Encoder, text: Encoding, place: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=str(place[0])):
        run(bert, text, HeadEdit(*place, edits.zero))


def test_a_head_twice(bert: Encoder, text: Encoding) -> None:
    with pytest.raises(ValueError, match="0"):
        run(bert, text, HeadEdit(0, 0, edits.zero), HeadEdit(0, 0, edits.uniform))


@pytest.mark.parametrize("kind", ["mpnet", "deberta-v2", "xlnet", "dpr"])
def test_refused_by_name(tiny: Callable[[str], Encoder], text: Encoding, kind: str) -> None:
    with pytest.raises(InputError, match=f"{kind}.*interface") as error:
        run(tiny(kind), text)
    assert error.value.key == "no_interventions"
