"""Measure how attnx copes with a model type: exact, adapted or refused; anything else is an error."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from transformers import CONFIG_MAPPING, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

import attnx
from attnx.encoders.coverage import TypeCoverage
from attnx.encoders.encoder import Encoder
from attnx.encoders.interventions import edits
from attnx.encoders.interventions.positions import positions_off
from attnx.encoders.interventions.records import HeadEdit, Variant
from attnx.encoders.interventions.run import intervene
from attnx.encoders.records import AttentionMap, Reach
from attnx.errors import AttnxError, InputError
from attnx.statistics import score_heads
from attnx.streaming.engine import stream
from attnx.streaming.records import NAMES, BatchScores
from attnx.texts.sentence import read_sentence
from tests.types.plain import INPUTS, TRANSFORMS, plain_maps
from tests.types.sources import reads_both_ways, text_classes
from tests.types.tiny import save_config, save_tiny

SENTENCES = ("a b c", "d e f g h i j k l", "m n o p q r")  # tokens: 3, 9, 6 and the special ones
TOLERANCE = 1e-5
# A dozen of the types that only look backward, and some without attention; the rest of them are like these.
DECODERS = (
    *("gpt2", "llama", "qwen2", "qwen3", "gemma2", "gemma3_text", "mistral", "gpt_neox", "opt", "bloom", "falcon"),
    *("gpt_oss", "ctrl", "xglm", "mpt", "openai-gpt", "modernbert-decoder", "mamba", "rwkv"),
)
# Notes that say which part of a model is shown, or of what kind it is; the weights are what the model returns.
PLAIN_NOTES = {"causal", "local", "encoder_only", "text_part", "shared_layers", "layers_without_attention"}


def measure(model_type: str) -> TypeCoverage:
    """Save a tiny model of the type, load it with attnx, and compare every statistic with plain transformers,
    alone and in a stream.

    Raises AssertionError where a statistic differs.
    """
    with TemporaryDirectory() as folder:
        try:
            model = save_tiny(model_type, Path(folder))
        except ImportError:  # the type needs a package that is not installed
            model = None
            save_config(model_type, Path(folder))
        try:
            encoder = attnx.load_encoder(folder)
            maps = encoder.observe_batch([encoder.encode(read_sentence(text)) for text in SENTENCES])
        except AttnxError as error:
            return TypeCoverage(model_type, kind(model_type), "refused", error.key)
    assert model is not None, "attnx loaded what transformers cannot build"
    for found in maps:
        compare(found, model)
    compare_stream(encoder, maps)
    limits = ["causal"] if encoder.info.causal else ["local"] if encoder.info.reach else []
    told = [*limits, *(note.key for note in encoder.info.notes)]
    changes = " ".join(what for what, works in (("heads", heads_change), ("positions", positions_go)) if works(encoder))
    return TypeCoverage(
        model_type, kind(model_type, encoder.info.causal), status(model_type, told), " ".join(told), changes
    )


def compare(found: AttentionMap, model: PreTrainedModel) -> None:
    """Assert that every statistic in both scopes is that of the plain weights of the sentence alone."""
    plain = plain_maps(model, found.encoding.ids).float()
    assert found.weights.shape == plain.shape
    check_reach(plain, found.reach)
    expected = score_heads(AttentionMap(found.encoding, plain, found.reach))
    for scope, scores in score_heads(found).items():
        for name, values in scores.values.items():
            wanted = expected[scope].values[name]
            np.testing.assert_allclose(values, wanted, rtol=0, atol=TOLERANCE, err_msg=f"{scope} {name}")


def compare_stream(encoder: Encoder, maps: Sequence[AttentionMap]) -> None:
    """Assert that the sentences, each beside itself in a stream, get the statistics of their maps."""
    texts = [found.encoding.sentence for found in maps for _ in range(2)]
    seen = 0
    for scores in stream(encoder, [(number, 0, text) for number, text in enumerate(texts)]):
        assert isinstance(scores, BatchScores), scores
        for place, number in enumerate(scores.batch.numbers.tolist()):
            expected = score_heads(maps[number // 2])
            for scope, values in scores.values.items():
                wanted = np.stack([expected[scope].values[name] for name in NAMES[scope]], -1)
                np.testing.assert_allclose(values[place], wanted, rtol=0, atol=TOLERANCE, err_msg=scope)
            seen += 1
    assert seen == len(texts)


def heads_change(encoder: Encoder) -> bool:
    """Tell whether heads can be changed, and assert that then nothing else is: the layers before stay as they are."""
    encoding = encoder.encode(read_sentence(SENTENCES[1]))
    last = encoder.info.layers - 1
    variants = [Variant(), Variant((HeadEdit(last, 1, edits.uniform),)), Variant((HeadEdit(0, 0, edits.zero),))]
    try:
        found = [intervene(encoder, [encoding], [variant]) for variant in variants]
    except InputError as error:
        assert error.key == "no_interventions"
        return False
    plain, uniform, zero = (torch.stack([layer[0] for layer in one.attention]) for one in found)
    # What meets the values is less than the whole row where a learned sink takes the rest.
    whole = plain / plain.sum(-1, keepdim=True) if encoder.rescaled else plain
    np.testing.assert_allclose(whole, encoder.observe(encoding).weights, rtol=0, atol=TOLERANCE)
    others = [i for i in range(encoder.info.heads) if i != 1]
    assert torch.equal(uniform[:last], plain[:last]) and torch.equal(uniform[last, others], plain[last, others])
    visible = (plain[last, 1] > 0).float()
    assert torch.allclose(uniform[last, 1], visible / visible.sum(-1, keepdim=True))
    assert torch.equal(zero[0, 1:], plain[0, 1:]) and not zero[0, 0].any()
    assert not torch.equal(found[2].states, found[0].states)
    return True


def positions_go(encoder: Encoder) -> bool:
    """Tell whether positions can be taken away, and assert that then the order of tokens is nothing."""
    encoding = encoder.encode(read_sentence(SENTENCES[1]))
    order = torch.randperm(len(encoding.ids), generator=torch.Generator().manual_seed(5)).tolist()
    other = replace(encoding, ids=tuple(encoding.ids[i] for i in order))
    before = encoder.observe(encoding).weights
    try:
        with positions_off(encoder, encoding):
            weights, permuted = encoder.observe(encoding).weights, encoder.observe(other).weights
    except InputError as error:
        assert error.key == "positions_stay"
        return False
    np.testing.assert_allclose(permuted, weights[:, :, order][..., order], rtol=0, atol=2 * TOLERANCE)
    assert torch.equal(encoder.observe(encoding).weights, before)
    return True


def check_reach(plain: torch.Tensor, reach: Sequence[Reach]) -> None:
    """Assert that the plain weights are 0 beyond the reach that attnx tells, and there alone."""
    size = plain.shape[-1]
    offsets = torch.arange(size) - torch.arange(size)[:, None]
    for layer, (back, ahead) in zip(plain, reach or [(None, None)] * len(plain), strict=True):
        within = (offsets >= -(size if back is None else back)) & (offsets <= (size if ahead is None else ahead))
        assert torch.equal(layer.amax(0) > 0, within)


def kind(model_type: str, causal: bool = False) -> str:
    """Return the kind of the type, in the table's words; what turned out to be causal is no encoder."""
    if not reads_both_ways(model_type):
        return "decoder"
    if CONFIG_MAPPING[model_type]().is_encoder_decoder:
        return "encoder-decoder"
    if model_type.endswith("_text_model") or model_type not in MODEL_MAPPING_NAMES:
        return "text-tower"
    if any(text.sees for text in text_classes(model_type)):
        return "multimodal"
    return "decoder" if causal else "encoder"


def status(model_type: str, told: Sequence[str]) -> str:
    """Return ``exact`` where the weights are shown as plain transformers returns them for the text alone."""
    adapted = set(told) - PLAIN_NOTES or model_type in TRANSFORMS or model_type in INPUTS
    return "adapted" if adapted else "exact"
