"""``attnx show``: the heatmap, the map, the numbers, against what was measured; colors, widths, hostile text."""

import os
import pty
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len
from rich.text import Text
from scipy.spatial.distance import jensenshannon

from attnx.encoders.encoder import Encoder
from attnx.i18n import load_catalog
from attnx.report.colors import SEQUENTIAL, css
from attnx.statistics import score_heads
from attnx.terminal.describing import statistics_rows
from attnx.terminal.drawing import Window, heatmap_lines, legend, map_lines, margin
from attnx.terminal.exploration import Exploration, HeadMap, View, explored
from attnx.texts.sentence import read_sentence

Cli = Callable[..., Any]
ZH, RU = "王者荣耀怎么玩", "мама мыла раму"
ESCAPE = "\x1b"


@pytest.fixture
def tiny(make_model: Callable[..., Path]) -> Path:
    return make_model("m01_bert_24pos.json")


@pytest.fixture(scope="module")
def chinese(encoder: Encoder) -> Exploration:
    return explored(read_sentence(ZH), encoder)


def rows_of(text: str) -> list[str]:
    """Return the lines of a printed heatmap: a number, a label, numbers, an arrow."""
    return [line for line in text.splitlines() if re.match(r" +\d+ \S.* → ", line)]


# --- a head ---


def test_the_printed_numbers_are_the_measured_weights(cli: Cli, encoder: Encoder) -> None:
    result = cli("show", ZH, "-H", "3.7")
    weights = encoder.observe(encoder.encode(read_sentence(ZH))).weights[2, 6].numpy()
    printed = [re.findall(r"·|\d+", line.split("→")[0])[1:] for line in rows_of(result.stdout)]
    expected = [["·" if p < 0.005 else str(round(100 * float(p))) for p in row] for row in weights]
    assert result.exit_code == 0, result.stderr
    assert [[cell for cell in row if cell != "荣耀"] for row in printed] == expected


def test_every_row_names_its_largest_weight(cli: Cli) -> None:
    lines = rows_of(cli("show", ZH, "-H", "3.7").stdout)
    assert [line.split("→ ")[1].split(" ")[0] for line in lines] == ["王", "者", "荣耀", "怎么", "玩", "</s>", "</s>"]


def test_without_special_tokens_rows_sum_to_one_again(cli: Cli, chinese: Exploration) -> None:
    lines = rows_of(cli("show", ZH, "-H", "1.1", "--scope", "content").stdout)
    content = chinese.weights[0, 0][1:-1, 1:-1]
    expected = content / content.sum(-1, keepdims=True)
    assert [line.split()[:2] for line in lines] == [["2", "王"], ["3", "者"], ["4", "荣耀"], ["5", "怎么"], ["6", "玩"]]
    printed = np.array([[int(cell) for cell in line.split("→")[0].split()[2:]] for line in lines])
    assert printed == pytest.approx(100 * expected, abs=0.5)


def test_the_statistics_are_the_measured_ones_with_their_ranks(chinese: Exploration, encoder: Encoder) -> None:
    t = load_catalog("en")
    rows = {name: cells for name, *cells in statistics_rows(chinese, (2, 6), t)}
    scores = score_heads(encoder.observe(encoder.encode(read_sentence(ZH))))
    share = scores["all"].values["next_share"]
    entropy = scores["content"].values["entropy"]
    name = t.text("statistics.next_share.name")
    assert rows[name][:2] == [t.percent(share[2, 6]), "1/144"]
    assert sorted(share.ravel())[-1] == share[2, 6]
    place = int((entropy.ravel() > entropy[2, 6]).sum()) + 1
    assert rows[t.text("statistics.entropy.name")][2:] == [t.decimal(entropy[2, 6], 2), f"{place}/144"]
    assert rows[t.text("statistics.cls_share.name")][2:] == ["", ""]
    assert rows[t.text("statistics.punctuation_share.name")] == ["0%", "", "0%", ""]  # all heads are equal


def test_the_neighbors_are_those_of_the_smallest_divergence(chinese: Exploration) -> None:
    found = chinese.neighbors((2, 6), "all")[:3]
    maps = chinese.weights.astype(np.float64).reshape(144, 7, 7)
    maps /= maps.sum(-1, keepdims=True)
    distances = np.array([np.mean(jensenshannon(maps[2 * 12 + 6], other, axis=-1) ** 2) for other in maps])
    distances[2 * 12 + 6] = np.inf
    expected = [divmod(int(index), 12) for index in np.argsort(distances)[:3]]
    assert [head for head, _ in found] == expected
    assert [distance for _, distance in found] == pytest.approx(sorted(distances)[:3], abs=1e-9)
    assert found[0][1] == pytest.approx(chinese.scores["all"].values["nearest_head"][2, 6])


