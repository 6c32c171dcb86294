"""Where a user of the explorer is: the head, the statistic, the row, the view, the pinned heads. Every move is here."""

from dataclasses import dataclass, field, replace

from attnx.statistics.reshaping import SCALES
from attnx.terminal.exploration import Head, View

PINS = 4


@dataclass(frozen=True)
class State:
    """The chosen `head`, the `statistic` of the map, the `pins` in order.

    `row` is the query whose weights are listed, `column` a key, both counted from 0.
    """

    head: Head
    statistic: str
    row: int = 0
    column: int = 0
    view: View = field(default_factory=View)
    pins: tuple[Head, ...] = ()

    def moved(self, layers: int, heads: int, shape: Head) -> "State":
        """Return the state after a step on the map; at its edge there is no further one."""
        layer = min(max(self.head[0] + layers, 0), shape[0] - 1)
        head = min(max(self.head[1] + heads, 0), shape[1] - 1)
        return replace(self, head=(layer, head))

    def at_cell(self, row: int, column: int, size: int) -> "State":
        """Return the state at another query and key, kept within the `size` of the map."""
        return replace(self, row=min(max(row, 0), size - 1), column=min(max(column, 0), size - 1))

    def with_statistic(self, step: int, names: tuple[str, ...]) -> "State":
        """Return the state with the statistic `step` places on, round and round."""
        return replace(self, statistic=names[(names.index(self.statistic) + step) % len(names)])

    def with_scale(self) -> "State":
        """Return the state with the next color scale."""
        scale = SCALES[(SCALES.index(self.view.scale) + 1) % len(SCALES)]
        return replace(self, view=replace(self.view, scale=scale))

    def pinned(self) -> "State":
        """Return the state with the head pinned, or let go if it was; the same state if there is no room."""
        if self.head in self.pins:
            return replace(self, pins=tuple(pin for pin in self.pins if pin != self.head))
        return self if len(self.pins) == PINS else replace(self, pins=(*self.pins, self.head))
