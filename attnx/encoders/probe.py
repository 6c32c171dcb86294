"""Find out, with a few made-up tokens, whether a model's attention is what it is taken for.

A model that keeps quiet about dropout, padding, scores before the softmax or a window gives numbers that look right and
are wrong. So every loaded model is tried first, and one that fails a check is refused with the check's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from attnx.encoders.adapters import Adapter
from attnx.encoders.attending import attend
from attnx.encoders.calls import Calls
from attnx.encoders.checks import check_padding, check_rows, check_shapes, require, tolerance
from attnx.encoders.reach import within_reach
from attnx.encoders.records import Note, Reach

OTHER_TEXTS = 4
SIZES = (12, 7)  # tokens of the two made-up texts
LANGUAGE = "en"
SAME = 1e-6  # what the order of additions may change in a weight
# The longest window that is measured; it takes a text that is a little longer.
LONGEST_WINDOW = 1024
WINDOW_SETTINGS = ("window", "local_attention", "local_radius", "attention_chunk_size")


@dataclass(frozen=True)
class Probe:
    """What the trial showed: layers and heads, what a token of each layer can look at, what a reader must know.

    `limit` is the longest text for which this holds, None if any. `apart`: padding changes the weights, so that texts
    must be run one by one.
    """

    layers: int
    heads: int
    reach: tuple[Reach, ...]
    notes: tuple[Note, ...]
    limit: int | None
    apart: bool


def probe(model: torch.nn.Module, adapter: Adapter, kind: str, ids: Sequence[int], limit: int | None) -> Probe:
    """Try the model on made-up texts of `ids` and return what it showed; `limit` is the longest text it takes.

    Raises InputError naming the model type `kind` and the check that failed. Lets through what the model itself
    raises when it cannot run on text alone.
    """
    limit = min((size for size in (limit, adapter.limit) if size is not None), default=None)
    longest, shorter = (min(size, limit or size) for size in SIZES)
    texts = [made_up(ids, longest), made_up(ids, shorter)[::-1]]
    with Calls(model) as calls:
        together = _layers(model, adapter, texts)
    check_shapes(together, 2, longest, kind)
    calls.check(together, kind)
    mask = torch.arange(longest) < torch.tensor([[longest], [shorter]])
    sinks = has_sinks(model)
    check_rows(together, mask, tolerance(model), kind, below=sinks)
    check_padding(together, mask, kind)
    require(all(map(_same, together, _layers(model, adapter, texts))), "repeat", kind)
    apart = _differs_alone(model, adapter, texts[1], [layer[1] for layer in together])
    window = declared_window(getattr(model, "config", None))
    measured = window if window and window <= LONGEST_WINDOW else 0
    trial = max(measured + 2, longest)
    reach = _reach(model, adapter, ids, min(trial, limit or trial), kind)
    notes = (
        *((Note(adapter.note, {"shown": len(together), "total": calls.returned}),) if adapter.note else ()),
        *calls.notes(),
        *_missing_layers(model, calls.returned),
        *((Note("sinks"),) if sinks else ()),
    )
    if window and not measured:
        known = _known_size(window, reach)
        limit = min(known, limit or known)
    return Probe(len(together), together[0].shape[1], reach, notes, limit, apart)


def _known_size(window: int, reach: Sequence[Reach]) -> int:
    """Return up to how many tokens nothing is outside a window that is too long to be tried.

    One that lies around a token reaches half as far as one that lies before it.
    """
    return window if reach and all(ahead == 0 for _back, ahead in reach) else window // 2


def made_up(ids: Sequence[int], size: int) -> list[int]:
    """Return a text of `size` token ids, spread over the vocabulary and each used again only when none is left."""
    step = max(1, len(ids) // size)
    return [ids[i * step % len(ids)] for i in range(size)]


def has_sinks(model: torch.nn.Module) -> bool:
    """Tell whether heads have a learned sink, which takes a part of every row: rows then sum to less than 1."""
    return any(name.split(".")[-1] == "sinks" for name, _parameter in model.named_parameters())


def declared_window(config: Any) -> int | None:  # noqa: ANN401 - a transformers configuration
    """Return the largest number under a setting that is about windows, None if there is none."""
    found = []
    for name, value in vars(config).items() if config else ():
        if any(part in name for part in WINDOW_SETTINGS):
            found += [item for item in (value if isinstance(value, list | tuple) else [value]) if _is_size(item)]
    return max(found, default=None)


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _layers(model: torch.nn.Module, adapter: Adapter, texts: Sequence[Sequence[int]]) -> list[torch.Tensor]:
    return [layer.float().cpu() for layer in attend(model, adapter, texts, [LANGUAGE] * len(texts))]


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Tell whether two tensors differ by no more than the order of additions, which a GPU does not keep."""
    return torch.allclose(one, other, rtol=0, atol=SAME)


def _differs_alone(model: torch.nn.Module, adapter: Adapter, text: list[int], beside: list[torch.Tensor]) -> bool:
    """Tell whether a text gets other weights alone than it got `beside` a longer one, ``[heads, T, T]`` a layer.

    Convolutions, for example, look across the end of a text into its padding.
    """
    size = len(text)
    alone = [layer[0] for layer in _layers(model, adapter, [text])]
    pairs = zip(alone, beside, strict=True)
    return not all(_same(one, other[:, :size, :size]) for one, other in pairs)


def _reach(model: torch.nn.Module, adapter: Adapter, ids: Sequence[int], size: int, kind: str) -> tuple[Reach, ...]:
    """Return what a token of each layer can look at, by texts of one size; () where nothing limits it in any layer.

    A pair of positions whose weight is exactly 0 in all heads is taken for masked. Rounding can make one 0 as well,
    but not in every text; so when the pairs that are left form no band along the diagonal, other texts are asked.
    Raises InputError when they form none even so: then no number of places says what a token can look at.
    """
    seen = _seen(_layers(model, adapter, [made_up(ids, size)]))
    if None in map(band, seen):
        others = [made_up(ids[start:], size) for start in range(1, 1 + OTHER_TEXTS)]
        seen = [one | other for one, other in zip(seen, _seen(_layers(model, adapter, others)), strict=True)]
    reach = []
    for limits in map(band, seen):
        # No model looks back without end and ahead a little.
        require(limits is not None and (limits[0] is not None or limits[1] in (None, 0)), "reach", kind)
        reach.append(limits or (None, None))
    return () if all(limits == (None, None) for limits in reach) else tuple(reach)


def _seen(layers: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return for each layer which pairs of positions have any weight in any text and head, bool ``[T, T]``."""
    return [(layer > 0).flatten(0, 1).any(0) for layer in layers]


def band(seen: torch.Tensor) -> Reach | None:
    """Return how far back and ahead the pairs ``[T, T]`` reach, None for all the way; None if they are no band."""
    size = len(seen)
    offsets = torch.arange(size) - torch.arange(size)[:, None]
    back, ahead = int(-offsets[seen].min()), int(offsets[seen].max())
    if not torch.equal(seen, within_reach(offsets, (back, ahead))):
        return None
    return (None if back == size - 1 else back, None if ahead == size - 1 else ahead)


def _missing_layers(model: torch.nn.Module, returned: int) -> tuple[Note, ...]:
    """Return a note where the model has layers without attention."""
    layers = getattr(getattr(model, "config", None), "num_hidden_layers", None)
    if isinstance(layers, int) and returned < layers:
        return (Note("layers_without_attention", {"shown": returned, "total": layers}),)
    return ()
