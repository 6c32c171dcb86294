"""Findings on maps built so that the right finding is known."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from attnx.encoders.records import AttentionMap, Encoding, Token
from attnx.findings import Evidence, Finding, find
from attnx.statistics import even_scores, score_heads
from attnx.texts.sentence import Sentence

SIZE = 10
Matrix = NDArray[np.float64]


def make_encoding(size: int) -> Encoding:
    """Build [CLS], words of one letter a, b, c…, and [SEP]."""
    text = "abcdefghijkl"[: size - 2]
    words = [Token(letter, i, i + 1, False, i) for i, letter in enumerate(text)]
    tokens = (Token("[CLS]", 0, 0, True, None), *words, Token("[SEP]", 0, 0, True, None))
    return Encoding(Sentence(text, "en"), tuple(range(size)), tokens, (0,), (size - 1,), None)


def evidence(attention: AttentionMap) -> Evidence:
    even = even_scores(attention.encoding, attention.reach, len(attention.weights))
    return Evidence(attention.encoding, score_heads(attention), even)


def found(heads: list[list[Matrix]]) -> dict[str, Finding]:
    """Return the findings about a map given as its layers' lists of heads."""
    weights = torch.tensor(np.array(heads), dtype=torch.float32)
    attention = AttentionMap(make_encoding(weights.shape[-1]), weights)
    return {finding.key: finding for finding in find(evidence(attention))}


def broad(seed: int) -> Matrix:
    """A head near the uniform one that no rule names, different for every seed."""
    weights = np.random.default_rng(seed).uniform(0.2, 1.0, (SIZE, SIZE))
    return weights / weights.sum(1, keepdims=True)


def mixed(pattern: Matrix, share: float, seed: int) -> Matrix:
    return share * pattern + (1 - share) * broad(seed)


def neighbor(offset: int) -> Matrix:
    return np.roll(np.eye(SIZE), offset, axis=1)


def column(position: int) -> Matrix:
    return np.eye(SIZE)[[position] * SIZE]


@pytest.mark.parametrize(
    ("pattern", "key"), [(neighbor(+1), "next_heads"), (neighbor(-1), "previous_heads"), (np.eye(SIZE), "self_heads")]
)
def test_heads_with_a_majority(pattern: Matrix, key: str) -> None:
    findings = found([[broad(0), mixed(pattern, 0.6, 1)], [mixed(pattern, 0.8, 2), broad(3)]])
    finding = findings[key]
    assert (finding.layer, finding.head) == (1, 0)
    assert finding.value == pytest.approx(0.8 + 0.2 / SIZE, abs=0.02)
    assert finding.threshold == 0.5
    assert finding.details == {"n": 2, "heads": 4}
    others = {"next_heads", "previous_heads", "self_heads"} - {key}
    assert {f"{other}_none" for other in others} <= set(findings)


def test_no_head_passes() -> None:
    findings = found([[broad(0), mixed(neighbor(+1), 0.3, 1)]])
    none = findings["next_heads_none"]
    assert (none.layer, none.head, none.details["n"]) == (0, 1, 0)
    assert 0.3 < none.value < 0.5
    assert findings["sink_heads_none"].details.keys() == {"n", "heads", "position", "token"}
    names = list(findings)
    first_none = next(i for i, name in enumerate(names) if name.endswith("_none"))
    assert all(name.endswith("_none") for name in names[first_none:])


def test_positional_head_has_its_offset() -> None:
    finding = found([[broad(0), mixed(neighbor(-2), 0.5, 1)]])["positional_heads"]
    assert (finding.head, finding.value, finding.threshold) == (1, 1.0, 0.9)
    assert finding.details["offset"] == -2


def test_special_tokens_hide_neither_position_nor_self_attention() -> None:
    onto_cls = 0.6 * column(0)
    findings = found([[onto_cls + 0.4 * neighbor(+1)], [onto_cls + 0.4 * np.eye(SIZE)]])
    assert (findings["positional_heads"].layer, findings["positional_heads"].value) == (0, 1.0)
    assert (findings["self_layer"].layer, findings["self_layer"].value) == (1, pytest.approx(1.0))


def test_sinks_are_counted_with_their_tokens() -> None:
    sinks = [mixed(column(0), 0.4, 1), mixed(column(0), 0.5, 2), mixed(column(3), 0.9, 3)]
    finding = found([[broad(0), *sinks]])["sink_heads"]
    assert (finding.head, finding.threshold) == (3, 0.3)
    assert finding.details == {
        **{"n": 3, "heads": 4, "position": 3, "token": "c"},
        **{"common_position": 0, "common_token": "[CLS]", "common_n": 2},
    }


def test_near_duplicates_name_the_closest_pair() -> None:
    twin = mixed(neighbor(+1), 0.5, 5)
    almost = 0.999 * twin + 0.001 * column(4)
    findings = found([[twin, broad(1)], [mixed(np.eye(SIZE), 0.5, 6), almost]])
    finding = findings["near_duplicates"]
    assert (finding.layer, finding.head) == (0, 0)
    assert (finding.details["partner_layer"], finding.details["partner_head"]) == (1, 1)
    assert finding.details["n"] == 2
    assert 0 < finding.value < 0.001
    assert "near_duplicates_none" in found([[broad(0), np.eye(SIZE)]])


def test_broadest_and_sharpest_head() -> None:
    findings = found([[mixed(neighbor(+1), 0.5, 1), np.full((SIZE, SIZE), 1 / SIZE)], [column(4), broad(2)]])
    broadest, sharpest = findings["broadest_head"], findings["sharpest_head"]
    assert (broadest.layer, broadest.head, broadest.threshold) == (0, 1, None)
    assert broadest.value == pytest.approx(1)
    assert (sharpest.layer, sharpest.head) == (1, 0)
    assert str(sharpest.value) == "0.0"


def test_pattern_classes_are_counted() -> None:
    finding = found([[column(0), column(9), neighbor(+1), broad(1)]])["pattern_classes"]
    counts = {"vertical": 2, "diagonal": 1, "vertical_diagonal": 0, "heterogeneous": 1}
    assert finding.details == {**counts, "heads": 4, "together": 0.25}
    assert (finding.layer, finding.head, finding.value) == (None, None, 0.5)


def test_layers() -> None:
    far = np.eye(SIZE)[::-1].copy()
    findings = found([[np.eye(SIZE), broad(1)], [far, far]])
    self_layer, distance_layer = findings["self_layer"], findings["distance_layer"]
    assert (self_layer.layer, self_layer.head) == (0, None)
    assert self_layer.value == pytest.approx(0.55, abs=0.02)
    assert self_layer.details["average"] == pytest.approx(self_layer.value / 2)
    assert distance_layer.layer == 1
    assert distance_layer.value == pytest.approx((7 + 5 + 3 + 1) / 4)  # 8 words, mirrored
    assert "self_layer" not in found([[np.eye(SIZE), broad(1)]])


@pytest.mark.parametrize(("size", "absent"), [(2, ("next", "previous", "self", "sink")), (3, ("sink",))])
def test_what_chance_alone_gives_is_no_finding(size: int, absent: tuple[str, ...]) -> None:
    findings = found([[np.full((size, size), 1 / size)] * 2])
    assert not [key for key in findings if key.startswith(absent)]