def test_a_word_takes_the_sum_of_its_tokens(encoder: Encoder) -> None:
    exploration = explored(read_sentence("Мама мыла раму"), encoder)
    shown = exploration.head_map((0, 0), View(words=True))
    weights = exploration.weights[0, 0]
    assert shown.labels == ("<s>", "Мама", "мыла", "раму", "</s>")  # Мама · мы ла · рам у
    assert shown.weights[1, 2] == pytest.approx(weights[1, 2] + weights[1, 3])
    assert shown.weights[3, 0] == pytest.approx((weights[4, 0] + weights[5, 0]) / 2)
    assert shown.weights.sum(-1) == pytest.approx(1, abs=1e-5)


# --- drawing ---


def test_wide_characters_are_aligned_and_colored_by_weight() -> None:
    shown = HeadMap(("<s>", "荣耀", "e"), (1, 2, 3), np.array([[1.0, 0, 0], [0, 0.5, 0.5], [0.2, 0, 0.8]]))
    lines = list(
        heatmap_lines(shown, View(scale="linear"), 1.0, Window(range(3), range(3)), colored=True, t=load_catalog("zh"))
    )
    labels, rows = lines[:3], lines[3:]
    start = margin(shown.labels)
    assert [line.plain[start:] for line in labels] == [" <    ", " s荣  ", " >耀 e"]
    for line, weights in zip(rows, shown.weights, strict=True):
        cells = [(cell_len(line.plain[: span.start]), span.style.bgcolor.name) for span in line.spans]
        levels = [css(SEQUENTIAL[round(weight * 63)]) for weight in weights]
        assert cells == list(zip([start, start + 2, start + 4], levels, strict=True))


def test_a_long_label_is_cut_and_stays_in_its_column() -> None:
    shown = HeadMap(("国" * 30, "e\u0301"), (1, 2), np.eye(2))
    lines = list(
        heatmap_lines(shown, View(scale="linear"), 1.0, Window(range(2), range(2)), colored=False, t=load_catalog("zh"))
    )
    assert {cell_len(line.plain.split("→")[0]) for line in lines[-2:]} == {margin(shown.labels) + 2 * 4 + 2}
    assert sum("…" in line.plain for line in lines[:-2]) == 1 and len(lines) == 8 + 2
    assert lines[7].plain.endswith("e\u0301")  # a letter and its mark are one character


def test_a_row_that_is_not_defined_is_a_dash() -> None:
    shown = HeadMap(("a", "b"), (1, 2), np.array([[np.nan, np.nan], [0.5, 0.5]]))
    first = list(
        heatmap_lines(shown, View(scale="row"), 1.0, Window(range(2), range(2)), colored=True, t=load_catalog("en"))
    )[-2]
    assert first.plain.split() == ["1", "a", "–", "–", "–"] and not first.spans


@pytest.mark.parametrize(
    ("scale", "ends"),
    [("linear", ("0%", "≥ 60%")), ("log", ("≤ 0.1%", "100%")), ("row", ("0%", "the largest of the row"))],
)
def test_the_legend_names_the_ends_of_the_scale(scale: str, ends: tuple[str, str]) -> None:
    line = legend(scale, 0.6, colored=True, t=load_catalog("en"))
    assert (line.plain[: len(ends[0])], line.plain.split("  ")[-1].strip()) == ends


def test_a_map_wider_than_the_terminal_goes_on_below() -> None:
    values = np.arange(32.0).reshape(2, 16) / 32
    lines = [line.plain for line in map_lines(values, "share", 40, signed=False, colored=False, t=load_catalog("en"))]
    assert max(map(len, lines)) <= 40
    numbers = [cell for line in lines if line.startswith(("L1", "L2")) for cell in line.split()[1:]]
    assert sorted(map(int, numbers)) == sorted(round(100 * value) for value in values.ravel())
    assert [head for line in lines if "H" in line for head in line.split()] == [f"H{i}" for i in range(1, 17)]


# --- the map of all heads ---


def test_the_map_shows_every_head_and_the_strongest_findings(cli: Cli, chinese: Exploration) -> None:
    result = cli("show", ZH, "--statistic", "sink", "-l", "en")
    rows = [line.split() for line in result.stdout.splitlines() if re.match(r"L\d", line)]
    values = chinese.scores["content"].values["sink"]
    assert [[int(cell) for cell in row[1:]] for row in rows] == np.rint(100 * values).astype(int).tolist()
    assert sum(line.startswith("• ") for line in result.stdout.splitlines()) == 3
    assert "Attention sink, percent of attention · without special tokens" in result.stdout


