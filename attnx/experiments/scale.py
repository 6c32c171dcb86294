"""Why scores are divided by √d: experiment E10.

The scores s of a row are multiplied by β, from 1, which is the model as it is, to √d of a head's width d, which takes
the division by √d away: p(β) = softmax(β s). This is done in one layer, whose input stays what it is (``alone``: the
weights are p^β, rescaled to sum to 1), and in all layers at once (``all``), where each gets what the one before made
of it. The entropy of a row never grows with β: dH/dβ = −β Var_p(s).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from attnx.encoders.baseline import random_twin
from attnx.encoders.encoder import Encoder
from attnx.encoders.interventions.records import Scale, Variant
from attnx.encoders.interventions.run import intervene
from attnx.encoders.records import AttentionMap, Encoding
from attnx.errors import InputError
from attnx.experiments.batching import in_batches
from attnx.experiments.intervals import interval, mean_of
from attnx.experiments.measuring import long_enough
from attnx.experiments.records import (
    Advance,
    Curve,
    Curves,
    Floats,
    HeadMap,
    Options,
    Progress,
    Result,
    Row,
    Table,
    Words,
)
from attnx.naming import layer_name
from attnx.statistics.rows import confidence, normalized_entropy
from attnx.statistics.view import ScopeView, scope_view
from attnx.texts.sentence import Sentence

STEPS = 5  # values of β
SATURATED = 0.9  # of a row, on one token
MOST, SOME = 0.5, 0.25  # of the rows
LEAST_TOKENS = 4  # content tokens
FEW = 10  # texts
ENTROPY, CONFIDENCE, SHARE = range(3)
ALONE, ALL = range(2)


@dataclass(frozen=True)
class Measured:
    """What each text n came to.

    `rows` is ``[n, alone or all layers, β, normalized entropy or confidence or share of saturated rows, L, H]``,
    without special tokens; `specials` the share with them, each layer alone, ``[n, β, L, H]``; and `spread` the mean
    over rows of the standard deviation of a row's scores at β = 1, ``[n, L, H]``.
    """

    rows: Floats
    specials: Floats
    spread: Floats

    @property
    def share(self) -> Floats:
        """The share of saturated rows over all heads, each layer alone, ``[β]``."""
        return mean_of(np.nanmean(self.rows[:, ALONE, :, SHARE], (-2, -1)))


def run(encoder: Encoder, sentences: Sequence[Sentence], options: Options, progress: Progress) -> Result:
    """Measure every text at every β, on the model and on its twin with random weights."""
    betas = np.geomspace(1, root_width(encoder), STEPS)
    encodings = [encoder.encode(sentence) for sentence in long_enough(encoder, sentences, LEAST_TOKENS)]
    models = encoder, random_twin(encoder, options.seed)
    progress.expect(2 * len(encodings))
    found, twin = (measure(model, encodings, betas, progress.advance) for model in models)
    return Result(
        verdict_of(found.share),
        _numbers(found, twin, betas),
        (
            Curves("entropy", (Words("beta_axis"), Words("entropy_axis")), _by_layer(found, betas, ENTROPY)),
            Curves("confidence", (Words("beta_axis"), Words("confidence_axis")), _by_layer(found, betas, CONFIDENCE)),
            _together(found, twin, betas, options.seed),
            _table(found, twin, betas),
            HeadMap("spread", mean_of(found.spread), "number"),
            HeadMap("saturated", mean_of(found.rows[:, ALONE, -1, SHARE]), "number"),
        ),
        _notes(len(sentences), len(encodings)),
    )


def root_width(encoder: Encoder) -> float:
    """Return what the model divides scores by. Raises InputError (``scale_none``) where that is not one number."""
    factors = {
        getattr(module, name)
        for module in encoder.model.modules()
        for name in ("scaling", "scale")
        if "Attention" in type(module).__name__ and isinstance(getattr(module, name, None), float)
    }
    if len(factors) != 1 or not 0 < min(factors) < 1:
        raise InputError("scale_none", type=encoder.info.type)
    return float(1 / factors.pop())


def measure(encoder: Encoder, encodings: Sequence[Encoding], betas: Floats, advance: Advance) -> Measured:
    """Run every text at every β."""
    variants = [Variant(scale=Scale(float(beta))) for beta in betas]
    rows, specials, spread = [], [], []
    for batch in in_batches(encoder, encodings, len(betas)):
        repeated = [encoding for encoding in batch for _ in betas]
        outcome = intervene(encoder, repeated, variants * len(batch))
        for i, encoding in enumerate(batch):
            own = slice(i * len(betas), (i + 1) * len(betas))
            size = len(encoding.ids)
            weights = torch.stack([layer[own, :, :size, :size] for layer in outcome.attention], 1).double()
            alone = torch.stack([sharpened(weights[0], float(beta)) for beta in betas])
            views = [[AttentionMap(encoding, one, encoder.info.reach) for one in mode] for mode in (alone, weights)]
            rows.append([[scores(scope_view(one, "content")) for one in mode] for mode in views])
            specials.append([scores(scope_view(one, "all"))[SHARE] for one in views[ALONE]])
            spread.append(spread_of(scope_view(views[ALONE][0], "content")))
            advance(1)
    return Measured(*(np.array(found) for found in (rows, specials, spread)))


def sharpened(weights: torch.Tensor, beta: float) -> torch.Tensor:
    """Return softmax(β s) of the scores s whose softmax the weights ``[..., T]`` are: p^β, rescaled to sum to 1."""
    return (weights.log() * beta).softmax(-1)


def scores(view: ScopeView) -> Floats:
    """Return the normalized entropy, the confidence and the share of saturated rows, ``[3, L, H]``.

    A row is saturated if it gives more than 0.9 to one token; one that can see no other does not count.
    """
    saturated = torch.where(view.visible > 1, (view.weights.amax(-1) > SATURATED).double(), torch.nan)
    values = normalized_entropy(view), confidence(view), saturated
    return torch.stack([value.nanmean(-1) for value in values]).numpy()


def spread_of(view: ScopeView) -> Floats:
    """Return the standard deviation of a row's scores, as a mean over rows, ``[L, H]``.

    ln p is the scores up to a constant; only keys with a weight above 0 count, and rows with more than one.
    """
    seen = view.weights > 0
    count = seen.sum(-1)
    logs = torch.where(seen, view.weights, 1).log()
    mean = logs.sum(-1) / count
    variance = (torch.where(seen, logs - mean[..., None], 0) ** 2).sum(-1) / count
    return torch.where(count > 1, variance.sqrt(), torch.nan).nanmean(-1).numpy()


def verdict_of(share: Floats) -> str:
    """Return whether most rows are nearly one-hot without the division and not with it, from their ``[β]``."""
    before, after = share[[0, -1]]
    return "fails" if after < SOME else "mixed" if after < MOST or before >= MOST else "holds"


def _numbers(found: Measured, twin: Measured, betas: Floats) -> dict[str, float | int | str]:
    return {
        "n": len(found.rows),
        "width": round(float(betas[-1]) ** 2),
        "root": float(betas[-1]),
        "bound": SATURATED,
        "before": float(found.share[0]),
        "after": float(found.share[-1]),
        "twin": float(twin.share[-1]),
        "spread": float(np.nanmean(found.spread)),
        "twin_spread": float(np.nanmean(twin.spread)),
    }


def _by_layer(found: Measured, betas: Floats, what: int) -> tuple[Curve, ...]:
    """Return a line for each layer, alone, over β."""
    means = np.nanmean(mean_of(found.rows[:, ALONE, :, what]), -1)
    return tuple(Curve(layer_name(layer), betas, means[:, layer]) for layer in range(means.shape[1]))


def _together(found: Measured, twin: Measured, betas: Floats, seed: int) -> Curves:
    """Return the share of saturated rows over β, with 95 % intervals where there are enough texts."""

    def curve(key: str, one: Measured, mode: int) -> Curve:
        shares = np.nanmean(one.rows[:, mode, :, SHARE], (-2, -1))
        edges = np.array([interval(shares[:, step], float, seed) for step in range(len(betas))]).T
        low, high = (None, None) if np.isnan(edges).any() else edges
        return Curve(Words(key), betas, mean_of(shares), low, high)

    curves = curve("alone", found, ALONE), curve("all", found, ALL), curve("twin", twin, ALONE)
    return Curves("together", (Words("beta_axis"), Words("share_axis")), curves)


def _table(found: Measured, twin: Measured, betas: Floats) -> Table:
    """Return the means over heads at each β: in each layer alone, in all, and in the twin."""
    # [β, what, mode]
    means = np.nanmean(mean_of(found.rows), (-2, -1)).transpose(1, 2, 0).reshape(len(betas), -1)
    specials = np.nanmean(mean_of(found.specials), (-2, -1))
    cells = np.column_stack([means, specials, twin.share])
    rows = tuple(Row(Words("beta", {"beta": float(betas[i])}), tuple(cells[i].tolist())) for i in range(len(betas)))
    names = ("entropy_alone", "entropy_all", "confidence_alone", "confidence_all", "share_alone", "share_all")
    columns = tuple(Words(name) for name in (*names, "share_specials", "share_twin"))
    return Table("betas", columns, ("number", "number", *["share"] * 6), rows)


def _notes(given: int, measured: int) -> tuple[Words, ...]:
    left_out = (Words("left_out", {"n": given - measured, "least": LEAST_TOKENS}),) if measured < given else ()
    return (Words("trained"), *left_out, *((Words("small", {"n": measured}),) if measured < FEW else ()))
