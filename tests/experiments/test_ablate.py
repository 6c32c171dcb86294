"""The mean by place by hand, heads that do nothing, and the built-in model."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attnx import load_encoder
from attnx.encoders.encoder import Encoder
from attnx.encoders.interventions.gates import importances
from attnx.encoders.records import Encoding
from attnx.errors import InputError
from attnx.experiments import ablate
from attnx.experiments.ablating import KINDS, all_but_one, cumulative, each_alone, moves, place_means
from attnx.experiments.records import Curves, HeadMap, Options, Progress, Table
from attnx.experiments.running import run_experiment
from attnx.i18n import languages, load_catalog
from attnx.report.experiment.reading import experiment_from_twin
from attnx.report.experiment.rendering import render_experiment
from attnx.report.experiment.twin import to_json
from attnx.texts.sentence import read_sentence
from tests.test_masked_lm import save_masked_lm

QUIET = Progress()
MASK = 97  # the tokenizer of tests.types.tiny: [UNK], which stands for the mask, then [CLS], [SEP], letters


@pytest.fixture(scope="module")
def tiny(make_model: Callable[..., Path]) -> Encoder:
    """A tiny BERT whose weights are spread so that heads do something; its first head has no output."""
    encoder = load_encoder(str(make_model("m01_bert_24pos.json")))
    model: Any = copy.deepcopy(encoder.model)
    for parameter in model.encoder.parameters():
        if parameter.ndim > 1:
            parameter.data *= 10
    width = model.config.hidden_size // model.config.num_attention_heads
    model.encoder.layer[0].attention.output.dense.weight.data[:, :width] = 0
    return replace(encoder, model=model)


@pytest.fixture
def text(tiny: Encoder) -> Encoding:
    return tiny.encode(read_sentence("мама мыла раму the cat sat"))


def test_a_head_without_output_can_go(tiny: Encoder, text: Encoding) -> None:
    removed = moves(tiny, text, each_alone(tiny, KINDS["removed"](place_means(tiny, [text]), text)), QUIET.advance)
    assert removed[0] == pytest.approx(0, abs=1e-9) and removed[1:].min() > 1e-4
    assert importances(tiny, text, 4, 0)[0, 0] == 0
    # Without the others of its layer: as if they were removed together.
    heads = tiny.info.heads
    alone = moves(tiny, text, all_but_one(tiny)[:1], QUIET.advance)
    together = moves(tiny, text, cumulative([(0, head) for head in range(heads)], [0, heads]), QUIET.advance)
    assert together[0] == pytest.approx(0, abs=1e-9) and alone[0] == pytest.approx(together[1], rel=1e-4)


def test_mean_by_place_by_hand(tiny: Encoder, text: Encoding) -> None:
    weights = tiny.observe(text).weights[1, 1]
    found = place_means(tiny, [text]).change(text)((1, 1))
    size = len(text.ids)
    own = found(torch.ones(1, size, size), torch.ones(1, size, size, dtype=torch.bool))[0]
    expected = torch.zeros(size, size)
    content = weights[1:-1, 1:-1]
    for i in range(size - 2):
        expected[1 + i, 1:-1] = torch.stack([content.diagonal(j - i).mean() for j in range(size - 2)])
    for special in (0, size - 1):
        expected[1:-1, special] = weights[1:-1, special].mean()
        expected[special, 1:-1] = weights[special, 1:-1].mean()
        expected[special, [0, size - 1]] = weights[special, [0, size - 1]]
    assert torch.allclose(own, expected / expected.sum(-1, keepdim=True), atol=1e-6)
    # A row sees only what it can.
    seen = torch.ones(1, size, size, dtype=torch.bool).tril()
    assert torch.equal(found(own[None], seen)[0, 0], torch.eye(size)[0])


def test_a_head_that_looks_by_place_alone_loses_nothing(tiny: Encoder, text: Encoding) -> None:
    """Without queries all heads are even, for a text of one length: the mean by place is what they do."""
    model: Any = copy.deepcopy(tiny.model)
    for layer in model.encoder.layer:
        layer.attention.self.query.weight.data[:] = 0
        layer.attention.self.query.bias.data[:] = 0
    even = replace(tiny, model=model)
    change = KINDS["place_mean"](place_means(even, [text]), text)
    assert moves(even, text, each_alone(even, change), QUIET.advance).max() < 1e-6


def test_verdicts() -> None:
    moved = np.array([[0.01, 0.01, 0.01, 0.9]])
    assert ablate.verdict_of(moved) == "holds"
    assert ablate.verdict_of(np.array([[0.01, 0.5, 0.5, 0.9]])) == "mixed"
    assert ablate.verdict_of(moved + 0.5) == "fails"


@pytest.fixture(scope="module")
def document(encoder: Encoder) -> Any:
    return run_experiment("ablate", encoder, [read_sentence("王者荣耀怎么玩")], Options(), QUIET)


def test_the_built_in_model(document: Any) -> None:
    numbers, exhibits = document.result.numbers, document.result.exhibits
    removed, pruning, table = exhibits[:3]
    assert isinstance(removed, HeadMap) and isinstance(pruning, Curves) and isinstance(table, Table)
    assert numbers["heads"] == 144 and numbers["free"] == (removed.values < 5).sum()
    for curve in pruning.curves:
        assert curve.y[0] == pytest.approx(0, abs=1e-9) and curve.y[-1] == pytest.approx(pruning.curves[0].y[-1])
    assert "no_loss" in [note.key for note in document.result.notes]
    # Importance finds heads that can go together better than chance does.
    assert numbers["half_least"] < numbers["half_random"]
    assert [row.cells[4] > 0.3 for row in table.rows[:1]] == [True]


@pytest.mark.parametrize("language", languages())
def test_the_report_says_the_same_after_reading_it_back(document: Any, language: str) -> None:
    t = load_catalog(language)
    read = experiment_from_twin(json.loads(to_json(document)))
    assert to_json(read) == to_json(document)
    assert render_experiment(read, ".html", t) == render_experiment(document, ".html", t)


def test_texts_of_several_lengths_and_one_too_short(tiny: Encoder) -> None:
    sentences = [read_sentence(text) for text in ("the cat", "мама мыла раму", "the cat sat", "我 爱 北")]
    assert run_experiment("ablate", tiny, sentences, Options(), QUIET).result.numbers["n"] == 4
    with pytest.raises(InputError) as caught:
        run_experiment("ablate", tiny, [read_sentence("cat")], Options(), QUIET)
    assert caught.value.key == "experiment_short"


def test_a_masked_lm_has_losses(tmp_path: Path) -> None:
    save_masked_lm("bert", tmp_path)
    encoder = load_encoder(str(tmp_path))
    sentences = [read_sentence(text) for text in ("a b c d e f g", "h i j k l m n o p", "q r s t")]
    result = run_experiment("ablate", encoder, sentences, Options(), QUIET).result
    by_key = {exhibit.key: exhibit for exhibit in result.exhibits}
    loss = by_key["loss"]
    assert isinstance(loss, HeadMap) and loss.values.shape == (encoder.info.layers, encoder.info.heads)
    [note] = [note for note in result.notes if note.key == "loss"]
    assert note.values["rise"] == pytest.approx(loss.values.max()) and note.values["hidden"] == 1 + 1 + 1
    assert note.values["better"] == (loss.values < 0).sum()
    pruning = by_key["loss_pruning"]
    assert isinstance(pruning, Curves)
    assert all(curve.y[0] == pytest.approx(0, abs=1e-6) for curve in pruning.curves)


def learn_pairs(folder: Path) -> None:
    """Teach a masked LM that every letter comes twice, so that a hidden one is known from its neighbor alone."""
    model = save_masked_lm("bert", folder)
    torch.manual_seed(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(400):
        letters = torch.randint(101, 127, (16, 6)).repeat_interleave(2, 1)
        hidden = torch.zeros_like(letters, dtype=torch.bool).scatter_(1, torch.randint(12, (16, 1)), True)
        ids = torch.where(hidden, MASK, letters)
        frame = [torch.full((16, 1), i) for i in (MASK + 1, MASK + 2)]
        logits = model(input_ids=torch.cat([frame[0], ids, frame[1]], 1)).logits[:, 1:-1]
        loss = torch.nn.functional.cross_entropy(logits[hidden], letters[hidden])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval().save_pretrained(folder)


def test_what_heads_carry_is_lost_with_them(tmp_path: Path) -> None:
    learn_pairs(tmp_path)
    encoder = load_encoder(str(tmp_path))
    sentences = [read_sentence(text) for text in ("qqccxxmmaatt", "bbwweekkoodd")]
    result = run_experiment("ablate", encoder, sentences, Options(), QUIET).result
    [note] = [note for note in result.notes if note.key == "loss"]
    assert note.values["before"] < 0.5  # of ln 26 = 3.26 for a guess
    pruning = next(exhibit for exhibit in result.exhibits if exhibit.key == "loss_pruning")
    assert isinstance(pruning, Curves)
    assert all(curve.y[-1] > 2 for curve in pruning.curves)  # without any head no token knows its neighbor
