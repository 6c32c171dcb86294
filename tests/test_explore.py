"""``attnx explore``: what a person sees after each key, against what was measured. Textual's pilot presses the keys."""

import asyncio
import os
import pty
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len
from rich.text import Text
from textual.pilot import Pilot
from textual.widgets import OptionList, Static

from attnx.encoders.encoder import Encoder
from attnx.i18n import load_catalog
from attnx.naming import head_name
from attnx.statistics import REGISTRY
from attnx.terminal.app import Explorer
from attnx.terminal.exploration import Exploration, explored
from attnx.terminal.screens import FindScreen, HelpScreen
from attnx.terminal.state import State
from attnx.texts.sentence import read_sentence

ZH, RU = "王者荣耀怎么玩", "Мама мыла раму"
START = State((2, 6), "sink")


@pytest.fixture(scope="module")
def chinese(encoder: Encoder) -> Exploration:
    return explored(read_sentence(ZH), encoder)


@pytest.fixture(scope="module")
def russian(encoder: Encoder) -> Exploration:
    return explored(read_sentence(RU), encoder)


def explore(
    exploration: Exploration,
    act: Callable[[Explorer, Pilot[None]], Awaitable[None]],
    *,
    language: str = "en",
    colored: bool = True,
    state: State = START,
    size: tuple[int, int] = (120, 40),
) -> Explorer:
    """Open the explorer, let a person act on it, and close it."""

    async def run() -> Explorer:
        app = Explorer(exploration, "a model", state, load_catalog(language), colored=colored)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await act(app, pilot)
        return app

    return asyncio.run(run())


def seen(app: Explorer, panel: str) -> str:
    """Return the text of a panel."""
    content = app.screen.query_one(f"#{panel}", Static).content
    return content.plain if isinstance(content, Text) else str(content)


def listed(app: Explorer) -> dict[str, str]:
    """Return the weights of the row that is listed, by label."""
    lines = [line.split() for line in seen(app, "weights").splitlines()[2:]]
    return {label: " ".join(share) for _, label, *share in lines}


def test_it_opens_on_the_head_with_its_value_and_its_heatmap(chinese: Exploration) -> None:
    async def look(app: Explorer, pilot: Pilot[None]) -> None:
        sink = chinese.scores["content"].values["sink"]
        rank = int((sink > sink[2, 6]).sum()) + 1
        assert f"L3·H7  {load_catalog('en').percent(sink[2, 6])} · {rank}/144" in seen(app, "statistic")
        assert "Attention sink" in seen(app, "statistic") and ZH in seen(app, "title")
        assert seen(app, "heatmap").splitlines()[0] == "L3·H7"
        assert "  2 王 " in seen(app, "heatmap") and "→ 者 100%" in seen(app, "heatmap")
        assert len(seen(app, "heads").splitlines()) == 13

    explore(chinese, look)


def test_the_arrow_keys_move_over_the_map_and_stop_at_its_edge(chinese: Exploration) -> None:
    async def move(app: Explorer, pilot: Pilot[None]) -> None:
        await pilot.press("right", "up")
        assert app.state.head == (1, 7) and seen(app, "heatmap").startswith("L2·H8\n")
        await pilot.press(*["up"] * 5, *["left"] * 20)
        assert app.state.head == (0, 0) and seen(app, "heads").splitlines()[1].startswith("L1  [ ]")

    explore(chinese, move)


def test_tab_and_the_arrow_keys_choose_the_row_whose_weights_are_listed(chinese: Exploration) -> None:
    async def choose(app: Explorer, pilot: Pilot[None]) -> None:
        await pilot.press("tab", "down", "down")
        weights = chinese.weights[2, 6, 2]
        labels = [token.text for token in chinese.attention.encoding.tokens]
        t = load_catalog("en")
        assert seen(app, "weights").splitlines()[1] == "“者” looks at"
        assert listed(app) == {label: t.percent(float(p), 1) for label, p in zip(labels, weights, strict=True)}
        assert next(iter(listed(app))) == labels[int(weights.argmax())]
        assert "▶ 3 者" in seen(app, "heatmap") and app.state.head == (2, 6)

    explore(chinese, choose)


def test_the_chosen_cell_is_marked_and_its_weight_is_read_out(chinese: Exploration) -> None:
    async def choose(app: Explorer, pilot: Pilot[None]) -> None:
        await pilot.press("tab", "down", "right", "right")
        share = load_catalog("en").percent(float(chinese.weights[2, 6, 1, 2]), 1)
        assert seen(app, "weights").splitlines()[0] == f"▶ 王 → ▼ 者  {share}"
        lines = seen(app, "heatmap").splitlines()
        mark = next(line for line in lines if "▼" in line)
        labels = lines[lines.index(mark) - 1]
        assert cell_len(mark) == cell_len(labels[: labels.index("者") + 1])
        await pilot.press(*["right"] * 20)
        assert app.state.column == 6

    explore(chinese, choose)


