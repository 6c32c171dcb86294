"""The table of sentences: in the order of the input, null where undefined, the same bytes whatever the parts."""

import io
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from attnx.batch import table as module
from attnx.batch.table import SentenceTable, join_tables, read_column
from attnx.corpus.records import CorpusRow
from attnx.encoders.records import Encoding, Token
from attnx.streaming.records import NAMES, Batch, BatchScores
from attnx.texts.sentence import Sentence

LAYERS, HEADS = 2, 3


def encoding(tokens: int) -> Encoding:
    token = Token("a", 0, 1, False, 0)
    return Encoding(Sentence("a", "en"), (1,) * tokens, (token,) * tokens, (), (), None)


def scores(numbers: list[int], tokens: int) -> BatchScores:
    """Scores that tell where they belong: the number of the sentence, and 0.01 for every head and statistic."""
    count = len(numbers)
    values = {}
    for scope, names in NAMES.items():
        steps = np.arange(LAYERS * HEADS * len(names)).reshape(LAYERS, HEADS, len(names)) / 100
        values[scope] = np.array(numbers, dtype=float)[:, None, None, None] + steps
        values[scope][:, 1, 2, 0] = np.nan
    rows = {scope: np.ones(value.shape, dtype=np.int64) for scope, value in values.items()}
    batch = Batch(np.array(numbers), (encoding(tokens),) * count, np.zeros(count, dtype=np.int64))
    return BatchScores(batch, values, rows)


def rows(numbers: list[int]) -> list[CorpusRow]:
    return [CorpusRow(number, f"id {number}", "text", "файл.txt", number + 10) for number in numbers]


@pytest.fixture
def part(tmp_path: Path) -> Path:
    """Four sentences of which one was not measured, given as two batches out of order."""
    table = SentenceTable(rows([3, 5, 6, 9]), LAYERS, HEADS)
    table.add(scores([9, 5], tokens=4))
    table.add(scores([3], tokens=7))
    path = tmp_path / "part.parquet"
    path.write_bytes(table.write())
    return path


def test_rows_are_sentences_by_layers_by_heads_in_the_order_of_the_input(part: Path) -> None:
    columns = pq.read_table(part).to_pydict()
    assert columns["number"] == [3] * 6 + [5] * 6 + [9] * 6
    assert columns["id"][6] == "id 5" and columns["file"][0] == "файл.txt" and columns["line"][-1] == 19
    assert columns["tokens"] == [7] * 6 + [4] * 12
    assert columns["layer"][:6] == [0, 0, 0, 1, 1, 1] and columns["head"][:6] == [0, 1, 2, 0, 1, 2]
    name = NAMES["content"][1]
    step = (len(NAMES["content"]) * 4 + 1) / 100  # layer 1, head 1, statistic 1
    assert columns[f"content.{name}"][4] == pytest.approx(3 + step)
    assert columns[f"all.{NAMES['all'][0]}"][5] is None


def test_parts_are_joined_with_the_same_bytes_each_time(part: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GROUP_ROWS", 6)
    other = part.with_name("other.parquet")
    table = SentenceTable(rows([11, 12]), LAYERS, HEADS)
    table.add(scores([11, 12], tokens=3))
    other.write_bytes(table.write())
    files = [io.BytesIO(), io.BytesIO()]
    for file in files:
        join_tables([part, other], file)
    assert files[0].getvalue() == files[1].getvalue()
    assert pq.read_table(files[0])["number"].to_pylist() == [n for n in (3, 5, 9, 11, 12) for _ in range(6)]


def test_one_head_can_be_read_without_the_others(part: Path) -> None:
    name = NAMES["all"][0]
    found = list(read_column(part, 0, 1, f"all.{name}", 100))
    step = len(NAMES["all"]) / 100
    assert [(number, tokens) for number, tokens, _ in found] == [(3, 7), (5, 4), (9, 4)]
    assert [value for *_, value in found] == pytest.approx([3 + step, 5 + step, 9 + step])
    assert list(read_column(part, 1, 2, f"all.{name}", 100)) == []  # undefined


def test_a_shard_without_a_sentence_is_an_empty_table() -> None:
    table = pq.read_table(io.BytesIO(SentenceTable(rows([1]), LAYERS, HEADS).write()))
    assert table.num_rows == 0 and "all.entropy" in table.column_names
