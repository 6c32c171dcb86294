"""The list of all statistics. To add one, write one decorated function, and its name in each locale."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from attnx.statistics.scores import SCOPES
from attnx.statistics.view import ScopeView

RowFunction = Callable[[ScopeView], torch.Tensor]
MapFunction = Callable[[ScopeView], tuple[torch.Tensor, Mapping[str, torch.Tensor]]]


@dataclass(frozen=True)
class Statistic:
    """What is common to all statistics: the name, the unit, the formula and the scopes it is defined in.

    `unit` says how a value is written: ``share`` (0..1, a percentage), ``tokens``, ``nats`` or ``number``. `formula` is
    what the report prints, the same in every language; ``_x``, ``_{xy}`` and ``^x`` lower and raise.
    """

    name: str
    unit: str
    formula: str
    scopes: tuple[str, ...]


@dataclass(frozen=True)
class RowStatistic(Statistic):
    """A mean over query rows.

    `function` gives the rows, float64 ``[layers, heads, R]``; NaN is a row that does not count. A sentence's score
    is the mean of its rows; a corpus takes the mean of sentences (macro) or of rows (micro).
    """

    function: RowFunction


@dataclass(frozen=True)
class MapStatistic(Statistic):
    """A statistic of the whole map: `function` gives float64 ``[layers, heads]`` and its details by name."""

    function: MapFunction


# In display order, which is the order of the definitions.
REGISTRY: dict[str, RowStatistic | MapStatistic] = {}


def row_statistic(
    name: str, unit: str, formula: str, scopes: tuple[str, ...] = SCOPES
) -> Callable[[RowFunction], RowFunction]:
    """Register the decorated function as the row statistic `name`."""

    def register(function: RowFunction) -> RowFunction:
        REGISTRY[name] = RowStatistic(name, unit, formula, scopes, function)
        return function

    return register


def map_statistic(
    name: str, unit: str, formula: str, scopes: tuple[str, ...] = SCOPES
) -> Callable[[MapFunction], MapFunction]:
    """Register the decorated function as the map statistic `name`."""

    def register(function: MapFunction) -> MapFunction:
        REGISTRY[name] = MapStatistic(name, unit, formula, scopes, function)
        return function

    return register
