"""The views of a corpus report: what its templates show, written out in one language."""

from dataclasses import dataclass

from attnx.report.grids import Cell, GridView
from attnx.report.views import FramedView, FrameView, HeadView, OverviewView, RowView, ScaleView, TableView


@dataclass(frozen=True)
class SentenceExampleView:
    """A sentence that shows what a head does: its heatmap with the token labels around it, and what is to be said."""

    head: HeadView
    frame: FrameView
    text: str
    lang: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class RoleView:
    """A role in words: the clearest head, the evidence, the rule, and a sentence (None if there is none)."""

    statement: str
    evidence: tuple[str, ...]
    rule: str
    example: SentenceExampleView | None


@dataclass(frozen=True)
class LegendView:
    """A sign or a color of the map of roles, and what it means; `color` is a style class, empty for a sign."""

    sign: str
    color: str
    text: str


@dataclass(frozen=True)
class RoleMapView:
    """The roles of all heads as a layer × head map; lengths are in em of its own type size, as in `GridView`."""

    title: str
    heads: tuple[str, ...]
    layers: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    image: str
    alt: str
    cell: str
    width: str
    scale: str
    wide: bool


@dataclass(frozen=True)
class FigureView:
    """A picture with a title, words in its place, and notes below it."""

    title: str
    image: str
    alt: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class MeanMapView:
    """Something of all heads in one picture, `height` times as high as wide for each; `unit` is that of the scale."""

    overview: OverviewView
    height: str
    scale: ScaleView
    unit: str
    note: str


@dataclass(frozen=True)
class SpreadView:
    """How one statistic is spread over the heads: a histogram between the smallest and the largest mean."""

    name: str
    low: str
    image: str
    alt: str
    high: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class PlainTable:
    """A small table: its caption, the heads of its columns and its rows."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[RowView, ...]


@dataclass(frozen=True)
class FilesView:
    """The comparison of the files: rank correlations, where heads differ most, the roles in each file."""

    intro: str
    tables: tuple[PlainTable, ...]
    roles: tuple[RoleMapView, ...]


@dataclass(frozen=True)
class CorpusView(FramedView):
    """The whole report of a corpus; `parts` are its sections in order."""

    parts: tuple[str, ...]
    roles: tuple[RoleView, ...]
    follows: tuple[str, ...]
    follows_rule: str
    role_map: RoleMapView
    legend: tuple[LegendView, ...]
    role_table: TableView
    grids: tuple[GridView, ...]
    mean_maps: tuple[MeanMapView, ...]
    mean_notes: tuple[str, ...]
    scatter: FigureView | None
    spreads: tuple[SpreadView, ...]
    spread_columns: tuple[str, ...]
    lengths: PlainTable
    matrices: tuple[FigureView, ...]
    depth: FigureView | None
    distance_notes: tuple[str, ...]
    files: FilesView | None
    numbers: TableView

    @property
    def examples(self) -> tuple[SentenceExampleView, ...]:
        """The examples of all roles, in order."""
        return tuple(role.example for role in self.roles if role.example)
