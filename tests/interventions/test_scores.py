"""Scaled, masked and merged scores against models that are rebuilt that way, and against formulas."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from attnx.encoders.encoder import Encoder
from attnx.encoders.interventions import edits, masks
from attnx.encoders.interventions.records import HeadEdit, Mask, Merge, Outcome, Scale, Variant
from attnx.encoders.interventions.run import intervene
from attnx.encoders.records import Encoding
from attnx.errors import InputError
from tests.interventions.rebuilt import HEADS, SIZE, WIDTH, close

QUERIES = {"bert": "self.query", "t5": "SelfAttention.q"}
FIRST = frozenset({0})
SECOND = frozenset({1})


def run(encoder: Encoder, encoding: Encoding, **changes: Any) -> Outcome:
    return intervene(encoder, [encoding], [Variant(**changes)])


def assert_equal(one: Outcome, other: Outcome) -> None:
    largest = max(1.0, float(other.states.abs().max()))
    assert close(one.states / largest, other.states / largest, 2e-6)
    assert all(close(*pair, 2e-6) for pair in zip(one.attention, other.attention, strict=True))


@pytest.mark.parametrize("kind", QUERIES)
@pytest.mark.parametrize("factor", [0.5, 4.0])
def test_scale_is_larger_queries(tiny: Callable[[str], Encoder], text: Encoding, kind: str, factor: float) -> None:
    encoder = tiny(kind)
    rebuilt = copy.deepcopy(encoder.model)
    for name, parameter in rebuilt.named_parameters():
        if QUERIES[kind] in name:
            parameter.data *= factor
    assert_equal(run(encoder, text, scale=Scale(factor)), run(replace(encoder, model=rebuilt), text))


def test_no_division(bert: Encoder, text: Encoding) -> None:
    """A factor of √d leaves the bare products, here of the second layer, whose input is not changed."""
    model: Any = bert.model
    found: dict[str, torch.Tensor] = {}
    attention = model.encoder.layer[1].attention.self
    hooks = [
        getattr(attention, name).register_forward_hook(
            lambda _m, _i, output, name=name: found.update({name: output[0]})
        )
        for name in ("query", "key")
    ]
    outcome = run(bert, text, scale=Scale(WIDTH**0.5, SECOND))
    for hook in hooks:
        hook.remove()
    query, key = (found[name].reshape(SIZE, HEADS, WIDTH).transpose(0, 1) for name in ("query", "key"))
    assert close(outcome.attention[1][0], (query @ key.mT).softmax(-1))
    assert torch.equal(outcome.attention[0], run(bert, text).attention[0])


def test_look_ahead(bert: Encoder, text: Encoding) -> None:
    """What is left of the first layer's weights is what it was, rescaled to sum to 1."""
    plain = run(bert, text).attention[0].tril()
    masked = run(bert, text, mask=Mask(masks.look_ahead(SIZE))).attention
    assert close(masked[0], plain / plain.sum(-1, keepdim=True))
    assert all(bool((layer.triu(1) == 0).all()) for layer in masked)


@pytest.mark.parametrize("fill", [-torch.inf, -1e9, torch.finfo(torch.float32).min])
def test_hidden_tokens_are_not_there(bert: Encoder, text: Encoding, fill: float) -> None:
    shorter = replace(text, ids=text.ids[:9], tokens=text.tokens[:9])
    for look_ahead in (masks.look_ahead, lambda size, fill: torch.zeros(size, size)):
        hidden = look_ahead(SIZE, fill) + masks.padding([False] * 9 + [True] * 4, fill)
        masked = run(bert, text, mask=Mask(hidden))
        expected = run(bert, shorter, mask=Mask(look_ahead(9, fill)))
        assert close(masked.states[:, :9], expected.states)
        assert all(
            close(layer[..., :9, :9], own) and bool((layer[..., 9:] == 0).all())
            for layer, own in zip(masked.attention, expected.attention, strict=True)
        )


