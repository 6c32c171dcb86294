"""Every statistic against a second, slow implementation, and against what must hold for any map."""

import math

import numpy as np
import pytest
import scipy.spatial.distance
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnx.encoders.records import AttentionMap, Encoding, Token
from attnx.statistics import pattern_class, score_heads
from attnx.statistics.divergence import EXACT_TOKENS, may_be_nearest, mean_divergences
from attnx.statistics.scores import Floats
from attnx.texts.sentence import Sentence

LAYERS, HEADS = 2, 3
LN2 = math.log(2)
KINDS = ("word", "comma", "cls", "sep", "mask")


def make_encoding(kinds: list[str]) -> Encoding:
    """Build the encoding of one-character tokens of the given kinds; special tokens may stand anywhere."""
    text, tokens = "", []
    for i, kind in enumerate(kinds):
        special = kind not in ("word", "comma")
        start = len(text)
        text += "" if special else {"word": "w", "comma": ","}[kind]
        tokens.append(Token(kind, start, len(text), special, None if special else i))
    cls = tuple(i for i, kind in enumerate(kinds) if kind == "cls")
    sep = tuple(i for i, kind in enumerate(kinds) if kind == "sep")
    return Encoding(Sentence(text, "en"), tuple(range(len(kinds))), tuple(tokens), cls, sep, None)


# Named kinds of models: how far back and ahead a token looks, no text here being longer than 99 tokens.
REACH = {"causal": (99, 0), "local": (2, 1)}


def make_map(kinds: list[str], seed: int, shape: str = "full") -> AttentionMap:
    """Build a random map: of a REACH, or ``sharp`` with many exact zeros, rows without content and ties."""
    generator = torch.Generator().manual_seed(seed)
    size = len(kinds)
    logits = 3 * torch.randn(LAYERS, HEADS, size, size, generator=generator)
    back, ahead = REACH.get(shape, (size, size))
    band = torch.ones(size, size).triu(-back).tril(ahead).bool()
    logits = logits.masked_fill(~band, -torch.inf)
    weights = logits.softmax(-1)
    if shape == "sharp":
        kept = (weights >= weights.amax(-1, keepdim=True) / 2).float()
        weights = kept / kept.sum(-1, keepdim=True)
    return AttentionMap(make_encoding(kinds), weights, (REACH[shape],) * LAYERS if shape in REACH else ())


texts = st.lists(st.sampled_from(KINDS), min_size=1, max_size=12)
maps = st.builds(make_map, texts, st.integers(0, 10_000), st.sampled_from(["full", "causal", "local", "sharp"]))


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def scope_rows(head: Floats, kept: list[int]) -> dict[int, dict[int, float]]:
    """Return position -> position -> weight, for the rows that count, renormalized over the kept positions."""
    rows = {}
    for i in kept:
        mass = sum(float(head[i, j]) for j in kept)
        if mass >= 1e-6:
            rows[i] = {j: float(head[i, j]) / mass for j in kept}
    return rows


def slow_entropy(row: dict[int, float]) -> float:
    return -sum(p * math.log(p) for p in row.values() if p > 0)


def slow_share(rows: dict[int, dict[int, float]], keys: set[int]) -> float:
    return mean([sum(p for j, p in row.items() if j in keys) for row in rows.values()])


def slow_rows(rows: dict[int, dict[int, float]], kept: list[int], back: int, ahead: int) -> dict[str, float]:
    """Return the statistics that are plain means over rows, by double loops."""
    visible = {i: sum(i - back <= j <= i + ahead for j in kept) for i in kept}
    return {
        "self_share": mean([row[i] for i, row in rows.items()]),
        "previous_share": mean([row[i - 1] for i, row in rows.items() if i - 1 in kept]),
        "next_share": mean([row[i + 1] for i, row in rows.items() if i + 1 in kept]),
        "local_share": mean([sum(p for j, p in row.items() if abs(i - j) <= 2) for i, row in rows.items()]),
        "distance": mean([sum(p * abs(i - j) for j, p in row.items()) for i, row in rows.items()]),
        "signed_distance": mean([sum(p * (j - i) for j, p in row.items()) for i, row in rows.items()]),
        "right_share": mean([sum(p for j, p in row.items() if j > i) for i, row in rows.items()]),
        "entropy": mean([slow_entropy(row) for row in rows.values()]),
        "normalized_entropy": mean(
            [slow_entropy(row) / math.log(visible[i]) for i, row in rows.items() if visible[i] > 1]
        ),
        "effective_tokens": mean([math.exp(slow_entropy(row)) for row in rows.values()]),
        "confidence": mean([max(row.values()) for row in rows.values()]),
    }


