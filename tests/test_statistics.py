"""Statistics of maps that can be solved by hand, of defined and undefined cases, and of the built-in model."""

import itertools
import json
import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import ArrayLike

from attnx.encoders.encoder import Encoder
from attnx.encoders.records import AttentionMap, Encoding, Token
from attnx.errors import AttnxError
from attnx.statistics import PATTERNS, REGISTRY, SCOPES, HeadScores, pattern_class, scope_view, score_heads
from attnx.statistics.scores import Floats
from attnx.texts.sentence import Sentence

DATA = Path(__file__).parent / "data"
LN2 = math.log(2)


def encoding(words: list[str], cls: str | None = "[CLS]", sep: str | None = "[SEP]") -> Encoding:
    """An encoding of words that follow each other without spaces, between two special tokens (or none)."""
    ends = list(itertools.accumulate(map(len, words)))
    content = [Token(w, end - len(w), end, False, i) for i, (w, end) in enumerate(zip(words, ends, strict=True))]
    start = [Token(cls, 0, 0, True, None)] if cls else []
    stop = [Token(sep, 0, 0, True, None)] if sep else []
    tokens = (*start, *content, *stop)
    return Encoding(
        sentence=Sentence("".join(words), "en"),
        ids=tuple(range(len(tokens))),
        tokens=tokens,
        cls=(0,) if cls else (),
        sep=(len(tokens) - 1,) if sep else (),
        truncated_from=None,
    )


def plain(size: int) -> Encoding:
    return encoding(["w"] * size, cls=None, sep=None)


def attention(encoding: Encoding, *heads: ArrayLike) -> AttentionMap:
    """A map of one layer whose heads are the given matrices."""
    weights = torch.stack([torch.as_tensor(np.asarray(head), dtype=torch.float32) for head in heads])
    return AttentionMap(encoding, weights[None])


def one_head(scores: HeadScores) -> dict[str, float]:
    return {name: float(value[0, 0]) for name, value in scores.values.items()}


def uniform(size: int) -> Floats:
    return np.full((size, size), 1 / size)


def to_column(size: int, column: int) -> Floats:
    return np.eye(size)[[column] * size]


def shifted(size: int, offset: int) -> Floats:
    """Every token attends to the one `offset` places on; rows that would leave the text stay in place."""
    return np.eye(size)[[i + offset if 0 <= i + offset < size else i for i in range(size)]]


def test_uniform_head() -> None:
    size = 5
    scores = one_head(score_heads(attention(plain(size), uniform(size)))["all"])
    expected = {
        "self_share": 1 / 5,
        "previous_share": 1 / 5,
        "next_share": 1 / 5,
        "local_share": (3 + 4 + 5 + 4 + 3) / 25,
        "cls_share": math.nan,
        "sep_share": math.nan,
        "special_share": math.nan,
        "punctuation_share": 0.0,
        "distance": (size**2 - 1) / (3 * size),
        "signed_distance": 0.0,
        "right_share": (size - 1) / (2 * size),
        "entropy": math.log(5),
        "normalized_entropy": 1.0,
        "effective_tokens": 5.0,
        "confidence": 1 / 5,
        "sink": 1 / 5,
        # Of equal weights the lowest j, here 0: no row but row 1 (k = -1), row 2 (k = -2) of 4 and 3 rows counted.
        "positional_rate": 1 / 3,
        "nearest_head": math.nan,
    }
    assert scores == pytest.approx(expected, abs=1e-7, nan_ok=True)
    assert list(scores) == list(REGISTRY) == list(expected)


def test_identity_head() -> None:
    scores = one_head(score_heads(attention(plain(4), np.eye(4), uniform(4)))["all"])
    expected = {"self_share": 1, "previous_share": 0, "next_share": 0, "local_share": 1, "distance": 0}
    expected |= {"signed_distance": 0, "right_share": 0, "entropy": 0, "normalized_entropy": 0, "effective_tokens": 1}
    expected |= {"confidence": 1, "sink": 0.25, "positional_rate": 0}
    assert {name: scores[name] for name in expected} == pytest.approx(expected)
    # JS of one-hot and uniform over 4: H(5/8, 1/8, 1/8, 1/8) - ln(4) / 2.
    mixture = -(5 / 8 * math.log(5 / 8) + 3 / 8 * math.log(1 / 8))
    assert scores["nearest_head"] == pytest.approx(mixture - math.log(4) / 2)


