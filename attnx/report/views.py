"""The views: what the templates show, written out in one language. Templates choose and place, they do not compute."""

from dataclasses import dataclass

from markupsafe import Markup

from attnx.report.grids import GridView


@dataclass(frozen=True)
class TokenView:
    """A token as shown: its number from 1 and its label."""

    number: int
    label: str
    special: bool


@dataclass(frozen=True)
class FindingView:
    """A finding in words, and the rule it follows from (empty where there is no threshold)."""

    statement: str
    rule: str


@dataclass(frozen=True)
class HeadView:
    """One head: its name with a few facts, its heatmap as a data URI and in words, and where links find it."""

    caption: str
    image: str
    alt: str
    anchor: str


@dataclass(frozen=True)
class LayerView:
    """The heads of a layer, in rows as they stand on paper."""

    title: str
    rows: tuple[tuple[HeadView, ...], ...]


@dataclass(frozen=True)
class ExampleView:
    """The head that explains how to read a heatmap, and the explanation."""

    head: HeadView
    lines: tuple[str, ...]


@dataclass(frozen=True)
class FrameView:
    """The token labels that surround every heatmap of a sentence, as style values; `numbered` if they are numbers.

    `image` is one picture for all; the heatmap fills it but for `top` and `left`, which are shares of its width.
    `paper` is its width on paper, such that twelve heads fit a page, and `gap` the space to the next one.
    """

    image: str
    top: str
    left: str
    paper: str
    gap: str
    numbered: bool


@dataclass(frozen=True)
class ScaleView:
    """The ends of the color scale that all heatmaps of a sentence share."""

    low: str
    high: str
    alt: str


@dataclass(frozen=True)
class RowView:
    """A row of a table."""

    name: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class TableView:
    """The numbers of all heads in one scope, layer by layer."""

    caption: str
    columns: tuple[str, ...]
    layers: tuple[tuple[RowView, ...], ...]


@dataclass(frozen=True)
class ComparisonView:
    """The model beside its twin with random weights."""

    intro: str
    columns: tuple[str, ...]
    rows: tuple[RowView, ...]
    note: str


@dataclass(frozen=True)
class OverviewView:
    """All heads in one picture, with the names of its columns and rows."""

    title: str
    heads: tuple[str, ...]
    layers: tuple[str, ...]
    image: str
    alt: str


@dataclass(frozen=True)
class SentenceView:
    """All that a report shows of one sentence."""

    heading: str
    lang: str
    token_intro: str
    token_notes: tuple[str, ...]
    tokens: tuple[TokenView, ...]
    findings: tuple[FindingView, ...]
    finding_notes: tuple[str, ...]
    frame: FrameView
    scale: ScaleView
    example: ExampleView
    grids: tuple[GridView, ...]
    overview: OverviewView
    heads_title: str
    head_notes: tuple[str, ...]
    layers: tuple[LayerView, ...]
    comparison: ComparisonView | None
    tables: tuple[TableView, ...]
    parts: tuple[str, ...]


@dataclass(frozen=True)
class PatternView:
    """A shape to look for in a heatmap, as a small ideal picture."""

    name: str
    meaning: str
    image: str


@dataclass(frozen=True)
class DefinitionView:
    """A statistic, the head of its column in the tables, its formula as HTML, and what it says."""

    name: str
    short: str
    formula: Markup
    text: str


@dataclass(frozen=True)
class FactView:
    """A line of the table that says where the numbers come from."""

    label: str
    value: str


@dataclass(frozen=True)
class EntryView:
    """A line of the contents."""

    anchor: str
    title: str


@dataclass(frozen=True)
class FramedView:
    """What every report has around its content.

    `heading_lang` is the BCP 47 tag of the heading where it is not in the report's own language, else empty; `classes`
    are (style class, color) pairs; `created` is ISO 8601.
    """

    title: str
    eyebrow: str
    heading: str
    heading_lang: str
    subtitle: str
    summary: str
    keywords: str
    footer: str
    version: str
    created: str
    notices: tuple[str, ...]
    highlights: tuple[str, ...]
    contents: tuple[EntryView, ...]
    bar: str
    classes: tuple[tuple[str, str], ...]
    definitions: tuple[DefinitionView, ...]
    limits: tuple[str, ...]
    provenance: tuple[FactView, ...]


@dataclass(frozen=True)
class ReportView(FramedView):
    """The report of some sentences; `many` if there is more than one. `closing` are the parts after them."""

    many: bool
    closing: tuple[str, ...]
    sentences: tuple[SentenceView, ...]
    patterns: tuple[PatternView, ...]