def test_mask_beside_padding(bert: Encoder, text: Encoding) -> None:
    shorter = replace(text, ids=text.ids[:9], tokens=text.tokens[:9])
    variant = Variant(mask=Mask(masks.look_ahead(9)))
    together = intervene(bert, [text, shorter], [Variant(), variant])
    assert close(together.states[1, :9], intervene(bert, [shorter], [variant]).states[0])
    assert close(together.states[0], run(bert, text).states[0])


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_merged_is_rebuilt(bert: Encoder, text: Encoding, groups: int) -> None:
    """The model rebuilt with fewer heads and the same parameters: all layers and the states."""
    config = copy.deepcopy(bert.model.config)
    config.num_attention_heads = groups
    model = type(bert.model)(config).eval()
    model.load_state_dict(bert.model.state_dict())
    heads = replace(bert, model=model, info=replace(bert.info, heads=groups))
    merged, rebuilt = run(bert, text, merge=Merge(groups)), run(heads, text)
    assert close(merged.states, rebuilt.states)
    for layer, expected in zip(merged.attention, rebuilt.attention, strict=True):
        assert close(layer, expected.repeat_interleave(HEADS // groups, 1))


def test_merged_in_one_layer(bert: Encoder, text: Encoding) -> None:
    """At the layer's true input, p is proportional to the product of the heads' p to the power 1/√m."""
    plain, merged = run(bert, text).attention, run(bert, text, merge=Merge(2, SECOND)).attention
    assert torch.equal(merged[0], plain[0])
    product = (plain[1].unflatten(1, (2, 2)).log().sum(2) / 2**0.5).exp()
    assert close(merged[1][:, ::2], product / product.sum(-1, keepdim=True))
    assert torch.equal(merged[1][:, ::2], merged[1][:, 1::2])


def test_rows_of_a_batch(bert: Encoder, text: Encoding) -> None:
    """Each row is changed in its own way, and one not at all."""
    mask = Mask(masks.look_ahead(SIZE))
    variants = [
        Variant(),
        Variant(scale=Scale(4.0)),
        Variant(mask=mask),
        Variant(merge=Merge(2)),
        Variant(scale=Scale(0.5), mask=mask),
    ]
    together = intervene(bert, [text] * 5, variants)
    for i, variant in enumerate(variants):
        alone = intervene(bert, [text], [variant])
        assert close(together.states[i], alone.states[0])
        assert all(close(layer[i], own[0]) for layer, own in zip(together.attention, alone.attention, strict=True))


@pytest.mark.parametrize("kind", ["t5", "eurobert", "gpt_oss"])
def test_merging_refused(tiny: Callable[[str], Encoder], text: Encoding, kind: str) -> None:
    """A bias for distances, keys that heads share, a learned sink."""
    with pytest.raises(InputError, match=kind) as error:
        run(tiny(kind), text, merge=Merge(2))
    assert error.value.key == "no_merging"


def test_all_together(bert: Encoder, text: Encoding) -> None:
    """Larger queries, a mask, merged heads and a head without output, against a rebuilt model with that mask."""
    config = copy.deepcopy(bert.model.config)
    config.num_attention_heads = 2
    model: Any = type(bert.model)(config).eval()
    model.load_state_dict(bert.model.state_dict())
    for layer in model.encoder.layer:
        layer.attention.self.query.weight.data *= 3
        layer.attention.self.query.bias.data *= 3
    model.encoder.layer[0].attention.output.dense.weight.data[:, :WIDTH] = 0
    mask = Mask(masks.look_ahead(SIZE))
    changed = run(bert, text, heads=(HeadEdit(0, 0, edits.zero),), scale=Scale(3.0), mask=mask, merge=Merge(2))
    expected = run(replace(bert, model=model, info=replace(bert.info, heads=2)), text, mask=mask)
    assert close(changed.states, expected.states, 5e-6)  # three changes of float32, states up to 2


@pytest.mark.parametrize(
    "changes",
    [
        {"merge": Merge(3)},
        {"scale": Scale(2.0, frozenset({2}))},
        {"merge": Merge(2, frozenset({-1}))},
        {"mask": Mask(masks.look_ahead(12))},
    ],
)
def test_nowhere(bert: Encoder, text: Encoding, changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"Merge|Scale|Mask"):
        run(bert, text, **changes)