def test_s_goes_through_all_statistics_and_back(chinese: Exploration) -> None:
    async def switch(app: Explorer, pilot: Pilot[None]) -> None:
        names = list(REGISTRY)
        place = names.index("sink")
        await pilot.press("s")
        assert load_catalog("en").text(f"statistics.{names[place + 1]}.name") in seen(app, "statistic")
        await pilot.press("S", "S")
        assert app.state.statistic == names[place - 1]
        await pilot.press(*["s"] * len(names))
        assert app.state.statistic == names[place - 1]

    explore(chinese, switch)


def test_every_statistic_can_be_shown_of_a_single_token(encoder: Encoder) -> None:
    async def switch(app: Explorer, pilot: Pilot[None]) -> None:
        for _ in REGISTRY:
            await pilot.press("s", "f", "escape")
            values = app.exploration.scores[REGISTRY[app.state.statistic].scopes[-1]].values[app.state.statistic]
            assert ("–" in seen(app, "heads")) == bool(np.isnan(values).any())
        await pilot.press("x", "w", "n", "escape", "c", "c", "p")

    explore(explored(read_sentence("кот"), encoder), switch)


def test_words_instead_of_tokens(russian: Exploration) -> None:
    async def switch(app: Explorer, pilot: Pilot[None]) -> None:
        await pilot.press("tab", "down", "w")
        first, *_ = seen(app, "view").split(" · ")
        weights = russian.weights[2, 6, 1]
        assert first == "by word" and sorted(listed(app)) == ["</s>", "<s>", "Мама", "мыла", "раму"]
        assert listed(app)["мыла"] == load_catalog("en").percent(float(weights[2] + weights[3]), 1)
        await pilot.press("w")
        assert "мы" in listed(app)

    explore(russian, switch)


def test_without_special_tokens_rows_sum_to_one(chinese: Exploration) -> None:
    async def switch(app: Explorer, pilot: Pilot[None]) -> None:
        await pilot.press(*["tab", *["down"] * 6], "x")
        row = chinese.weights[2, 6, 5, 1:-1]  # the last row that is left is that of 玩
        assert "“玩” looks at" in seen(app, "weights") and "</s>" not in listed(app)
        assert listed(app)["玩"] == load_catalog("en").percent(float(row[4] / row.sum()), 1)
        assert app.state.row == 4

    explore(chinese, switch)


def test_the_color_scales(chinese: Exploration) -> None:
    async def switch(app: Explorer, pilot: Pilot[None]) -> None:
        legends = [seen(app, "legend")]
        for _ in range(3):
            await pilot.press("c")
            legends.append(seen(app, "legend"))
        assert "0.1%" in legends[1] and "the largest of the row" in legends[2] and legends[3] == legends[0]

    explore(chinese, switch)


def test_find_lists_the_heads_by_the_statistic_and_goes_to_one(chinese: Exploration) -> None:
    async def find(app: Explorer, pilot: Pilot[None]) -> None:
        await pilot.press("f")
        assert isinstance(app.screen, FindScreen)
        options = app.screen.query_one(OptionList)
        sink = chinese.scores["content"].values["sink"]
        order = [divmod(int(index), 12) for index in np.argsort(-sink.ravel(), kind="stable")]
        names = [str(options.get_option_at_index(i).prompt).split()[0] for i in range(options.option_count)]
        assert names == [head_name(*head) for head in order]
        await pilot.press("down", "enter")
        assert app.state.head == order[1] and seen(app, "heatmap").startswith(head_name(*order[1]))
        await pilot.press("f", "escape")
        assert app.state.head == order[1] and not isinstance(app.screen, FindScreen)

    explore(chinese, find)


def test_n_lists_the_heads_by_their_divergence_from_this_one(chinese: Exploration) -> None:
    async def similar(app: Explorer, pilot: Pilot[None]) -> None:
        await pilot.press("n")
        options = app.screen.query_one(OptionList)
        nearest = int(chinese.scores["all"].details["nearest_head_index"][2, 6])
        distance = chinese.scores["all"].values["nearest_head"][2, 6]
        first = str(options.get_option_at_index(0).prompt)
        assert options.option_count == 143
        assert first == f"{head_name(*divmod(nearest, 12))} {load_catalog('en').decimal(distance, 3)}"
        await pilot.press("enter")
        assert app.state.head == divmod(nearest, 12)

    explore(chinese, similar)


