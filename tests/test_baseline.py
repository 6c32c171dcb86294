"""A model beside its twin with random weights, and what counts as chance in a model that does not see everything."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lxml.html
import numpy as np
import pytest

import attnx
from attnx.encoders.baseline import random_twin
from attnx.encoders.encoder import Encoder
from attnx.i18n import load_catalog
from attnx.report.build import report_view
from attnx.report.document import to_json
from attnx.report.html import render_html
from attnx.report.reading import from_json
from attnx.statistics import REGISTRY, even_scores, score_heads
from attnx.texts.sentence import read_sentence

WORDS_ALONE = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]"}
TEXT = "王者荣耀怎么玩"


def test_the_twin_is_measured_on_the_same_tokens(encoder: Encoder) -> None:
    document = attnx.analyze(TEXT, encoder=encoder, baseline=3)
    [sentence] = document.sentences
    assert sentence.baseline is not None and sentence.baseline.seed == 3
    twin = random_twin(encoder, 3)
    expected = score_heads(twin.observe(twin.encode(read_sentence(TEXT))))
    for scope, scores in expected.items():
        for name, values in scores.values.items():
            np.testing.assert_array_equal(sentence.baseline.scopes[scope].values[name], values)
    # Initialized with small weights, attention is nearly even, and what was learned is not.
    assert sentence.baseline.scopes["content"].values["normalized_entropy"].min() > 0.98
    assert sentence.scopes["content"].values["normalized_entropy"].min() < 0.1


def test_without_asking_there_is_no_twin(encoder: Encoder) -> None:
    assert attnx.analyze(TEXT, encoder=encoder).sentences[0].baseline is None


@pytest.mark.parametrize("language", ["zh", "ru", "en"])
def test_a_report_sets_the_numbers_of_both_side_by_side(
    cli: Callable[..., Any], tmp_path: Path, language: str, encoder: Encoder
) -> None:
    result = cli("report", TEXT, "--baseline", "random", "-l", language, "-o", "x.html", "-o", "x.json")
    assert result.exit_code == 0
    twin = json.loads((tmp_path / "x.json").read_text())["sentences"][0]["baseline"]
    assert (twin["kind"], twin["seed"]) == ("random", 0)
    document = from_json((tmp_path / "x.json").read_text())
    own = document.sentences[0].scopes["content"].values["self_share"]
    assert document.sentences[0].baseline is not None
    other = document.sentences[0].baseline.scopes["content"].values["self_share"]
    rows = lxml.html.parse(tmp_path / "x.html").findall(".//section[@class='baseline']//tbody/tr")
    cells = {row.find("th").text: [cell.text for cell in row.iterfind("td")] for row in rows}
    t = load_catalog(language)
    [model, random, outside] = cells[t.text("statistics.self_share.name")]
    assert model == t.text(
        "baseline.span", mean=f"{100 * own.mean():.0f}", low=f"{100 * own.min():.0f}", high=f"{100 * own.max():.0f}"
    )
    assert random.startswith(f"{100 * other.mean():.0f}")
    assert int(outside) == ((own < other.min()) | (own > other.max())).sum()
    assert len(cells) == len(REGISTRY)


def test_a_saved_twin_is_rendered_again_and_a_broken_one_refused(encoder: Encoder, tmp_path: Path) -> None:
    document = attnx.analyze(TEXT, encoder=encoder, baseline=0)
    attnx.save(document, tmp_path / "x.json")
    t = load_catalog("en")
    first, again = (render_html(report_view(one, t), t) for one in (document, attnx.read(tmp_path / "x.json")))
    assert first == again
    broken = json.loads((tmp_path / "x.json").read_text())
    broken["sentences"][0]["baseline"]["scopes"]["all"]["entropy"][0][0] = "1"
    with pytest.raises(attnx.errors.InputError) as caught:
        from_json(json.dumps(broken))
    assert caught.value.key == "report_broken"


# --- chance ---


def test_an_even_head_that_looks_back_only_gives_the_first_token_much(encoder: Encoder) -> None:
    encoding = encoder.encode(read_sentence("a b"))  # four tokens
    even = even_scores(encoding, ((None, 0), (None, None)), 2)
    harmonic = (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4
    assert even["all"]["self_share"][:, 0] == pytest.approx([harmonic, 1 / 4])
    assert even["all"]["sink"][:, 0] == pytest.approx([harmonic, 1 / 4])
    assert even["all"]["next_share"][:, 0] == pytest.approx([0, 1 / 4])
    assert even["all"]["normalized_entropy"][:, 0] == pytest.approx([1, 1])


def test_what_an_even_causal_head_does_is_no_finding(make_model: Callable[..., Path]) -> None:
    """Of three tokens, looking back evenly gives 61 % to oneself and to the first: that is chance, not a role."""
    encoder = attnx.load_encoder(str(make_model("m08_gpt2_causal.json", "words", WORDS_ALONE)))
    document = attnx.analyze("the cat sat", encoder=encoder)
    shares = document.sentences[0].scopes["all"].values["self_share"]
    assert shares == pytest.approx(11 / 18, abs=0.02)
    keys = {finding.key.removesuffix("_none") for finding in document.sentences[0].findings}
    assert not keys & {"self_heads", "sink_heads", "next_heads"}


@pytest.mark.parametrize("language", ["zh", "ru", "en"])
def test_a_report_says_in_what_the_model_computed(make_model: Callable[..., Path], language: str) -> None:
    t = load_catalog(language)
    encoder = attnx.load_encoder(str(make_model("m01_bert_24pos.json")), dtype="bfloat16")
    twin = from_json(to_json(attnx.analyze("the cat sat", encoder=encoder)))
    view = report_view(twin, t)
    assert view.notices == (t.text("model_notes.half_precision", dtype="bfloat16"),)
    facts = {fact.label: fact.value for fact in view.provenance}
    assert "bfloat16" in facts[t.text("provenance.computation")]
    assert facts[t.text("provenance.dtype")] == "float32"  # what is stored is another thing


@pytest.mark.parametrize("language", ["zh", "ru", "en"])
def test_a_report_says_that_the_encoder_of_two_parts_is_shown(make_model: Callable[..., Path], language: str) -> None:
    t = load_catalog(language)
    encoder = attnx.load_encoder(str(make_model("m07_t5.json")))
    view = report_view(attnx.analyze("the cat sat", encoder=encoder), t)
    assert view.notices == (t.text("model_notes.encoder_only"),)


@pytest.mark.parametrize("language", ["zh", "ru", "en"])
def test_a_report_says_what_a_decoder_and_a_local_layer_can_see(make_model: Callable[..., Path], language: str) -> None:
    t = load_catalog(language)
    causal = attnx.load_encoder(str(make_model("m08_gpt2_causal.json", "words", WORDS_ALONE)))
    view = report_view(attnx.analyze("the cat sat", encoder=causal), t)
    assert view.notices == (t.text("model_notes.causal"),)
    assert t.text("tokens.short_causal", uniform=11 / 18) in view.sentences[0].token_notes
    sizes = {"local_attention": 8, "global_attn_every_n_layers": 2, "max_position_embeddings": 64}
    local = attnx.load_encoder(str(make_model("m01_bert_24pos.json", model_type="modernbert", **sizes)))
    view = report_view(attnx.analyze("the cat sat", encoder=local), t)
    assert view.notices == (t.text("model_notes.local", layers="L2", n=4),)
    titles = [layer.title for layer in view.sentences[0].layers]
    assert titles == [t.text("heads.layer", layer=1), t.text("heads.layer_local", layer=2, n=4)]