def slow_sink(rows: dict[int, dict[int, float]], kept: list[int]) -> tuple[float, int]:
    if not rows:
        return math.nan, -1
    columns = {j: mean([row[j] for row in rows.values()]) for j in kept}
    position = max(columns, key=lambda j: (columns[j], -j))
    return columns[position], position


def slow_positional(rows: dict[int, dict[int, float]], kept: list[int]) -> tuple[float, int]:
    best, offset = math.nan, 0
    tops = {i: max(row, key=lambda j: (row[j], -j)) for i, row in rows.items()}
    for size in range(1, 12):
        for k in (-size, size):
            counted = [i for i in rows if i + k in kept]
            if len(counted) < 3 or 2 * len(counted) < len(rows):
                continue
            rate = mean([float(tops[i] == i + k) for i in counted])
            if math.isnan(best) or rate > best:
                best, offset = rate, k
    return best, offset


def slow_divergence(a: dict[int, dict[int, float]], b: dict[int, dict[int, float]]) -> float:
    """Return the mean squared Jensen–Shannon distance over the rows that count for both, by SciPy."""
    common = sorted(set(a) & set(b))
    pairs = [(list(a[i].values()), list(b[i].values())) for i in common]
    return mean([0.0 if p == q else float(scipy.spatial.distance.jensenshannon(p, q) ** 2) for p, q in pairs])


@settings(max_examples=60, deadline=None)
@given(maps)
def test_every_statistic_equals_its_slow_version(attention: AttentionMap) -> None:
    encoding, weights = attention.encoding, attention.weights.double().numpy()
    size = len(encoding.tokens)
    back, ahead = attention.reach[0] if attention.reach else (size, size)
    special = {i for i, token in enumerate(encoding.tokens) if token.special}
    commas = {i for i, token in enumerate(encoding.tokens) if token.text == "comma"}
    groups = {"cls_share": set(encoding.cls), "sep_share": set(encoding.sep), "special_share": special}
    for scope, scores in score_heads(attention).items():
        kept = [i for i in range(size) if scope == "all" or i not in special]
        heads = {h: scope_rows(weights[h], kept) for h in np.ndindex(LAYERS, HEADS)}
        assert scores.tokens == len(kept)
        for head, rows in heads.items():
            expected = slow_rows(rows, kept, back, ahead) | {"punctuation_share": slow_share(rows, commas)}
            if scope == "all":
                expected |= {name: slow_share(rows, keys) if keys else math.nan for name, keys in groups.items()}
            expected["sink"], position = slow_sink(rows, kept)
            expected["positional_rate"], offset = slow_positional(rows, kept)
            distances = {other: slow_divergence(rows, heads[other]) for other in heads if other != head}
            expected["nearest_head"] = min((d for d in distances.values() if d == d), default=math.nan)
            actual = {name: float(value[head]) for name, value in scores.values.items()}
            assert actual == pytest.approx(expected, abs=1e-9, nan_ok=True)
            assert scores.skipped_rows[head] == len(kept) - len(rows)
            # Sums in another order may break a tie the other way: the value at the position must be the largest.
            found = int(scores.details["sink_position"][head])
            assert found == position or mean([r[found] for r in rows.values()]) == pytest.approx(expected["sink"])
            assert scores.details["positional_offset"][head] == offset
            index = int(scores.details["nearest_head_index"][head])
            if index >= 0:
                nearest = distances[divmod(index, HEADS)]
                assert nearest == pytest.approx(expected["nearest_head"], abs=1e-9)
            else:
                assert math.isnan(expected["nearest_head"])
        for layer in range(LAYERS):
            pairs = [slow_divergence(heads[layer, a], heads[layer, b]) for a in range(HEADS) for b in range(a)]
            defined = [d for d in pairs if d == d]
            spread = scores.details["within_layer_spread"][layer]
            assert spread == pytest.approx(mean(defined), abs=1e-9, nan_ok=True)


@settings(max_examples=100, deadline=None)
@given(maps)
def test_bounds(attention: AttentionMap) -> None:
    size = len(attention.encoding.tokens)
    limits = {"distance": size - 1, "signed_distance": size - 1, "effective_tokens": size, "nearest_head": LN2}
    for scores in score_heads(attention).values():
        limits["entropy"] = math.log(max(scores.tokens, 1))
        for name, value in scores.values.items():
            defined = value[~np.isnan(value)]
            assert (defined >= (1 - size if name == "signed_distance" else 0)).all(), name
            assert (defined <= limits.get(name, 1) + 1e-9).all(), name


