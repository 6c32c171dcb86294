"""A model with the same architecture and random weights: what attention looks like before anything is learned."""

import copy
from dataclasses import replace

import torch

from attnx.encoders.encoder import Encoder
from attnx.errors import InputError


def random_twin(encoder: Encoder, seed: int) -> Encoder:
    """Return an encoder that differs from `encoder` in its weights alone, which are drawn anew from `seed`.

    They are initialized as transformers initializes the architecture for training. Raises InputError
    (``baseline_unavailable``) for a part of a model that cannot be built by itself.
    """
    model = encoder.model
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        try:
            twin = type(model)(copy.deepcopy(model.config))
        except (AttributeError, TypeError, ValueError) as error:
            raise InputError("baseline_unavailable", type=encoder.info.type) from error
    parameter = next(model.parameters())
    return replace(encoder, model=twin.to(parameter.device, parameter.dtype).eval())