def test_four_heads_can_be_pinned_side_by_side(chinese: Exploration) -> None:
    async def pin(app: Explorer, pilot: Pilot[None]) -> None:
        await pilot.press("p", "right", "p", "right", "p", "right", "p", "right")
        await pilot.pause()
        shown = [seen(app, f"pin{i}").splitlines()[0] for i in range(4)]
        assert shown == ["L3·H7", "L3·H8", "L3·H9", "L3·H10"] and seen(app, "heatmap").startswith("L3·H11")
        regions = [app.query_one(f"#{name}").virtual_region for name in ("heatmap", "pin0", "pin3")]
        assert [region.y for region in regions] == [0, 0, 0] and regions[0].x < regions[1].x < regions[2].x
        await pilot.press("p")  # there is no room for a fifth
        assert len(app.state.pins) == 4
        await pilot.press("left", "p")  # the last one is let go
        assert app.state.pins == ((2, 6), (2, 7), (2, 8)) and not app.query_one("#pin3").display

    explore(chinese, pin)


@pytest.mark.parametrize("language", ["zh", "ru", "en"])
def test_the_keys_are_explained_in_the_language_of_the_text(chinese: Exploration, language: str) -> None:
    async def ask(app: Explorer, pilot: Pilot[None]) -> None:
        t = load_catalog(language)
        assert seen(app, "keys") == t.text("explore.keys")
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        assert t.text("explore.help_pin") in seen(app, "help")
        await pilot.press("escape")
        assert not isinstance(app.screen, HelpScreen)

    explore(chinese, ask, language=language, size=(80, 24))


def test_q_quits(chinese: Exploration) -> None:
    async def quit_it(app: Explorer, pilot: Pilot[None]) -> None:
        await pilot.press("q")
        await pilot.pause()
        assert not app.is_running

    explore(chinese, quit_it)


def test_without_colors_there_are_numbers_and_shades(chinese: Exploration) -> None:
    async def look(app: Explorer, pilot: Pilot[None]) -> None:
        row = seen(app, "heatmap").splitlines()[-6]
        assert row.split()[:2] == ["▶", "1"] or row.split()[:2] == ["2", "王"]
        assert "100" in row and set(seen(app, "heads").splitlines()[1]) & set("░▒▓█")

    explore(chinese, look, colored=False)


def test_the_chosen_head_and_row_stay_in_sight_on_a_small_terminal(encoder: Encoder) -> None:
    exploration = explored(read_sentence("the cat sat on the mat and " * 6), encoder)

    async def go(app: Explorer, pilot: Pilot[None]) -> None:
        await pilot.press(*["down"] * 11, "tab", *["down"] * 30)
        await pilot.pause()
        scrolled = app.query_one("MapPanel")
        assert scrolled.scroll_y <= 12 < scrolled.scroll_y + scrolled.scrollable_content_region.height
        assert re.search("▶ 31 ", seen(app, "heatmap")) and "▼" in seen(app, "heatmap")
        room = app.query_one("HeatmapPanel").scrollable_content_region
        lines = seen(app, "heatmap").splitlines()
        assert 5 < len(lines) <= room.height and max(map(cell_len, lines)) <= room.width

    explore(exploration, go, size=(80, 20))


def test_a_hostile_text_is_shown_as_it_is(encoder: Encoder) -> None:
    exploration = explored(read_sentence("[red]кот[/red] \x1b[31m <b>&"), encoder)

    async def look(app: Explorer, pilot: Pilot[None]) -> None:
        everything = "".join(seen(app, panel) for panel in ("title", "heatmap", "weights", "view"))
        assert "\x1b" not in everything and "[red]кот[/red]" in seen(app, "title")

    explore(exploration, look, state=replace(START, row=3))


def test_the_heatmap_is_aligned_for_wide_characters(chinese: Exploration) -> None:
    async def look(app: Explorer, pilot: Pilot[None]) -> None:
        rows = [line for line in seen(app, "heatmap").splitlines() if "→" in line]
        assert len({cell_len(row.split("→")[0]) for row in rows}) == 1 and len(rows) == 7

    explore(chinese, look)


def test_on_a_terminal_it_fills_the_screen_until_q(make_model: Callable[..., Path]) -> None:
    arguments = [sys.executable, "-m", "attnx", "explore", RU, "-m", str(make_model("m01_bert_24pos.json"))]
    process, terminal = pty.fork()
    if process == 0:
        os.execve(sys.executable, arguments, {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"})
    written = b""
    while "смотрит на".encode() not in written:
        written += os.read(terminal, 1 << 16)
    os.write(terminal, b"q")
    try:
        while os.read(terminal, 1 << 16):
            pass
    except OSError:  # the other end is closed
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert b"\x1b[?1049h" in written  # the alternate screen


def test_without_a_terminal_it_prints_what_show_prints(
    cli: Callable[..., Any], make_model: Callable[..., Path]
) -> None:
    tiny = make_model("m01_bert_24pos.json")
    for more in ([], ["-H", "1.1"]):
        printed = cli("explore", RU, "-m", tiny, *more)
        assert printed.exit_code == 0 and printed.stdout == cli("show", RU, "-m", tiny, *more).stdout
