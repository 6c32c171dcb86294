"""Run texts with changed attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import torch

from attnx.encoders.attending import WEIGHTS_TOO, forward
from attnx.encoders.checks import tolerance
from attnx.encoders.interventions.interface import changing
from attnx.encoders.interventions.records import HeadEdit, Outcome, Variant
from attnx.errors import InputError

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder
    from attnx.encoders.records import Encoding

_tried: WeakSet[torch.nn.Module] = WeakSet()


def intervene(encoder: Encoder, encodings: Sequence[Encoding], variants: Sequence[Variant]) -> Outcome:
    """Run encoding i under variant i, all in one batch; the model is afterwards what it was.

    An encoding may be there several times, each under another variant. Without changes the numbers are those of the
    eager model, bit by bit. Raises InputError, ``no_interventions`` when a trial shows that the model does not do
    what it is told and ``no_merging`` when its heads cannot be merged; ValueError for layers, heads or groups that
    the model does not have, or for texts of unequal lengths where padding changes the weights.
    """
    _check(encoder, encodings, variants)
    if encoder.model not in _tried:
        _try(encoder, encodings[0])
        _tried.add(encoder.model)
    return _run(encoder, encodings, variants)


def _run(encoder: Encoder, encodings: Sequence[Encoding], variants: Sequence[Variant]) -> Outcome:
    with changing(encoder.model, encoder.info.type, variants) as running:
        output = _forward(encoder, encodings, {})
    return Outcome(tuple(layer.cpu().float() for layer in running.layers), output.last_hidden_state.cpu().float())


def _forward(encoder: Encoder, encodings: Sequence[Encoding], options: dict[str, bool]) -> Any:  # noqa: ANN401
    texts, languages = [encoding.ids for encoding in encodings], [encoding.sentence.language for encoding in encodings]
    return forward(encoder.model, encoder.adapter, texts, languages, options)


def _check(encoder: Encoder, encodings: Sequence[Encoding], variants: Sequence[Variant]) -> None:
    """Raise ValueError for what would be done nowhere, or only to a part."""
    layers, heads = encoder.info.layers, encoder.info.heads
    if encoder.apart and len({len(encoding.ids) for encoding in encodings}) > 1:
        raise ValueError(encoder.apart)
    for encoding, variant in zip(encodings, variants, strict=True):
        places = [(edit.layer, edit.head) for edit in variant.heads]
        if len(set(places)) < len(places) or not all(0 <= i < layers and 0 <= j < heads for i, j in places):
            raise ValueError(places)
        for change in (variant.scale, variant.mask, variant.merge):
            if change and change.layers is not None and not change.layers <= set(range(layers)):
                raise ValueError(change)
        if variant.merge and heads % variant.merge.groups:
            raise ValueError(variant.merge)
        if variant.mask and len(variant.mask.scores) != len(encoding.ids):
            raise ValueError(variant.mask)


def _try(encoder: Encoder, encoding: Encoding) -> None:
    """Refuse a model that comes to something else when every head is given the weights that it has anyway."""
    places = ((layer, head) for layer in range(encoder.info.layers) for head in range(encoder.info.heads))
    same = Variant(tuple(HeadEdit(layer, head, _keep) for layer, head in places))
    expected = _forward(encoder, [encoding], WEIGHTS_TOO)
    states = getattr(expected, "last_hidden_state", None)
    if states is None:
        raise InputError("no_interventions", type=encoder.info.type)
    try:
        found = _run(encoder, [encoding], [same])
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise InputError("no_interventions", type=encoder.info.type) from error
    layers = [layer.cpu().float() for layer in encoder.adapter.attentions(expected, len(encoding.ids))]
    allowed = tolerance(encoder.model)
    equal = len(layers) == len(found.attention) and all(
        one.shape == other.shape and torch.allclose(one, other, allowed, allowed)
        for one, other in zip([*layers, states.cpu().float()], [*found.attention, found.states], strict=True)
    )
    if not equal:
        raise InputError("no_interventions", type=encoder.info.type)


def _keep(weights: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    return weights
