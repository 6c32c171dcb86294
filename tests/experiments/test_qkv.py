"""One head step by step: against torch's own attention, by hand, and on the built-in model."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
import torch

from attnx import load_encoder
from attnx.encoders.encoder import Encoder
from attnx.encoders.projections import Head, Projection, observe_heads
from attnx.errors import InputError
from attnx.experiments import qkv, steps
from attnx.experiments.records import HeadMap, Options, Progress, Table, TokenMaps
from attnx.experiments.running import run_experiment
from attnx.i18n import languages, load_catalog
from attnx.report.experiment.reading import experiment_from_twin
from attnx.report.experiment.rendering import render_experiment
from attnx.report.experiment.twin import to_json
from attnx.texts.sentence import read_sentence
from tests.types.tiny import save_tiny

QUIET = Progress()
TEXT = "The cat sat on the mat"


def plain(*rows: tuple[float, ...]) -> Projection:
    weight = torch.tensor(rows)
    return Projection(weight, torch.zeros(weight.shape[1]))


def test_two_tokens_by_hand() -> None:
    """The tokens are (1, 0) and (0, 1); queries and keys are 2 x, values x, of which the second is made short."""
    twice = plain((2.0, 0.0), (0.0, 2.0))
    head = Head(torch.eye(2), twice, twice, plain((1.0, 0.0), (0.0, 1.0)), torch.diag(torch.tensor([1.0, 0.25])))
    found = steps.follow(head)
    assert found.products.tolist() == [[4, 0], [0, 4]]
    score = 4 / 2**0.5
    weight = np.exp(score) / (np.exp(score) + 1)
    np.testing.assert_allclose(found.scores, [[score, 0], [0, score]], rtol=1e-6)
    np.testing.assert_allclose(found.weights, [[weight, 1 - weight], [1 - weight, weight]], rtol=1e-6)
    np.testing.assert_allclose(found.written[0], [weight, (1 - weight) / 4], rtol=1e-6)
    assert found.lengths.tolist() == [1, 0.25]
    expected = weight / (weight + (1 - weight) / 4)
    np.testing.assert_allclose(found.norms[0], [expected, 1 - expected], rtol=1e-6)


def test_steps_of_all_heads_make_what_torch_makes(encoder: Encoder) -> None:
    """torch.nn.MultiheadAttention with the same matrices gives the same weights, and the sum of the heads' outputs."""
    encoding = encoder.encode(read_sentence(TEXT))
    _attention, layers = observe_heads(encoder, encoding)
    own = encoder.model.get_submodule("encoder.layer.4.attention")
    parts = [own.get_submodule(name) for name in ("self.query", "self.key", "self.value", "output.dense")]
    torchs = torch.nn.MultiheadAttention(384, 12, batch_first=True).eval()
    state = {
        "in_proj_weight": torch.cat([part.weight for part in parts[:3]]),
        "in_proj_bias": torch.cat([part.bias for part in parts[:3]]),
        "out_proj.weight": parts[3].weight,
        "out_proj.bias": parts[3].bias,
    }
    torchs.load_state_dict(state)
    rows = layers[4][0].input
    with torch.inference_mode():
        written, weights = torchs(rows[None], rows[None], rows[None], average_attn_weights=False)
        found = [steps.follow(head) for head in layers[4]]
        torch.testing.assert_close(torch.stack([one.weights for one in found]), weights[0], rtol=0, atol=1e-6)
        added = sum((one.written for one in found), parts[3].bias)
        torch.testing.assert_close(added, written[0], rtol=0, atol=1e-5)


def test_the_parts_that_norms_measure_add_up_to_what_the_head_writes(encoder: Encoder) -> None:
    _attention, layers = observe_heads(encoder, encoder.encode(read_sentence(TEXT)))
    head = layers[7][2]
    found = steps.follow(head)
    parts = found.weights[:, :, None] * (found.value @ head.output)
    torch.testing.assert_close(parts.sum(1), found.written, rtol=0, atol=1e-5)
    lengths = parts.norm(dim=-1)
    torch.testing.assert_close(lengths / lengths.sum(-1, keepdim=True), found.norms, rtol=0, atol=1e-5)


@pytest.fixture(scope="module")
def document(encoder: Encoder) -> Any:
    return run_experiment("qkv", encoder, [read_sentence("王者荣耀怎么玩")], Options(), QUIET)


def test_the_built_in_model_is_recomputed_to_a_millionth(encoder: Encoder, document: Any) -> None:
    found = steps.recompute(encoder, encoder.encode(read_sentence("王者荣耀怎么玩")))
    assert found.difference <= 1e-6
    torch.testing.assert_close(found.norms.sum(-1), torch.ones(found.norms.shape[:-1]))
    numbers = document.result.numbers
    assert float(numbers["difference"]) <= 1e-6
    assert 0 < numbers["chance_raw"] < 1 and abs(numbers["chance_raw"] - numbers["chance_norms"]) < 0.1


