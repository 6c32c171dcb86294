"""Samples: as many as asked, in order, the same for a seed, every row as likely as any other."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from attnx.corpus.reading import read_corpus
from attnx.corpus.records import BadRow, CorpusOptions, CorpusRow


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "a.txt"
    file.write_text("".join(f"row {number}\n" for number in range(40)))
    return file


def sample(path: Path, **options: Any) -> list[int]:
    rows = read_corpus([path], CorpusOptions(**options))
    return [row.number for row in rows if isinstance(row, CorpusRow)]


def test_a_sample_is_in_order_and_the_same_for_a_seed(path: Path) -> None:
    drawn = sample(path, sample=10, seed=3)
    assert drawn == sorted(set(drawn)) and len(drawn) == 10
    assert drawn == sample(path, sample=10, seed=3)
    assert drawn != sample(path, sample=10, seed=4)


def test_a_sample_larger_than_the_file_is_the_file(path: Path) -> None:
    assert sample(path, sample=99) == list(range(40))


def test_a_sample_is_drawn_from_the_rows_within_the_limit(path: Path) -> None:
    assert max(max(sample(path, sample=5, limit=8, seed=seed)) for seed in range(40)) == 7


def test_every_row_is_as_likely_as_any_other(path: Path) -> None:
    """1,000 draws of 10 from 40: 250 each, standard deviation 13.7; five of these either way."""
    counts = Counter(number for seed in range(1000) for number in sample(path, sample=10, seed=seed))
    assert len(counts) == 40
    assert all(abs(count - 250) < 69 for count in counts.values())


def test_what_is_reported_is_reported_whole(read: Any, bad: Any) -> None:
    items = read("a.csv", "id,text\n" + "1,one\n2\n" * 9, sample=2)
    assert bad(items) == [(3 + 2 * number, "row_fields") for number in range(9)]
    assert [type(item) for item in items] == [BadRow] * 9 + [CorpusRow] * 2
