"""What a model can run on and compute in, by the names that users give."""

from typing import TYPE_CHECKING

from attnx.errors import InputError

if TYPE_CHECKING:
    import torch

DEVICES = ("auto", "cpu", "cuda", "mps")
DTYPES = ("float32", "bfloat16", "float16")


def choose_device(name: str) -> "torch.device":
    """Return the device of that name; ``auto`` is CUDA where there is any, else MPS, else the processor.

    Raises InputError for a name that is not in `DEVICES` and for a device that this machine does not have.
    """
    import torch

    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        name = next(device for device, found in there.items() if found)
    if name not in there:
        raise InputError("unknown_device", device=name, known=", ".join(DEVICES))
    if not there[name]:
        raise InputError("device_missing", device=name)
    return torch.device(name)
