"""A head's map without special tokens, by words, on other scales: against matrices solved by hand."""

import numpy as np
import pytest

from attnx.encoders.records import Token
from attnx.statistics.reshaping import by_word, scale_top, scaled, without_special, word_ranges

# <s> un|known cat </s>: five tokens, of which two are one word.
TOKENS = (
    Token("<s>", 0, 0, True, None),
    Token("un", 0, 2, False, 0),
    Token("known", 2, 7, False, 0),
    Token("cat", 8, 11, False, 1),
    Token("</s>", 0, 0, True, None),
)
SPECIAL = [token.special for token in TOKENS]
MAP = np.array(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [0.5, 0.1, 0.3, 0.1, 0.0],
        [0.2, 0.2, 0.2, 0.4, 0.0],
        [0.0, 0.1, 0.1, 0.8, 0.0],
        [0.0, 0.0, 0.0, 0.0, 1.0],
    ]
)


def test_without_special_tokens_the_rest_sums_to_one() -> None:
    expected = [[0.2, 0.6, 0.2], [0.25, 0.25, 0.5], [0.1, 0.1, 0.8]]
    assert without_special(MAP, SPECIAL) == pytest.approx(np.array(expected))


def test_a_row_with_nothing_on_the_text_is_undefined() -> None:
    only_special = MAP.copy()
    only_special[1] = [1, 0, 0, 0, 0]
    left = without_special(only_special, SPECIAL)
    assert np.isnan(left[0]).all()
    assert left[1:] == pytest.approx(np.array([[0.25, 0.25, 0.5], [0.1, 0.1, 0.8]]))


def test_the_tokens_of_a_word_go_together_and_special_tokens_stay_alone() -> None:
    assert word_ranges(TOKENS) == (range(0, 1), range(1, 3), range(3, 4), range(4, 5))
    two = (*TOKENS[:1], *TOKENS[:1])
    assert word_ranges(two) == (range(0, 1), range(1, 2))


def test_attention_to_a_word_is_a_sum_and_from_it_a_mean() -> None:
    expected = [
        [1, 0, 0, 0],
        [0.35, 0.4, 0.25, 0],  # the mean of (0.5, 0.4, 0.1) and (0.2, 0.4, 0.4)
        [0, 0.2, 0.8, 0],
        [0, 0, 0, 1],
    ]
    merged = by_word(MAP, word_ranges(TOKENS))
    assert merged == pytest.approx(np.array(expected))
    assert merged.sum(-1) == pytest.approx(1)


def test_words_of_all_heads_at_once_are_those_of_each_head() -> None:
    maps = np.random.default_rng(0).dirichlet(np.ones(5), (2, 3, 5))
    words = word_ranges(TOKENS)
    assert by_word(maps, words)[1, 2] == pytest.approx(by_word(maps[1, 2], words))


def test_the_linear_scale_ends_at_its_top() -> None:
    assert scaled(np.array([[0.0, 0.2, 0.4, 0.9]]), "linear", 0.4).tolist() == [[0, 0.5, 1, 1]]


def test_the_logarithmic_scale_has_equal_steps_for_equal_ratios() -> None:
    shares = scaled(np.array([[0.0, 0.001, 0.01, 0.1, 1.0]]), "log", 0.4)
    assert shares == pytest.approx(np.array([[0, 0, 1 / 3, 2 / 3, 1]]))


def test_the_row_scale_ends_at_the_rows_largest_weight() -> None:
    shares = scaled(np.array([[0.1, 0.2], [np.nan, np.nan]]), "row", 0.4)
    assert shares[0].tolist() == [0.5, 1] and np.isnan(shares[1]).all()


def test_the_top_is_rounded_up_to_five_percent() -> None:
    assert scale_top(np.full((1, 1, 4, 4), 0.25)) == pytest.approx(0.25)
    assert scale_top(np.full((1, 1, 4, 4), 0.26)) == pytest.approx(0.3)
    assert scale_top(np.eye(4)[None, None]) == 1
    assert scale_top(np.zeros((1, 1, 4, 4))) == 0.05