@pytest.mark.parametrize(("offset", "next_share", "previous_share"), [(+1, 1.0, 0.0), (-1, 0.0, 1.0)])
def test_next_is_to_the_right(offset: int, next_share: float, previous_share: float) -> None:
    # The legend of Clark et al.'s notebook has the two swapped.
    size = 6
    scores = score_heads(attention(plain(size), shifted(size, offset), uniform(size)))["all"]
    values = one_head(scores)
    assert values["next_share"] == next_share
    assert values["previous_share"] == previous_share
    assert values["positional_rate"] == 1.0
    assert scores.details["positional_offset"][0, 0] == offset
    assert values["signed_distance"] == pytest.approx(offset * 5 / 6)
    assert values["right_share"] == pytest.approx(5 / 6 if offset > 0 else 0)


def test_sink_head() -> None:
    special = encoding(["Cat", "sat", "."])
    scores = score_heads(attention(special, to_column(5, 3), uniform(5)))
    values = one_head(scores["all"])
    assert (values["sink"], values["punctuation_share"], values["special_share"]) == (1.0, 1.0, 0.0)
    assert scores["all"].details["sink_position"][0].tolist() == [3, 0]
    # In the content scope the position is still the one in the whole sentence, and of equals the lowest.
    assert scores["content"].details["sink_position"][0].tolist() == [3, 1]
    assert values["distance"] == pytest.approx((3 + 2 + 1 + 0 + 1) / 5)


def test_special_shares() -> None:
    row = [0.5, 0.1, 0.1, 0.3]
    values = one_head(score_heads(attention(encoding(["a", "b"]), [row] * 4))["all"])
    assert values["cls_share"] == pytest.approx(0.5)
    assert values["sep_share"] == pytest.approx(0.3)
    assert values["special_share"] == pytest.approx(0.8)


def test_special_shares_belong_to_scope_all() -> None:
    content = score_heads(attention(encoding(["a", "b"]), uniform(4)))["content"]
    assert set(REGISTRY) - set(content.values) == {"cls_share", "sep_share", "special_share"}


def test_content_scope_is_renormalized_and_skips_rows_without_content() -> None:
    rows = [
        [0.25, 0.25, 0.25, 0.25],
        [0.4, 0.1, 0.3, 0.2],
        [0.5, 0.0, 0.0, 0.5],
        [1.0, 0.0, 0.0, 0.0],
    ]
    content = score_heads(attention(encoding(["a", "b"]), rows, uniform(4)))["content"]
    assert content.tokens == 2
    assert content.skipped_rows.tolist() == [[1, 0]]
    values = one_head(content)
    assert values["self_share"] == pytest.approx(0.25)
    assert values["next_share"] == pytest.approx(0.75)
    assert math.isnan(values["previous_share"])  # its only row is the skipped one
    assert values["sink"] == pytest.approx(0.75)
    assert content.details["sink_position"][0, 0] == 2


def test_content_scope_keeps_original_positions() -> None:
    # A special token amid the text: words at 1, 2 and 4, so 2 and 4 are no neighbors, and their distance is 2.
    base = encoding(["a", "b", "x", "c"])
    tokens = tuple(Token("[SEP]", 0, 0, True, None) if i == 3 else t for i, t in enumerate(base.tokens))
    middle = Encoding(base.sentence, base.ids, tokens, base.cls, (3, 5), None)
    content = score_heads(attention(middle, shifted(6, +1) * 0.5 + 0.5 * to_column(6, 4)))["content"]
    values = one_head(content)
    assert content.tokens == 3
    # Rows 1 (0.5 to 2, 0.5 to 4), 2 (all to 4, as 3 is gone) and 4 (all to itself); only row 1 has a next word.
    assert values["next_share"] == pytest.approx(0.5)
    assert values["previous_share"] == 0.0
    assert values["distance"] == pytest.approx((0.5 * 1 + 0.5 * 3 + 2 + 0) / 3)


