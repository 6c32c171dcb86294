"""Every text model type of the installed transformers: attnx against plain transformers, statistic by statistic."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import transformers
import yaml

import attnx
from attnx.encoders.coverage import read_coverage
from attnx.resources import resource_dir
from attnx.texts.sentence import read_sentence
from tests.types.matrix import DECODERS, compare, measure
from tests.types.sources import text_encoder_types
from tests.types.tiny import save_tiny

COMMITTED = {row.type: row for row in read_coverage()}
STATUSES = ("exact", "adapted", "refused")  # from the best to the worst
ALWAYS = (
    *("bert", "roberta", "xlm-roberta", "distilbert", "albert", "electra", "deberta-v2", "modernbert", "t5", "xlnet"),
    *("mpnet", "clip_text_model", "gpt2", "longformer"),
)
CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"


def is_pinned() -> bool:
    """Tell whether this is the transformers that the table was measured with."""
    return f"transformers=={transformers.__version__}\n" in CONSTRAINTS.read_text()


def all_types() -> list[Any]:
    return [pytest.param(name, marks=() if name in ALWAYS else pytest.mark.slow) for name in COMMITTED]


@pytest.mark.parametrize("model_type", all_types())
def test_statistics_are_those_of_plain_transformers_and_the_table_says_so(model_type: str) -> None:
    row, committed = measure(model_type), COMMITTED[model_type]
    # What a type lacks to be loaded may be installed elsewhere.
    if is_pinned() and committed.note != "model_not_loadable":
        assert row == committed
    assert STATUSES.index(row.status) <= STATUSES.index(committed.status)


@pytest.mark.slow
def test_types_that_the_table_lacks_are_shown_exactly_or_refused() -> None:
    new = sorted({*text_encoder_types(), *DECODERS} - COMMITTED.keys())
    assert not (new and is_pinned()), new
    for model_type in new:
        measure(model_type)


def test_a_difference_beyond_rounding_is_found(tmp_path: Path) -> None:
    model = save_tiny("bert", tmp_path)
    encoder = attnx.load_encoder(str(tmp_path))
    found = encoder.observe(encoder.encode(read_sentence("a b c d e f")))
    compare(found, model)
    mixed = 0.999 * found.weights + 0.001 / len(found.encoding.ids)
    with pytest.raises(AssertionError):
        compare(replace(found, weights=mixed), model)


def test_the_rule_finds_what_reads_text_both_ways_and_leaves_out_the_rest() -> None:
    found = set(text_encoder_types())
    assert found >= {"bert", "bert-generation", "xlnet", "canine", "t5", "bart", "clip", "clip_text_model", "udop"}
    assert not found & {"gpt2", "llama", "mamba", "vit", "wav2vec2", "whisper", "llava", "clip_vision_model"}


def test_every_note_and_reason_in_the_table_has_words() -> None:
    words = yaml.safe_load((resource_dir("locales") / "en.yaml").read_text(encoding="utf-8"))["coverage"]
    assert COMMITTED
    for row in COMMITTED.values():
        assert words.keys() >= {row.status, *row.note.split()}, row