def test_a_statistic_of_special_tokens_is_shown_over_all_tokens(cli: Cli, tiny: Path) -> None:
    result = cli("show", RU, "-m", tiny, "--statistic", "cls_share", "-l", "en")
    assert result.exit_code == 0 and "all tokens" in result.stdout
    refused = cli("show", RU, "-m", tiny, "--statistic", "cls_share", "--scope", "content")
    assert refused.exit_code == 2 and len(refused.stderr.splitlines()) == 1 and "cls_share" in refused.stderr


def test_a_statistic_that_is_not_defined_is_dashes(cli: Cli, tiny: Path) -> None:
    result = cli("show", "мама", "-m", tiny, "--statistic", "positional_rate")
    assert result.exit_code == 0, result.stderr
    rows = [line.split() for line in result.stdout.splitlines() if re.match(r"L\d", line)]
    assert rows and all(set(row[1:]) == {"–"} for row in rows)


# --- wrong use, hostile text, long text ---


@pytest.mark.parametrize("head", ["9.1", "1.9", "0.1", "a", "1.2.3"])
def test_a_head_that_is_not_there_is_one_line(cli: Cli, tiny: Path, head: str) -> None:
    result = cli("show", RU, "-m", tiny, "-H", head)
    assert result.exit_code == 2 and result.stdout == "" and head in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_nothing_in_a_text_reaches_the_terminal_as_a_command(cli: Cli, tiny: Path) -> None:
    text = f"мама {ESCAPE}[31m [bold]мыла[/bold] \u202eраму\x07"
    for more in ([], ["-H", "1.1"]):
        result = cli("show", text, "-m", tiny, *more)
        assert result.exit_code == 0, result.stderr
        assert not set(result.stdout) & {ESCAPE, "\u202e", "\x07"}
        assert "\\x1b[31m" in result.stdout and "[bold]" in result.stdout


def test_the_text_can_come_from_standard_input(cli: Cli, tiny: Path) -> None:
    result = cli("show", "-", "-m", tiny, input=f"{RU}\n")
    assert result.stdout == cli("show", RU, "-m", tiny).stdout != ""


def test_a_range_of_tokens_chooses_columns(cli: Cli, tiny: Path) -> None:
    result = cli("show", RU, "-m", tiny, "-H", "1.1", "--tokens", "2-3", "-l", "en")
    lines = rows_of(result.stdout)
    assert len(lines) == 5 and {len(line.split("→")[0].split()) for line in lines} == {2 + 2}
    assert "Columns 2–3 of 5 are drawn. For others: --tokens 4-5" in result.stderr


@pytest.mark.parametrize("tokens", ["6-9", "0-3", "3", "x"])
def test_a_range_without_tokens_is_refused(cli: Cli, tiny: Path, tokens: str) -> None:
    result = cli("show", RU, "-m", tiny, "-H", "1.1", "--tokens", tokens)
    assert result.exit_code == 2 and len(result.stderr.splitlines()) == 1


def test_a_text_that_is_cut_is_said_to_be(cli: Cli, tiny: Path) -> None:
    result = cli("show", f"{RU} " * 10, "-m", tiny, "-H", "1.1", "-l", "en")
    assert result.exit_code == 0
    assert "has 32 tokens and the model takes 24" in result.stderr


# --- a real terminal ---


def on_a_terminal(*arguments: object, **variables: str) -> str:
    """Run attnx on a pseudo-terminal of 80 columns and return what it wrote there."""
    process, terminal = pty.fork()
    if process == 0:
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LC_ALL": "C.UTF-8", **variables}
        os.execve(sys.executable, [sys.executable, "-m", "attnx", *map(str, arguments)], environment)
    written = b""
    try:
        while part := os.read(terminal, 1 << 16):
            written += part
    except OSError:  # the other end is closed
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    return written.decode()


@pytest.mark.parametrize(
    ("variables", "color"),
    [
        ({"COLORTERM": "truecolor"}, f"{ESCAPE}[38;2;"),
        ({"COLORTERM": ""}, f"{ESCAPE}[38;5;"),
        ({"TERM": "dumb", "COLORTERM": ""}, None),
        ({"NO_COLOR": "1", "COLORTERM": "truecolor"}, None),
    ],
)
def test_colors_are_those_that_the_terminal_has(tiny: Path, variables: dict[str, str], color: str | None) -> None:
    written = on_a_terminal("show", f"{RU} " * 6, "-m", tiny, "-H", "1.1", **variables)
    lines = [Text.from_ansi(line).plain for line in written.splitlines() if " → " in line]
    assert len(lines) == 20 and max(map(cell_len, lines)) <= 80
    if color:
        assert color in written
    else:
        assert f"{ESCAPE}[" not in written and rows_of(written)
