"""The experiments by name. The list is here, so that ``--help`` imports none of them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnx.experiments.records import Experiment

NAMES = ("order", "average", "distance", "languages", "merge", "qkv", "position", "heads", "ablate", "scale", "masks")
COMPARE = "compare"  # what ``attnx compare`` runs


def find_experiment(name: str) -> Experiment:
    """Return the function that runs the experiment, from the file of its name."""
    experiment: Experiment = import_module(f"attnx.experiments.{name}").run
    return experiment
