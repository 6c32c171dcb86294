"""A name becomes an encoder. Nothing heavy is imported until the name has been found good."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from attnx.encoders.folder import BUILTIN
from attnx.encoders.records import ModelRequest

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder


def load_encoder(request: ModelRequest) -> Encoder:
    """Load the encoder that is asked for. Raises InputError when there is no such model or it cannot be used."""
    from attnx.encoders.names import find_folder

    folder = None if request.name == BUILTIN else find_folder(request)
    from attnx.encoders.device import choose_device

    device = choose_device(request.device)
    if folder:
        from attnx.encoders.pretrained import load_pretrained

        return load_pretrained(folder, device)
    import torch

    from attnx.encoders.adapters import Adapter
    from attnx.encoders.builtin import load_builtin
    from attnx.encoders.encoder import Encoder

    model, tokenizer, info = load_builtin()
    model.to(device, getattr(torch, request.dtype))
    info = replace(info, notes=request.notes)
    return Encoder(model, tokenizer, info, tokenizer.model_max_length, Adapter())
