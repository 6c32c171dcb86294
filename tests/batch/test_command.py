"""``attnx batch`` as its users meet it: what it writes, what it refuses, how it ends."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from attnx.batch.folder import OUTPUTS
from attnx.cli.batch import FORMATS
from attnx.corpus import reading
from attnx.i18n import load_catalog
from attnx.streaming.records import NAMES
from tests.batch.runs import progress_apart, said, some_sentences, write_lines

Cli = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("without_pages")
CORPORA = Path(__file__).parents[1] / "data/corpora"
EN = load_catalog("en")


def errors(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "errors.jsonl").read_text(encoding="utf-8").splitlines()]


def measured(folder: Path) -> list[tuple[str, int]]:
    """The id and line of every sentence, in order."""
    columns = pq.read_table(folder / "sentences.parquet", columns=["id", "line"]).to_pydict()
    return list(dict.fromkeys(zip(columns["id"], columns["line"], strict=True)))


# --- what is written ---


@pytest.mark.usefixtures("small_shards")
def test_all_outputs_are_written_and_the_end_is_told(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.txt", [*some_sentences(9), "\u200b"])
    result = cli("batch", "a.txt", "-m", tiny, "-o", "out", "-l", "ru")
    assert result.exit_code == 1, result.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted([".attnx", *OUTPUTS])
    assert result.stdout.splitlines()[:2] == ["Report: out/report.html", "Report: out/report.pdf"]
    told = progress_apart(result.stderr)
    assert EN.text("terminal.batch_measured", n=9) in told
    assert EN.text("terminal.batch_refused", n=1, path=Path("out/errors.jsonl")) in told
    assert '<html lang="ru"' in (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert [(e["file"], e["line"], e["key"]) for e in errors(tmp_path / "out")] == [("a.txt", 10, "invisible_text")]
    twin = json.loads((tmp_path / "out/report.json").read_text(encoding="utf-8"))
    assert (twin["format"], twin["kind"]) == (1, "corpus")
    assert "NaN" not in (tmp_path / "out/report.json").read_text(encoding="utf-8")


@pytest.mark.usefixtures("small_shards")
def test_every_score_is_that_of_measure(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.txt", some_sentences(11))
    assert cli("batch", "a.txt", "-m", tiny, "-o", "out").exit_code == 0
    wanted = csv.DictReader(io.StringIO(cli("measure", "a.txt", "-m", tiny, "-f", "csv").stdout))
    scores = {(r["scope"], r["sentence"], r["layer"], r["head"]): r for r in wanted}
    rows = pq.read_table(tmp_path / "out/sentences.parquet").to_pylist()
    assert len(rows) == 11 * 2 * 2
    assert [row["number"] for row in rows] == sorted(row["number"] for row in rows)
    for row in rows:
        for scope, names in NAMES.items():
            own = scores[scope, str(row["number"]), str(row["layer"]), str(row["head"])]
            for name in names:
                value = row[f"{scope}.{name}"]
                assert (own[name] == "") == (value is None), (row["number"], scope, name)
                assert value is None or value == pytest.approx(float(own[name]), abs=2e-6), (scope, name)


@pytest.mark.usefixtures("small_shards")
def test_heads_sum_up_the_sentences_of_each_file_and_of_all(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.txt", some_sentences(7))
    write_lines(tmp_path / "b.txt", some_sentences(12)[7:])
    assert cli("batch", "a.txt", "b.txt", "-m", tiny, "-o", "out").exit_code == 0
    sentences = pq.read_table(tmp_path / "out/sentences.parquet").to_pydict()
    columns = {name: np.array(column) for name, column in sentences.items()}
    heads = pq.read_table(tmp_path / "out/heads.parquet").to_pylist()
    assert {row["group"] for row in heads} == {"a.txt", "b.txt", "all"}
    for row in heads:
        chosen = (columns["layer"] == row["layer"]) & (columns["head"] == row["head"])
        chosen &= (row["group"] == "all") | (columns["file"] == row["group"])
        values = columns[f"{row['scope']}.{row['statistic']}"][chosen].astype(float)
        defined = values[~np.isnan(values)]
        assert row["n"] == len(defined)
        assert (row["mean"] is None) == (len(defined) == 0)
        assert row["mean"] is None or row["mean"] == pytest.approx(defined.mean(), abs=1e-5)
    text = list(csv.DictReader((tmp_path / "out/heads.csv").open(encoding="utf-8")))
    assert len(text) == len(heads)
    for written, row in zip(text, heads, strict=True):
        assert written["group"] == row["group"] and written["statistic"] == row["statistic"]
        assert written["mean"] == "" if row["mean"] is None else float(written["mean"]) == round(row["mean"], 6)


def test_the_report_is_in_the_language_of_most_sentences(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.txt", ["the cat sat", "мама мыла", "раму мыла"])
    assert cli("batch", "a.txt", "-m", tiny, "-o", "out").exit_code == 0
    assert '<html lang="ru"' in (tmp_path / "out/report.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("small_shards")
def test_limit_and_sample_take_rows_of_the_input(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.txt", some_sentences(30))
    options = ("batch", "a.txt", "-m", tiny, "--limit", 20, "--sample", 6)
    numbers = []
    for seed, folder in ((1, "one"), (1, "same"), (2, "two")):
        assert cli(*options, "--seed", seed, "-o", folder).exit_code == 0
        numbers.append([line for _, line in measured(tmp_path / folder)])
    assert numbers[0] == numbers[1] != numbers[2]
    assert len(numbers[0]) == 6 and numbers[0] == sorted(numbers[0]) and max(numbers[0] + numbers[2]) <= 20


def test_a_long_text_is_cut_or_noted(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.txt", ["мама " * 40, "мыла раму"])
    assert cli("batch", "a.txt", "-m", tiny, "-o", "cut").exit_code == 0
    assert pq.read_table(tmp_path / "cut/sentences.parquet")["tokens"].to_pylist() == [24] * 4 + [4] * 4
    assert cli("batch", "a.txt", "-m", tiny, "-o", "error", "--long", "error").exit_code == 1
    assert [error["key"] for error in errors(tmp_path / "error")] == ["text_too_long"]
    assert len(measured(tmp_path / "error")) == 1


# --- inputs that hold more than good rows (FIL) ---


def test_the_formats_that_can_be_asked_for_are_those_that_can_be_read() -> None:
    assert set(FORMATS) == set(reading.FORMATS)


@pytest.mark.parametrize(
    ("name", "options", "good", "bad"),
    [
        ("f01_gb18030_4byte.txt", ("--encoding", "gb18030"), [1, 2], []),
        ("f03_bom.csv", (), [2, 3], []),
        ("f05_na_words.csv", (), [2, 3, 4, 5, 7], []),
        ("f09_mixed_types.jsonl", ("--id-column", "id"), [1, 13], None),
        ("f11_ragged.csv", (), None, [3, 4]),
        ("f14_number_like.csv", (), [2, 3, 4, 5, 6], []),
        ("f21_types.parquet", ("--column", "text"), [1, 2, 4], []),
        ("f30_tab_in_text.tsv", (), None, [2]),
    ],
)
def test_good_rows_are_measured_and_bad_ones_named(
    cli: Cli, tiny: Path, tmp_path: Path, name: str, options: tuple[str, ...], good: list[int] | None, bad: Any
) -> None:
    result = cli("batch", CORPORA / name, "-m", tiny, "-o", "out", *options)
    refused = [error["line"] for error in errors(tmp_path / "out")]
    assert result.exit_code == (1 if refused else 0), result.stderr
    assert "Traceback" not in result.stderr
    if good is not None:
        assert [line for _, line in measured(tmp_path / "out")] == good
    if bad is not None:
        assert refused == bad
    for error in errors(tmp_path / "out"):
        assert error["file"] == str(CORPORA / name) and error["reason"]


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("f01_gb18030_4byte.txt", ("--encoding", "gbk"), ("gbk", "--encoding")),
        ("f01_gb18030_4byte.txt", ("--encoding", "utf-8"), ("utf-8", "--encoding")),
        ("f21_types.parquet", ("--column", "lst"), ("lst", "list")),
        ("f21_types.parquet", ("--column", "none"), ("none", "text, big")),
        ("f42_not_parquet.parquet", (), ("Parquet",)),
        ("f03_bom.csv", ("--column", "none"), ("none", "text")),
        ("f03_bom.csv", ("--delimiter", "::"), ("::",)),
    ],
)
def test_an_input_that_cannot_be_read_as_told_leaves_no_folder(
    cli: Cli, tmp_path: Path, name: str, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    result = cli("batch", CORPORA / name, "-o", "out", *options)
    assert result.exit_code == 2
    line = said(result)
    assert all(word in line for word in words), line
    assert list(tmp_path.iterdir()) == []


def test_strict_stops_at_the_first_bad_row_and_without_it_the_run_goes_on(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    path = CORPORA / "f11_ragged.csv"
    result = cli("batch", path, "-m", tiny, "-o", "out", "--strict")
    assert result.exit_code == 2
    assert f"{path}, line 3: " in said(result)
    assert not (tmp_path / "out/report.html").exists()
    assert cli("batch", path, "-m", tiny, "-o", "out").exit_code == 1
    assert [error["line"] for error in errors(tmp_path / "out")] == [3, 4]


@pytest.mark.usefixtures("small_shards")
def test_strict_stops_at_a_sentence_that_cannot_be_measured_too(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.txt", [*some_sentences(5), "\u200b", *some_sentences(3)])
    result = cli("batch", "a.txt", "-m", tiny, "-o", "out", "--strict")
    assert result.exit_code == 2
    assert "a.txt, line 6: " in said(result)


def test_where_nothing_can_be_measured_the_reasons_are_left(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.txt", ["\u200b", "\u200d"])
    result = cli("batch", "a.txt", "-m", tiny, "-o", "out")
    assert result.exit_code == 2
    assert EN.text("errors.batch_nothing", path=Path("out/errors.jsonl")) in result.stderr
    assert [error["line"] for error in errors(tmp_path / "out")] == [1, 2]


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_input_without_a_text_is_refused(cli: Cli, tmp_path: Path, content: str) -> None:
    (tmp_path / "a.txt").write_text(content)
    result = cli("batch", "a.txt", "-o", "out")
    assert result.exit_code == 2 and said(result) == f"Error: {EN.text('errors.batch_no_rows', path='a.txt')}"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_standard_input_is_a_corpus(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    text = "text\tx\nмама мыла\t1\nthe cat sat\t2\n"
    result = cli("batch", "-", "-m", tiny, "-o", "out", "--column", "text", input=text.encode())
    assert result.exit_code == 0, result.stderr
    assert measured(tmp_path / "out") == [("stdin:2", 2), ("stdin:3", 3)]


def test_an_encoding_told_from_the_bytes_is_said(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    text = "мама мыла раму, а потом ещё раз мыла раму и пошла гулять по улице\n" * 3
    (tmp_path / "a.txt").write_bytes(text.encode("cp1251"))
    result = cli("batch", "a.txt", "-m", tiny, "-o", "out")
    assert result.exit_code == 0, result.stderr
    assert EN.text("terminal.batch_encoding", path="a.txt", encoding="cp1251") in result.stderr


# --- outputs in the way, and options (CLI-3) ---


def test_an_output_that_cannot_be_is_refused_before_the_model_is_loaded(cli: Cli, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.txt", ["мама"])
    for output, key in (("a.txt", "batch_not_a_folder"), ("no/out", "output_no_folder")):
        result = cli("batch", "a.txt", "-m", "./missing", "-o", output)
        assert result.exit_code == 2
        assert said(result) == f"Error: {EN.text(f'errors.{key}', path=Path(output))}"
    (tmp_path / "heads.csv").write_text("mine")
    result = cli("batch", "a.txt", "-m", "./missing", "-o", ".")
    assert result.exit_code == 2 and "heads.csv" in said(result) and "--restart" in said(result)
    assert (tmp_path / "heads.csv").read_text() == "mine"
    result = cli("batch", "a.txt", "-m", "./missing", "-o", "out")
    assert result.exit_code == 2 and "missing" in said(result) and not (tmp_path / "out").exists()


def test_windows_are_not_offered(cli: Cli, tmp_path: Path) -> None:
    write_lines(tmp_path / "a.txt", ["мама"])
    assert cli("batch", "a.txt", "-o", "out", "--long", "windows").exit_code == 2


def test_no_number_of_the_report_is_left_undefined(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    """One sentence: no interval, no deviation, no comparison, and still no NaN before a reader."""
    write_lines(tmp_path / "a.txt", ["мама мыла раму"])
    assert cli("batch", "a.txt", "-m", tiny, "-o", "out").exit_code == 0
    for name in ("report.html", "report.json", "heads.csv"):
        assert "nan" not in (tmp_path / "out" / name).read_text(encoding="utf-8").lower().split(), name
    low = pq.read_table(tmp_path / "out/heads.parquet")["low"]
    assert low.null_count == len(low) and not np.isnan(low.drop_null().to_numpy()).any()
