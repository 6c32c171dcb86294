"""Importance by gradients is what finite differences say, in models of several kinds."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from attnx.encoders.encoder import Encoder
from attnx.encoders.interventions.gates import importances
from attnx.encoders.interventions.records import HeadEdit, Variant
from attnx.encoders.interventions.run import intervene
from attnx.encoders.records import Encoding
from tests.interventions.rebuilt import HEADS, LAYERS

STEP = 0.05


def speed(encoder: Encoder, encoding: Encoding, layer: int, head: int) -> float:
    """Return √(1/T Σ_i ‖∂ŝ_i/∂ξ‖²) by central differences: all weights of the head times 1 ± ε."""
    ends = []
    for factor in (1 + STEP, 1 - STEP):
        variant = Variant((HeadEdit(layer, head, lambda weights, seen, factor=factor: weights * factor),))
        states = intervene(encoder, [encoding], [variant]).states[0]
        ends.append(torch.nn.functional.normalize(states.double(), dim=-1))
    return float(((ends[0] - ends[1]) / (2 * STEP)).square().sum(-1).mean().sqrt())


# Plain, with biases for distances, with keys that heads share, with one layer used twice, with a learned sink.
@pytest.mark.parametrize("kind", ["bert", "t5", "eurobert", "albert", "gpt_oss"])
def test_importance_is_the_finite_difference(tiny: Callable[[str], Encoder], text: Encoding, kind: str) -> None:
    encoder = tiny(kind)
    expected = [[speed(encoder, text, layer, head) for head in range(HEADS)] for layer in range(LAYERS)]
    np.testing.assert_allclose(importances(encoder, text, 2000, 0).numpy(), expected, rtol=0.1)


def test_the_model_is_what_it_was(bert: Encoder, text: Encoding) -> None:
    before = bert.observe(text).weights
    assert torch.equal(importances(bert, text, 10, 3), importances(bert, text, 10, 3))
    assert torch.equal(bert.observe(text).weights, before)
    assert bert.model.config._attn_implementation == "eager"
    assert all(parameter.grad is None for parameter in bert.model.parameters())
