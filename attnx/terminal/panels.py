"""What the panels of the explorer say, as text: everything follows from the state."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rich.text import Text
from textual.geometry import Region, Size

from attnx.errors import printable
from attnx.i18n import Catalog
from attnx.naming import head_name
from attnx.report.typography import short_text
from attnx.statistics.scores import Floats
from attnx.terminal.describing import statistic_title, written_rank, written_value
from attnx.terminal.drawing import (
    CHOSEN,
    LABEL_CELLS,
    MAP_CELL,
    MARKED,
    Window,
    cell_size,
    column_labels,
    ending_size,
    fitted,
    heatmap_lines,
    legend,
    margin,
    small_map_lines,
)
from attnx.terminal.exploration import Exploration, Head, HeadMap, best_scope
from attnx.terminal.state import State

TITLE_CHARACTERS = 60
ABOVE = 3  # lines beside the labels: a head's name, the mark of the column, a scroll bar below


@dataclass(frozen=True)
class Panels:
    """The words and pictures of the explorer, in the catalog's language, with colors or without."""

    exploration: Exploration
    model: str
    t: Catalog
    colored: bool

    def texts(self, state: State, room: Size) -> Mapping[str, Text]:
        """Return what each panel shows, by its name; `room` is what a heatmap has."""
        shown, scope = self._shown(state), best_scope(state.statistic, None)
        text = short_text(self.exploration.attention.encoding.sentence.text, TITLE_CHARACTERS)
        return {
            "title": Text(printable(f"{text} · {self.model}"), "bold"),
            "statistic": Text(f"{statistic_title(state.statistic, scope, self.t)}\n{self._value(state, state.head)}"),
            "heads": _joined(self._map(state, scope)),
            "view": Text(self._view(state)),
            "heatmap": self._heatmap(state, state.head, room),
            "legend": legend(state.view.scale, self.exploration.top, colored=self.colored, t=self.t),
            "weights": self._weights(shown, state),
        }

    def pin(self, state: State, number: int, room: Size) -> Text | None:
        """Return the heatmap of a pinned head other than the chosen one, None where there is no such."""
        pins = [pin for pin in state.pins if pin != state.head]
        return self._heatmap(state, pins[number], room) if number < len(pins) else None

    def ranking(self, state: State, heads: Sequence[Head]) -> list[Text]:
        """Return a line for each of the heads, with its value of the statistic."""
        return [Text(self._value(state, head)) for head in heads]

    def size(self, state: State) -> int:
        """Return how many queries, and keys, a heatmap has."""
        return len(self._shown(state).labels)

    def place(self, head: Head) -> Region:
        """Return where a head is on the map."""
        first = len(str(self.exploration.shape[0])) + 2
        return Region(first + head[1] * MAP_CELL, head[0] + 1, MAP_CELL, 1)

    def _shown(self, state: State) -> HeadMap:
        return self.exploration.head_map(state.head, state.view)

    def _map(self, state: State, scope: str) -> Iterable[Text]:
        values: Floats = self.exploration.scores[scope].values[state.statistic]
        signed = state.statistic == "signed_distance"
        return small_map_lines(values, signed=signed, colored=self.colored, chosen=state.head)

    def _heatmap(self, state: State, head: Head, room: Size) -> Text:
        """Return a head's name and as much of its heatmap around the chosen cell as there is room for."""
        shown = self.exploration.head_map(head, state.view)
        size = len(shown.labels)
        width = room.width - margin(shown.labels)
        needed = size * cell_size(self.colored) + ending_size(shown, self.t)
        columns = _around(state.column, size, width // cell_size(self.colored))
        above = ABOVE + len(list(column_labels([shown.labels[key] for key in columns], 0, 1)))
        window = Window(_around(state.row, size, room.height - above), columns, ending=needed <= width)
        cell = state.row, state.column
        top = self.exploration.top
        lines = heatmap_lines(shown, state.view, top, window, colored=self.colored, t=self.t, cell=cell)
        return _joined([Text(head_name(*head), "bold"), *lines])

    def _view(self, state: State) -> str:
        view = state.view
        parts = (
            self.t.text("explore.words" if view.words else "explore.tokens"),
            self.t.text("scopes.all" if view.special else "scopes.content"),
            self.t.text(f"explore.{view.scale}"),
        )
        return " · ".join(parts)

    def _value(self, state: State, head: Head) -> str:
        """Return a head's name with its value of the statistic and its rank."""
        scope = best_scope(state.statistic, None)
        value = written_value(self.exploration, head, state.statistic, scope, self.t)
        rank = written_rank(self.exploration, head, state.statistic, scope, self.t)
        return " · ".join(filter(None, (f"{head_name(*head)}  {value}", rank)))

    def _weights(self, shown: HeadMap, state: State) -> Text:
        """Return the weight of the chosen cell, then what its query looks at, the largest weight first."""
        weights, label = shown.weights[state.row], shown.labels[state.row]
        if np.isnan(weights).any():
            return Text(self.t.text("explore.undefined", label=label))
        shares = [self.t.percent(float(weight), 1) for weight in weights]
        chosen = f"{CHOSEN} {label} → {MARKED} {shown.labels[state.column]}  {shares[state.column]}"
        lines = [Text(chosen, "bold"), Text(self.t.text("explore.looks", label=label))]
        digits = len(str(max(shown.numbers)))
        for key in np.argsort(-weights, kind="stable"):
            label = fitted(shown.labels[key], LABEL_CELLS)
            lines.append(Text(f"{shown.numbers[key]:>{digits}} {label} {shares[key]:>8}"))
        return _joined(lines)


def _around(chosen: int, size: int, room: int) -> range:
    """Return as many places as there is room for, one at least, with the chosen one near the middle."""
    room = min(max(room, 1), size)
    start = min(max(chosen - room // 2, 0), size - room)
    return range(start, start + room)


def _joined(lines: Iterable[Text]) -> Text:
    return Text("\n").join(lines)
