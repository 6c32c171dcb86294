"""The masked-LM head of a model, which says what stands at a hidden place: the encoder is loaded without it."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from attnx.encoders.attending import forward
from attnx.encoders.checks import tolerance
from attnx.encoders.pretrained import read_weights
from attnx.encoders.quiet import quiet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnx.encoders.encoder import Encoder

# What the class of a saved model is called that was trained with such a head.
TRAINED = ("ForMaskedLM", "ForPreTraining", "WithLMHeadModel")


@dataclass(frozen=True, eq=False)
class MaskedLM:
    """The head, and the token that hides others; `model` is a masked LM whose encoder passes on what it is given."""

    model: Any
    mask_id: int

    def losses(self, states: torch.Tensor, targets: Sequence[int]) -> torch.Tensor:
        """Return the mean of −ln p(target) over m hidden places, in nats, float64 ``[B]``.

        `states` ``[B, m, D]`` are the last hidden states at these places.
        """
        parameter = next(self.model.parameters())
        logits = _logits(self.model, states.to(parameter.device, parameter.dtype)).double().cpu()
        ids = torch.tensor(targets).expand(len(states), -1)
        return torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids, reduction="none").mean(-1)


class _Given(torch.nn.Module):
    """Stands where the encoder was: returns states; some heads ask it for the embeddings."""

    def __init__(self, encoder: Any) -> None:  # noqa: ANN401 - a transformers model
        super().__init__()
        self.embeddings, self.config = getattr(encoder, "embeddings", None), encoder.config
        self.states: torch.Tensor | None = None

    def forward(self, *_arguments: object, **_options: object) -> Any:  # noqa: ANN401 - as transformers' models
        """Return the states as the output of an encoder."""
        from transformers.modeling_outputs import BaseModelOutput

        return BaseModelOutput(last_hidden_state=self.states)


def find_masked_lm(encoder: Encoder, ids: Sequence[int]) -> MaskedLM | None:
    """Return the head of a model that was saved with one, None where there is none or its way cannot be followed.

    Followed means: applied to the states of the text with these `ids` by itself, it gives what the whole model gives.
    """
    mask_id = encoder.tokenizer.mask_token_id
    if encoder.folder is None or mask_id is None:
        return None
    with quiet():
        model = _load(encoder)
    if model is None:
        return None
    expected = forward(model, encoder.adapter, [ids], [""], {})
    own = forward(encoder.model, encoder.adapter, [ids], [""], {})
    setattr(model, model.base_model_prefix, _Given(model.base_model))
    try:
        found = _logits(model, own.last_hidden_state)
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
        return None
    allowed = tolerance(encoder.model)
    same = found.shape == expected.logits.shape and torch.allclose(found, expected.logits, allowed, allowed)
    return MaskedLM(model, int(mask_id)) if same else None


def _load(encoder: Encoder) -> Any:  # noqa: ANN401 - a transformers model, or None
    """Return the whole masked LM, None where it was saved without the head or transformers knows none for it."""
    from transformers import MODEL_FOR_MASKED_LM_MAPPING, AutoModelForMaskedLM

    folder = encoder.folder
    config: Any = copy.deepcopy(encoder.model.config)
    trained = any(name.endswith(TRAINED) for name in config.architectures or ())
    if folder is None or not trained or type(config) not in MODEL_FOR_MASKED_LM_MAPPING:
        return None
    model, loading = read_weights(folder, config, AutoModelForMaskedLM)
    prefix = f"{model.base_model_prefix}."
    if any(not name.startswith(prefix) for name in loading["missing_keys"]):
        return None
    return model.to(next(encoder.model.parameters()).device).eval()


def _logits(model: Any, states: torch.Tensor) -> torch.Tensor:  # noqa: ANN401 - a transformers model
    """Return what the head makes of states ``[B, m, D]``: logits ``[B, m, V]``."""
    given = getattr(model, model.base_model_prefix)
    given.states = states
    try:
        with torch.inference_mode(), quiet():
            logits: torch.Tensor = model(input_ids=None).logits
    finally:
        given.states = None
    return logits
