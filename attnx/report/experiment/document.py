"""What the report of an experiment shows, as a record."""

from collections.abc import Mapping
from dataclasses import dataclass

from attnx.encoders.records import ModelInfo
from attnx.experiments.records import Result
from attnx.i18n import DEFAULT_LANGUAGE
from attnx.report.document import Provenance


@dataclass(frozen=True)
class Text:
    """A text that the experiment was run on, and its language."""

    text: str
    language: str


@dataclass(frozen=True)
class ExperimentDocument:
    """One experiment on one model: the texts (the first of them, and how many there were), settings and the result."""

    experiment: str
    model: ModelInfo
    provenance: Provenance
    texts: tuple[Text, ...]
    count: int
    settings: Mapping[str, int | str | None]
    result: Result

    @property
    def name(self) -> str:
        """What a file of this report is called by default."""
        return f"{self.experiment}-{self.texts[0].text}"

    @property
    def language(self) -> str:
        """The language of the texts, where all are in one."""
        languages = {text.language for text in self.texts}
        return languages.pop() if len(languages) == 1 else DEFAULT_LANGUAGE
