"""What lies over the explorer: the keys explained, and the list of heads to go to."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import ScrollableContainer, Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static

from attnx.i18n import Catalog

KEYS = (
    "explore.help_map",
    "explore.help_tab",
    "explore.help_row",
    "explore.help_statistic",
    "explore.help_words",
    "explore.help_special",
    "explore.help_scale",
    "explore.help_find",
    "explore.help_similar",
    "explore.help_pin",
    "explore.help_close",
    "explore.help_quit",
)


class HelpScreen(ModalScreen[None]):
    """The keys, a line each."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,question_mark,h,enter", "dismiss"), ("q,ctrl+c", "app.quit")]

    def __init__(self, t: Catalog) -> None:
        super().__init__()
        self.t = t

    def compose(self) -> ComposeResult:
        """Write the keys down."""
        with ScrollableContainer(classes="box"):
            yield Static(self.t.text("explore.help_title"), classes="heading", markup=False)
            yield Static("\n".join(self.t.text(key) for key in KEYS), id="help", markup=False)


class FindScreen(ModalScreen[int | None]):
    """A list to choose from; the answer is the index of a line, None if it was closed."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,f", "dismiss"), ("q,ctrl+c", "app.quit")]

    def __init__(self, title: str, lines: Sequence[Text]) -> None:
        super().__init__()
        self.heading, self.lines = title, lines

    def compose(self) -> ComposeResult:
        """Show the list."""
        with Vertical(classes="box"):
            yield Static(self.heading, classes="heading", markup=False)
            yield OptionList(*self.lines)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Answer with the line that was chosen."""
        self.dismiss(event.option_index)