def test_every_shape_is_shown(document: Any, encoder: Encoder) -> None:
    table, scores, row, weights, shift = document.result.exhibits
    tokens = len(encoder.encode(read_sentence("王者荣耀怎么玩")).ids)
    assert isinstance(table, Table) and isinstance(scores, TokenMaps) and isinstance(shift, HeadMap)
    shapes = {str(one.cells[0]): one.cells[1] for one in table.rows}
    assert shapes["X"] == f"{tokens} × 384" and shapes["W_Q"] == "384 × 32" and shapes["W_O"] == "32 × 384"
    assert shapes["P = softmax(S + M)"] == f"{tokens} × {tokens}" and shapes["C W_O"] == f"{tokens} × 384"
    assert sum(float(cells.cells[3]) for cells in row.rows) == pytest.approx(1, abs=1e-5)
    assert sum(float(cells.cells[5]) for cells in row.rows) == pytest.approx(1, abs=1e-5)
    products, scaled = (one.values for one in scores.maps)
    np.testing.assert_allclose(products / 32**0.5, scaled, rtol=1e-5)
    np.testing.assert_allclose(weights.maps[0].values.sum(-1), 1, rtol=1e-5)


def test_the_head_shown_is_in_the_middle(encoder: Encoder, document: Any) -> None:
    weights = encoder.observe(encoder.encode(read_sentence("王者荣耀怎么玩"))).weights.double().numpy()
    entropies = scipy.stats.entropy(weights, axis=-1).mean(-1)
    layer, head = (int(part[1:]) - 1 for part in document.result.numbers["head"].split("·"))
    assert (entropies < entropies[layer, head]).sum() == 71 and (entropies > entropies[layer, head]).sum() == 72


@pytest.mark.parametrize("config", ["m01_bert_24pos.json", "m02_xlmr_offset.json", "m09_distilbert.json"])
def test_known_layouts(make_model: Callable[..., Path], config: str) -> None:
    tiny = load_encoder(str(make_model(config)))
    assert steps.recompute(tiny, tiny.encode(read_sentence("the cat sat"))).difference <= 1e-6


@pytest.mark.parametrize("config", ["m07_t5.json", "m08_gpt2_causal.json", "m11_funnel.json"])
def test_other_layouts_are_refused_by_name(make_model: Callable[..., Path], config: str) -> None:
    tiny = load_encoder(str(make_model(config)))
    with pytest.raises(InputError) as caught:
        steps.recompute(tiny, tiny.encode(read_sentence("the cat sat")))
    assert caught.value.key == "no_projections"
    assert not any(module._forward_pre_hooks for module in tiny.model.modules())


@pytest.mark.parametrize("kind", ["mobilebert", "roformer"])
def test_other_inputs_and_rotations_are_refused(tmp_path: Path, kind: str) -> None:
    """MobileBERT makes its values from another input than its queries, RoFormer turns queries and keys."""
    save_tiny(kind, tmp_path)
    tiny = load_encoder(str(tmp_path))
    with pytest.raises(InputError) as caught:
        steps.recompute(tiny, tiny.encode(read_sentence("the cat sat")))
    assert caught.value.key == "no_projections"


@pytest.mark.parametrize(
    ("raw", "norms", "verdict"), [(0.8, 0.4, "holds"), (0.8, 0.5, "mixed"), (0.8, 0.75, "fails"), (0.0, 0.0, "unclear")]
)
def test_verdict(raw: float, norms: float, verdict: str) -> None:
    assert qkv.verdict_of({"all_raw": raw, "all_norms": norms}) == verdict


@pytest.mark.parametrize("language", languages())
def test_the_report_says_the_same_after_reading_it_back(document: Any, language: str) -> None:
    t = load_catalog(language)
    read = experiment_from_twin(json.loads(to_json(document)))
    assert to_json(read) == to_json(document)
    assert render_experiment(read, ".html", t) == render_experiment(document, ".html", t)


def test_a_long_text_has_numbers_but_no_maps(make_model: Callable[..., Path]) -> None:
    tiny = load_encoder(str(make_model("m01_bert_24pos.json", max_position_embeddings=64)))
    result = qkv.run(tiny, [read_sentence("cat " * 60), read_sentence(TEXT)], Options(), QUIET)
    assert [type(exhibit) for exhibit in result.exhibits] == [Table, HeadMap]
    assert [note.key for note in result.notes] == ["first_only", "no_maps", "one_text"]


def test_the_command(cli: Callable[..., Any], make_model: Callable[..., Path], tmp_path: Path) -> None:
    model = make_model("m01_bert_24pos.json")
    result = cli("experiment", "qkv", "the cat sat", "-m", model, "-H", "1.2", "-o", "o.html", "-l", "ru")
    assert result.exit_code == 0, result.stderr
    assert "L1·H2" in (tmp_path / "o.html").read_text(encoding="utf-8")
    for head, message in (
        ("9.1", "no head 9.1"),
        ("x", "“x” is not a head"),
        ("0.1", "is not a head"),
        ("1." + "9" * 5000, "is not a head"),
    ):
        refused = cli("experiment", "qkv", "the cat sat", "-m", model, "-H", head)
        assert refused.exit_code == 2 and message in refused.stderr