def test_entropy_of_a_certain_row_is_plain_zero() -> None:
    for size in (1, 4):
        values = one_head(score_heads(attention(plain(size), to_column(size, 0)))["all"])
        assert str(values["entropy"]) == "0.0"
        assert values["effective_tokens"] == 1.0
        rows = REGISTRY["entropy"].function(scope_view(attention(plain(size), to_column(size, 0)), "all"))
        assert not rows.signbit().any()
    uniform_entropy = one_head(score_heads(attention(plain(5), [[0.2] * 5] * 5))["all"])["entropy"]
    assert uniform_entropy == pytest.approx(1.6094379, abs=5e-8)


def test_causal_rows_are_normalized_by_the_keys_they_see() -> None:
    causal = np.tril(np.ones((4, 4))) / np.arange(1, 5)[:, None]
    looking_back = replace(attention(plain(4), causal), reach=((None, 0),))
    values = one_head(score_heads(looking_back)["all"])
    assert values["normalized_entropy"] == pytest.approx(1.0)  # rows 1, 2, 3; row 0 sees one key and is left out
    assert values["entropy"] == pytest.approx(math.log(24) / 4)


def test_rows_of_a_local_layer_are_normalized_by_the_keys_in_its_window() -> None:
    band = np.triu(np.tril(np.ones((5, 5)), 1), -1)
    band /= band.sum(1, keepdims=True)  # even over two keys at the ends, over three elsewhere
    local = replace(attention(plain(5), band), reach=((1, 1),))
    assert one_head(score_heads(local)["all"])["normalized_entropy"] == pytest.approx(1.0)
    everywhere = one_head(score_heads(attention(plain(5), band))["all"])["normalized_entropy"]
    assert everywhere == pytest.approx((2 * math.log(2) + 3 * math.log(3)) / 5 / math.log(5))
    marked = replace(attention(encoding(["a", "b", "c"]), band), reach=((1, 1),))
    # Of the content rows, a and c see two content keys, b all three: rescaled, each is still even.
    assert one_head(score_heads(marked)["content"])["normalized_entropy"] == pytest.approx(1.0)


def test_positional_rate_needs_half_of_the_rows_and_three() -> None:
    size = 8
    far = np.full((size, size), 0.0)
    far[:, 0] = 1.0
    far[0] = np.eye(size)[7]  # one row, offset +7: a rate of 1 over a single row
    scores = score_heads(attention(plain(size), far))["all"]
    assert one_head(scores)["positional_rate"] == pytest.approx(1 / 4)  # k = -4: row 4 of rows 4..7
    assert scores.details["positional_offset"].tolist() == [[-4]]
    short = score_heads(attention(plain(3), shifted(3, +1)))["all"]
    assert math.isnan(one_head(short)["positional_rate"])
    assert short.details["positional_offset"].tolist() == [[0]]


def test_nearest_head_looks_into_every_layer() -> None:
    heads = [np.eye(4), 0.6 * uniform(4) + 0.4 * np.eye(4), to_column(4, 0), np.eye(4)]
    weights = torch.tensor(np.array(heads), dtype=torch.float32).reshape(2, 2, 4, 4)
    scores = score_heads(AttentionMap(plain(4), weights))["all"]
    assert scores.details["nearest_head_index"].tolist() == [[3, 0], [1, 0]]
    assert scores.values["nearest_head"][0, 0] == pytest.approx(0, abs=1e-12)
    # Three of four rows of the second layer's pair differ completely, one is the same.
    assert scores.details["within_layer_spread"][1] == pytest.approx(3 / 4 * LN2)


@pytest.mark.parametrize(
    ("words", "punctuation"),
    [
        (["玩", "，", "。"], [False, True, True]),
        (["«", "Да", "»", "…"], [True, False, True, True]),
        (["a.", "$", "+", "--", " ,"], [False, False, False, True, True]),
        ([" ", "\u200b"], [False, False]),
    ],
)
def test_punctuation_is_category_p_throughout(words: list[str], punctuation: list[bool]) -> None:
    text = encoding(words)
    for i, expected in enumerate([False, *punctuation, False]):
        values = one_head(score_heads(attention(text, to_column(len(words) + 2, i)))["all"])
        assert values["punctuation_share"] == float(expected)


