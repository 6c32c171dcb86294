"""From texts to the document of an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from attnx.analysis import provenance
from attnx.experiments.registry import find_experiment
from attnx.report.document import DECIMALS
from attnx.report.experiment.document import ExperimentDocument, Text

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder
    from attnx.experiments.records import Options, Progress
    from attnx.texts.sentence import Sentence

TEXTS_SHOWN = 5


def run_experiment(
    name: str, encoder: Encoder, sentences: Sequence[Sentence], options: Options, progress: Progress, command: str = ""
) -> ExperimentDocument:
    """Run the experiment of this name. Raises InputError where it cannot be run on this model or these texts."""
    result = find_experiment(name)(encoder, sentences, options, progress)
    return ExperimentDocument(
        name,
        encoder.info,
        provenance(command),
        tuple(Text(sentence.text, sentence.language) for sentence in sentences[:TEXTS_SHOWN]),
        len(sentences),
        {"seed": options.seed} | ({"other_model": options.other.info.name} if options.other else {}),
        rounded(result),
    )


def rounded(value: Any) -> Any:  # noqa: ANN401 - records, and what is in them
    """Return a record with its numbers as JSON has them, so that a report that is read back is the same to a pixel."""
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: rounded(getattr(value, field.name)) for field in fields(value)})
    if isinstance(value, tuple):
        return tuple(rounded(item) for item in value)
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    return np.round(value, DECIMALS) if isinstance(value, np.ndarray | float) else value
