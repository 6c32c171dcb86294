"""The masked-LM head by itself, against the whole model of transformers."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from attnx import load_encoder
from attnx.encoders.attending import forward
from attnx.encoders.encoder import Encoder
from attnx.encoders.interventions import edits
from attnx.encoders.interventions.records import HeadEdit, Variant
from attnx.encoders.masked_lm import find_masked_lm
from attnx.experiments.losses import Masked, loss_of, mask_some, rises
from attnx.texts.sentence import read_sentence
from tests.types.tiny import SPREAD, save_tokenizer, tiny_config

KINDS = ("bert", "roberta", "xlm-roberta", "distilbert", "albert", "electra", "deberta-v2", "modernbert", "mpnet")
NOT_CHANGED = ("deberta-v2", "mpnet")  # whose attention cannot be changed while they run
TEXT = "a b c d e f g h i j k l m n o p"


def save_masked_lm(kind: str, folder: Path) -> Any:
    """Save a tiny masked LM with random weights, its head included."""
    torch.manual_seed(0)
    config = tiny_config(kind)
    model = AutoModelForMaskedLM.from_config(config, attn_implementation="eager").float().eval()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            torch.nn.init.normal_(parameter, std=SPREAD)
    model.tie_weights()
    model.save_pretrained(folder)
    save_tokenizer(config, folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.mask_token = "[UNK]"
    tokenizer.save_pretrained(folder)
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_is_that_of_the_whole_model(kind: str, tmp_path: Path) -> None:
    whole = save_masked_lm(kind, tmp_path)
    encoder = load_encoder(str(tmp_path))
    encoding = encoder.encode(read_sentence(TEXT))
    head = find_masked_lm(encoder, encoding.ids)
    assert head is not None
    masked = mask_some(encoding, head.mask_id, 0)
    assert len(masked.places) == 2  # 15 % of 16, rounded
    labels = torch.full((1, len(encoding.ids)), -100)
    labels[0, list(masked.places)] = torch.tensor(masked.targets)
    ids = torch.tensor([masked.encoding.ids])
    with torch.no_grad():
        expected = float(whole(input_ids=ids, attention_mask=torch.ones_like(ids), labels=labels).loss)
    states = forward(encoder.model, encoder.adapter, [masked.encoding.ids], ["en"], {}).last_hidden_state
    [found] = head.losses(states[:, list(masked.places)], masked.targets).tolist()
    assert found == pytest.approx(expected, abs=1e-5)
    if kind not in NOT_CHANGED:
        assert loss_of(encoder, head, masked) == pytest.approx(expected, abs=1e-5)


def test_the_rise_is_that_of_a_model_without_the_columns_of_the_head(tmp_path: Path) -> None:
    whole = save_masked_lm("bert", tmp_path)
    encoder = load_encoder(str(tmp_path))
    encoding = encoder.encode(read_sentence(TEXT))
    head = find_masked_lm(encoder, encoding.ids)
    assert head is not None
    masked = mask_some(encoding, head.mask_id, 3)

    def loss(model: Any) -> float:
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([masked.encoding.ids])).logits[0, list(masked.places)]
        return float(torch.nn.functional.cross_entropy(logits, torch.tensor(masked.targets)))

    rebuilt = copy.deepcopy(whole)
    width = whole.config.hidden_size // whole.config.num_attention_heads
    rebuilt.bert.encoder.layer[1].attention.output.dense.weight.data[:, 2 * width : 3 * width] = 0
    done: list[int] = []
    found = rises(encoder, head, masked, [Variant(), Variant((HeadEdit(1, 2, edits.zero),))], done.append)
    assert done == [2]
    assert found[0] == pytest.approx(0, abs=1e-6)
    assert found[1] == pytest.approx(loss(rebuilt) - loss(whole), abs=1e-5) and abs(found[1]) > 1e-3


def test_the_same_seed_hides_the_same_tokens(encoder: Encoder) -> None:
    encoding = encoder.encode(
        read_sentence("The morning train was twenty minutes late again, and the platform sighed.")
    )
    first, again, other = (mask_some(encoding, 9, seed) for seed in (1, 1, 2))
    assert first == again != other
    hidden = [i for i, (old, new) in enumerate(zip(encoding.ids, first.encoding.ids, strict=True)) if old != new]
    assert hidden == list(first.places) and {first.encoding.ids[i] for i in hidden} == {9}
    assert not any(encoding.special[i] for i in hidden)
    assert first.targets == tuple(encoding.ids[i] for i in hidden)


def test_a_text_of_one_token_has_one_hidden(encoder: Encoder) -> None:
    masked = mask_some(encoder.encode(read_sentence("cat")), 9, 0)
    assert isinstance(masked, Masked) and len(masked.places) == 1


def test_models_saved_without_the_head_have_none(
    encoder: Encoder, make_model: Callable[..., Path], tmp_path: Path
) -> None:
    assert find_masked_lm(encoder, (0, 5, 2)) is None
    assert find_masked_lm(load_encoder(str(make_model("m01_bert_24pos.json"))), (98, 120, 99)) is None
    # The class says that there is a head, but its weights are not there: a guess would be of random weights.
    whole = save_masked_lm("bert", tmp_path)
    kept = {name: value for name, value in whole.state_dict().items() if "transform" not in name}
    whole.save_pretrained(tmp_path, state_dict=kept)
    assert find_masked_lm(load_encoder(str(tmp_path)), (98, 120, 99)) is None