@settings(max_examples=50, deadline=None)
@given(texts, st.integers(0, 10_000))
def test_order_of_tokens_matters_only_where_it_should(kinds: list[str], seed: int) -> None:
    attention = make_map(kinds, seed)
    order = torch.randperm(len(kinds), generator=torch.Generator().manual_seed(seed)).tolist()
    shuffled = AttentionMap(
        make_encoding([kinds[i] for i in order]), attention.weights[:, :, order][..., order].contiguous()
    )
    free = ("self_share", "cls_share", "sep_share", "special_share", "punctuation_share", "entropy", "effective_tokens")
    free += ("confidence", "sink", "nearest_head")
    before, after = score_heads(attention), score_heads(shuffled)
    for scope in before:
        for name in set(free) & set(before[scope].values):
            np.testing.assert_allclose(before[scope].values[name], after[scope].values[name], atol=1e-9, err_msg=name)


def test_mirrored_map_swaps_the_directions() -> None:
    attention = make_map(["cls", *["word"] * 8, "sep"], seed=5)
    mirrored = AttentionMap(attention.encoding, attention.weights.flip(-1, -2))
    before, after = score_heads(attention)["content"].values, score_heads(mirrored)["content"].values
    np.testing.assert_allclose(after["next_share"], before["previous_share"])
    np.testing.assert_allclose(after["signed_distance"], -before["signed_distance"])
    np.testing.assert_allclose(after["distance"], before["distance"])


def test_entropy_equals_scipy() -> None:
    attention = make_map(["word"] * 9, seed=1)
    expected = scipy.stats.entropy(attention.weights.double().numpy(), axis=-1).mean(-1)
    np.testing.assert_allclose(score_heads(attention)["all"].values["entropy"], expected, atol=1e-12)


@pytest.mark.parametrize(("size", "tolerance"), [(EXACT_TOKENS, 1e-12), (EXACT_TOKENS + 1, 1e-6), (150, 1e-6)])
def test_divergence_equals_scipy_at_any_length(size: int, tolerance: float) -> None:
    weights = (4 * torch.randn(5, size, size, generator=torch.Generator().manual_seed(2))).double().softmax(-1)
    every_pair = torch.ones(5, 5, dtype=torch.bool)
    found = mean_divergences(weights, torch.ones(5, size, dtype=torch.bool), every_pair).numpy()
    for a in range(5):
        for b in range(a):
            js = scipy.spatial.distance.jensenshannon(weights[a].numpy(), weights[b].numpy(), axis=1) ** 2
            assert found[a, b] == found[b, a] == pytest.approx(js.mean(), abs=tolerance)
    assert np.isnan(np.diag(found)).all()


def test_the_nearest_head_is_among_few_candidates() -> None:
    """Four families, sharp to even, with rows that do not count: no nearest head is lost, half the pairs are spared."""
    generator = torch.Generator().manual_seed(3)
    family = torch.randn(4, 1, 20, 20, generator=generator) * torch.tensor([0.1, 1, 3, 9])[:, None, None, None]
    weights = (family + 0.3 * torch.randn(4, 8, 20, 20, generator=generator)).flatten(0, 1).double().softmax(-1)
    valid = torch.rand(32, 20, generator=generator) < 0.9
    pairs = mean_divergences(weights, valid, torch.ones(32, 32, dtype=torch.bool)).nan_to_num(torch.inf)
    candidates = may_be_nearest(weights, valid)
    assert candidates[torch.arange(32), pairs.argmin(-1)].all()
    assert torch.equal(candidates, candidates.T)
    assert candidates.double().mean() < 0.5


def test_divergence_lies_between_its_hellinger_bounds() -> None:
    """The generators of the two f-divergences: ln 2 h(t) <= j(t) <= h(t) for every ratio t of two probabilities."""
    t = np.logspace(-12, 12, 100_001)
    js = (t * np.log(t) - (1 + t) * np.log((1 + t) / 2)) / 2
    hellinger = (np.sqrt(t) - 1) ** 2 / 2
    assert (js >= math.log(2) * hellinger - 1e-12 * t).all()
    assert (js <= hellinger + 1e-12 * (1 + t)).all()


@settings(max_examples=30, deadline=None)
@given(maps)
def test_every_head_of_three_tokens_or_more_has_a_class(attention: AttentionMap) -> None:
    classes = pattern_class(score_heads(attention)["all"], attention.encoding)
    assert classes.shape == (LAYERS, HEADS)
    assert ((classes >= 0) == (len(attention.encoding.tokens) >= 3)).all()
