"""The full-screen explorer: the map of all heads, beside it the chosen head's heatmap and a row of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, ScrollableContainer, Vertical
from textual.widgets import Static

from attnx.i18n import Catalog
from attnx.naming import head_name
from attnx.statistics import REGISTRY
from attnx.terminal.describing import neighbor
from attnx.terminal.exploration import Exploration, Head, best_scope
from attnx.terminal.panels import Panels
from attnx.terminal.screens import FindScreen, HelpScreen
from attnx.terminal.state import PINS, State


class MapPanel(ScrollableContainer, can_focus=True):
    """The map of all heads; the arrow keys move over it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("up", "app.move(-1, 0)"),
        ("down", "app.move(1, 0)"),
        ("left", "app.move(0, -1)"),
        ("right", "app.move(0, 1)"),
    ]


class HeatmapPanel(ScrollableContainer, can_focus=True):
    """The heatmaps; the arrow keys choose a query and a key, with shift they scroll to pinned heads."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("up", "app.choose(-1, 0)"),
        ("down", "app.choose(1, 0)"),
        ("left", "app.choose(0, -1)"),
        ("right", "app.choose(0, 1)"),
        ("shift+left", "scroll_left"),
        ("shift+right", "scroll_right"),
    ]


class Explorer(App[None]):
    """The explorer of one measured sentence; `state` is where it starts."""

    ENABLE_COMMAND_PALETTE = False
    CSS_PATH = "explorer.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q,ctrl+c", "quit"),
        ("question_mark,h", "help"),
        ("s", "statistic(1)"),
        ("S", "statistic(-1)"),
        ("w", "words"),
        ("x", "special"),
        ("c", "scale"),
        ("f", "find"),
        ("n", "similar"),
        ("p", "pin"),
    ]

    def __init__(self, exploration: Exploration, model: str, state: State, t: Catalog, *, colored: bool) -> None:
        super().__init__()
        self.exploration, self.state, self.t = exploration, state, t
        self.panels = Panels(exploration, model, t, colored)

    def compose(self) -> ComposeResult:
        """Lay the panels out."""
        yield Static(id="title")
        with Horizontal():
            with Vertical(id="left"):
                yield Static(id="statistic")
                with MapPanel():
                    yield Static(id="heads")
            with Vertical():
                yield Static(id="view")
                with HeatmapPanel(), Horizontal(id="heatmaps"):
                    yield Static(id="heatmap")
                    for number in range(PINS):
                        yield Static(id=f"pin{number}")
                yield Static(id="legend")
                with ScrollableContainer(id="row", can_focus=False):
                    yield Static(id="weights")
        yield Static(self.t.text("explore.keys"), id="keys", markup=False)

    def on_resize(self) -> None:
        """Show the state in the room that there is now, once the panels have taken theirs."""
        self.call_after_refresh(self.draw)

    def draw(self) -> None:
        """Show the state."""
        self.state = self.state.at_cell(self.state.row, self.state.column, self.panels.size(self.state))
        room = self.query_one(HeatmapPanel).scrollable_content_region.size
        for name, content in self.panels.texts(self.state, room).items():
            self.query_one(f"#{name}", Static).update(content)
        for number in range(PINS):
            pinned = self.panels.pin(self.state, number, room)
            panel = self.query_one(f"#pin{number}", Static)
            panel.display = pinned is not None
            panel.update(pinned or Text())
        self.query_one(MapPanel).scroll_to_region(self.panels.place(self.state.head), animate=False)

    def go(self, state: State) -> None:
        """Change the state and show it."""
        self.state = state
        self.draw()

    def action_move(self, layers: int, heads: int) -> None:
        """Go to another head."""
        self.go(self.state.moved(layers, heads, self.exploration.shape))

    def action_choose(self, rows: int, columns: int) -> None:
        """Choose another query or key."""
        size = self.panels.size(self.state)
        self.go(self.state.at_cell(self.state.row + rows, self.state.column + columns, size))

    def action_statistic(self, step: int) -> None:
        """Show another statistic on the map."""
        self.go(self.state.with_statistic(step, tuple(REGISTRY)))

    def action_words(self) -> None:
        """Show words instead of tokens, or tokens again."""
        self.go(replace(self.state, view=replace(self.state.view, words=not self.state.view.words)))

    def action_special(self) -> None:
        """Leave the special tokens out, or take them in again."""
        self.go(replace(self.state, view=replace(self.state.view, special=not self.state.view.special)))

    def action_scale(self) -> None:
        """Show the next color scale."""
        self.go(self.state.with_scale())

    def action_pin(self) -> None:
        """Pin the head or let it go; say so if there is no room."""
        state = self.state.pinned()
        if state == self.state:
            self.notify(self.t.text("explore.pins_full", n=PINS), markup=False)
        self.go(state)

    def action_find(self) -> None:
        """List the heads by the statistic, and go to the one that is chosen."""
        scope = best_scope(self.state.statistic, None)
        ranking = self.exploration.ranking(self.state.statistic, scope)
        title = self.t.text("explore.find", name=self.t.text(f"statistics.{self.state.statistic}.name"))
        self._let_choose(title, ranking, self.panels.ranking(self.state, ranking))

    def action_similar(self) -> None:
        """List the other heads by how similar they are to this one, and go to the one that is chosen."""
        scope = "all" if self.state.view.special else "content"
        nearest = self.exploration.neighbors(self.state.head, scope)
        lines = [Text(neighbor(other, distance, self.t)) for other, distance in nearest]
        self._let_choose(
            self.t.text("explore.similar", head=head_name(*self.state.head)), [head for head, _ in nearest], lines
        )

    def _let_choose(self, title: str, heads: Sequence[Head], lines: Sequence[Text]) -> None:
        """Show a line for each of the heads, and go to the one whose line is chosen."""

        def choose(index: int | None) -> None:
            if index is not None:
                self.go(replace(self.state, head=heads[index]))

        self.push_screen(FindScreen(title, lines), choose)

    def action_help(self) -> None:
        """Explain the keys."""
        self.push_screen(HelpScreen(self.t))
