"""From texts to the document of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attnx.analysis import provenance
from attnx.experiments.registry import find_experiment
from attnx.report.experiment.document import ExperimentDocument, Text

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder
    from attnx.experiments.records import Advance, Options
    from attnx.texts.sentence import Sentence

TEXTS_SHOWN = 5


def run_experiment(
    name: str, encoder: Encoder, sentences: Sequence[Sentence], options: Options, advance: Advance, command: str = ""
) -> ExperimentDocument:
    """Run the experiment of this name. Raises InputError where it cannot be run on this model or these texts."""
    result = find_experiment(name)(encoder, sentences, options, advance)
    return ExperimentDocument(
        name,
        encoder.info,
        provenance(command),
        tuple(Text(sentence.text, sentence.language) for sentence in sentences[:TEXTS_SHOWN]),
        len(sentences),
        {"seed": options.seed},
        result,
    )
