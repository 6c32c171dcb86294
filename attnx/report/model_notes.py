"""What a reader must know of a model before its numbers: what its tokens can look at, what was adapted."""

from collections.abc import Iterator
from itertools import groupby

from attnx.encoders.records import ModelInfo, Reach
from attnx.i18n import Catalog
from attnx.naming import layer_name


def model_notes(model: ModelInfo, t: Catalog) -> Iterator[str]:
    """Yield the notes of a model in words."""
    for note in model.notes:
        yield t.text(f"model_notes.{note.key}", **note.values)
    if model.causal:
        yield t.text("model_notes.causal")
    limits = dict.fromkeys(limit for limit in model.reach if limit[0] is not None)
    for back, ahead in limits:
        layers = _ranges([i for i, limit in enumerate(model.reach) if limit == (back, ahead)])
        key = "local_back" if ahead == 0 else "local" if ahead == back else "local_uneven"
        yield t.text(f"model_notes.{key}", layers=layers, n=back, ahead=ahead)


def layer_title(model: ModelInfo, layer: int, t: Catalog) -> str:
    """Return the heading of a layer; a local one says how far its tokens can look."""
    back, ahead = reach_of(model, layer)
    if back is None:
        return t.text("heads.layer", layer=layer + 1)
    return t.text("heads.layer_back" if ahead == 0 else "heads.layer_local", layer=layer + 1, n=max(back, ahead or 0))


def reach_of(model: ModelInfo, layer: int) -> Reach:
    """Return how far back and ahead the tokens of a layer can look."""
    return model.reach[layer] if model.reach else (None, None)


def _ranges(layers: list[int]) -> str:
    """Return the names of ascending layers, runs as from–to: ``L1–L2, L4``."""
    runs = [[layer for _i, layer in run] for _key, run in groupby(enumerate(layers), lambda pair: pair[1] - pair[0])]
    names = [[layer_name(run[0]), layer_name(run[-1])] for run in runs]
    return ", ".join("–".join(dict.fromkeys(name)) for name in names)