def test_nothing_to_measure_is_undefined_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        only_special = score_heads(attention(encoding([]), uniform(2)))
        single = score_heads(attention(plain(1), [[1.0]]))
        empty = score_heads(attention(plain(0), np.zeros((0, 0))))
    for scores in (only_special["content"], empty["all"], empty["content"]):
        assert scores.tokens == 0
        assert all(math.isnan(value) for value in one_head(scores).values())
        assert scores.details["sink_position"].tolist() == [[-1]]
        assert scores.details["nearest_head_index"].tolist() == [[-1]]
        assert scores.details["positional_offset"].tolist() == [[0]]
    values = one_head(single["all"])
    undefined = {name for name, value in values.items() if math.isnan(value)}
    absent = {"cls_share", "sep_share", "special_share"}
    assert undefined == absent | {
        "previous_share",
        "next_share",
        "normalized_entropy",
        "positional_rate",
        "nearest_head",
    }
    assert values["self_share"] == values["confidence"] == values["sink"] == 1.0


@pytest.mark.parametrize(
    "row",
    [[0.5, 0.4], [0.6, 0.5], [math.nan, 1.0], [math.inf, 0.0], [1.5, -0.5]],
    ids=["low", "high", "nan", "inf", "negative"],
)
def test_rows_that_are_no_distribution_are_refused(row: list[float]) -> None:
    weights = torch.full((3, 2, 2, 2), 0.5)
    weights[2, 1, 0] = torch.tensor(row)
    with pytest.raises(AttnxError) as error:
        score_heads(AttentionMap(plain(2), weights))
    assert error.value.key == "rows_not_normalized"
    assert (error.value.values["layer"], error.value.values["head"]) == (3, 2)
    assert error.value.values["total"] == pytest.approx(sum(row), nan_ok=True)


def test_units_and_scopes_are_known() -> None:
    assert {statistic.unit for statistic in REGISTRY.values()} == {"share", "tokens", "nats", "number"}
    assert all(set(statistic.scopes) <= set(SCOPES) for statistic in REGISTRY.values())
    assert all(statistic.function.__doc__ for statistic in REGISTRY.values())


def test_pattern_classes() -> None:
    size, words = 12, ["w"] * 10
    diagonal = shifted(size, -1)
    heads = {
        "vertical": 0.5 * to_column(size, 0) + 0.5 * to_column(size, size - 1),
        "diagonal": diagonal,
        "vertical_diagonal": 0.5 * diagonal + 0.5 * to_column(size, 0),
        "heterogeneous": uniform(size),
    }
    text = encoding(words)
    classes = pattern_class(score_heads(attention(text, *heads.values()))["all"], text)
    assert [PATTERNS[i] for i in classes[0]] == list(heads)
    no_specials = plain(size)
    sink = score_heads(attention(no_specials, to_column(size, 5)))["all"]
    assert PATTERNS[pattern_class(sink, no_specials)[0, 0]] == "vertical"


def test_pattern_class_needs_three_tokens() -> None:
    assert pattern_class(score_heads(attention(plain(2), uniform(2)))["all"], plain(2)).tolist() == [[-1]]
    classes = pattern_class(score_heads(attention(plain(3), uniform(3)))["all"], plain(3))
    assert PATTERNS[classes[0, 0]] == "heterogeneous"


@pytest.mark.slow
def test_builtin_model_gives_the_reference_values(encoder: Encoder) -> None:
    for sentence in json.loads((DATA / "builtin_head_statistics.json").read_text(encoding="utf-8")):
        text = Sentence(sentence["text"], "en")
        scores = score_heads(encoder.observe(encoder.encode(text)))
        for scope, statistics in sentence["scopes"].items():
            for name, expected in statistics.items():
                np.testing.assert_allclose(scores[scope].values[name], expected, rtol=0, atol=2e-5, err_msg=name)
