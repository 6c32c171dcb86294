"""The views of an experiment's report: what its templates show, written out in one language."""

from dataclasses import dataclass

from attnx.report.corpus.views import FigureView, PlainTable
from attnx.report.grids import GridView
from attnx.report.views import FramedView, FrameView


@dataclass(frozen=True)
class TokenMapView:
    """A map of one head with the token labels around it; `place` numbers the maps of a report from 1."""

    place: int
    caption: str
    image: str
    alt: str
    frame: FrameView


@dataclass(frozen=True)
class ExhibitView:
    """An exhibit: its title, how to read it, and the one form that it has; the others are empty or None.

    One of which nothing is defined has `undefined`, which says so, and no form.

    `legend` has a color, as CSS writes it, and a text for each line of a figure.
    """

    title: str
    reading: str
    undefined: str = ""
    grid: GridView | None = None
    maps: tuple[TokenMapView, ...] = ()
    scale: str = ""
    bar: str = ""
    figure: FigureView | None = None
    legend: tuple[tuple[str, str], ...] = ()
    table: PlainTable | None = None


@dataclass(frozen=True)
class ExperimentView(FramedView):
    """The whole report; `claim` and `procedure` are lines of text, `verdict` is the answer with its numbers.

    `texts` are the first texts, each with its language, and `more` says how many there are besides, if any.
    """

    claim: tuple[str, ...]
    procedure: tuple[str, ...]
    verdict: tuple[str, ...]
    notes: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]
    more: str
    exhibits: tuple[ExhibitView, ...]

    @property
    def token_maps(self) -> tuple[TokenMapView, ...]:
        """The maps of all exhibits, in order."""
        return tuple(view for exhibit in self.exhibits for view in exhibit.maps)
