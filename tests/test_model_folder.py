"""Model folders that are broken, cut up, pickled or bring code: what is refused, and how it is said."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel

from attnx import load_encoder
from attnx.encoders.encoder import Encoder
from attnx.encoders.folder import TEXT_LIMIT
from attnx.encoders.names import find_folder
from attnx.encoders.records import ModelRequest
from attnx.errors import InputError
from attnx.texts.sentence import read_sentence

DATA = Path(__file__).parent / "data"
MakeModel = Callable[..., Path]
TEXT = "мама мыла раму"
INDEX = "model.safetensors.index.json"


def weights(encoder: Encoder) -> torch.Tensor:
    return encoder.observe(encoder.encode(read_sentence(TEXT))).weights


def refused(folder: Path | str, **options: Any) -> InputError:
    """Return the refusal of a folder, which names it in one line."""
    with pytest.raises(InputError) as caught:
        load_encoder(str(folder), **options)
    assert str(folder) in str(caught.value) and "\n" not in str(caught.value)
    assert caught.value.exit_code == 2
    return caught.value


@pytest.fixture
def folder(make_model: MakeModel) -> Path:
    return make_model("m01_bert_24pos.json")


# --- what is missing or broken ---


def cut_weights(folder: Path) -> None:
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[: len(data) // 2])


def drop_layer(folder: Path) -> None:
    state = load_file(folder / "model.safetensors")
    kept = {name: tensor for name, tensor in state.items() if not name.startswith("encoder.layer.1.attention")}
    save_file(kept, folder / "model.safetensors", {"format": "pt"})


def drop_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def drop_tokenizer(folder: Path) -> None:
    for file in folder.glob("tokenizer*"):
        file.unlink()


def swap_tokenizer(folder: Path) -> None:
    stored = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    stored["model"]["vocab"]["zzz"] = 5000
    (folder / "tokenizer.json").write_text(json.dumps(stored), encoding="utf-8")


def change(**settings: Any) -> Callable[[Path], object]:
    """Change settings of the configuration."""

    def damage(folder: Path) -> None:
        stored = json.loads((folder / "config.json").read_text()) | settings
        (folder / "config.json").write_text(json.dumps(stored))

    return damage


def make_huge(folder: Path) -> None:
    with (folder / "tokenizer.json").open("r+b") as file:
        file.truncate(TEXT_LIMIT + 1)  # takes no room on the disk


def config(content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / "config.json").write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "key", "words"),
    [
        (cut_weights, "model_not_loadable", "model"),
        (drop_layer, "model_incomplete", "encoder.layer.1.attention"),
        (drop_weights, "model_no_weights", "model.safetensors"),
        (config(b'{"model_type": "no-such-type"}'), "model_unknown_type", "no-such-type"),
        (config(b"{"), "model_bad_config", "config.json"),
        (config(b"[]"), "model_bad_config", "config.json"),
        (config(b"[" * 100_000), "model_bad_config", "config.json"),
        (config(b'{"\xff": 1}'), "model_bad_config", "config.json"),
        (config(b" " * 10_000_001), "model_bad_config", "config.json"),
        (drop_tokenizer, "tokenizer", "tokenizer"),
        (swap_tokenizer, "tokenizer_misfit", "64"),
        (change(num_hidden_layers=10**6), "model_too_deep", "2,000"),
        (change(text_config={"n_layer": 10**12}), "model_too_deep", "2,000"),
        (make_huge, "model_file_too_large", "tokenizer.json"),
        (change(num_hidden_layers="two"), "model_unknown_type", "expected int"),
        (change(hidden_size=10**9), "model_mismatched", "config.json"),
        (change(quantization_config={"quant_method": "none-that-is-known"}), "model_quantized", "quantized"),
        (change(model_type="dpr", architectures=["DPRConfig"]), "model_incomplete", "missing"),
        (change(model_type="dpr", architectures=["torch"]), "model_incomplete", "missing"),
    ],
    ids=[
        "short weights",
        "no layer",
        "no weights",
        "unknown type",
        "not JSON",
        "a list",
        "deep",
        "not UTF-8",
        "huge",
        "no words",
        "misfit",
        "deep model",
        "deep part",
        "huge tokenizer",
        "layers in words",
        "other sizes",
        "unknown quantization",
        "class of a configuration",
        "no class",
    ],
)
def test_a_broken_folder_is_refused_with_what_is_wrong(
    folder: Path, damage: Callable[[Path], object], key: str, words: str
) -> None:
    damage(folder)
    error = refused(folder)
    assert error.key.startswith(key)
    assert words in str(error)


# --- weights in several files ---


@pytest.fixture
def sharded(folder: Path) -> Path:
    """The model with its weights in several files and their index."""
    AutoModel.from_pretrained(folder).save_pretrained(folder, max_shard_size="8KB")
    (folder / "model.safetensors").unlink(missing_ok=True)
    assert len(list(folder.glob("model-*.safetensors"))) > 2
    return folder


def test_weights_in_several_files_give_the_same_attention(make_model: MakeModel, sharded: Path) -> None:
    whole = make_model("m01_bert_24pos.json")
    assert torch.equal(weights(load_encoder(str(sharded))), weights(load_encoder(str(whole))))


def test_a_missing_weight_file_is_named(sharded: Path) -> None:
    gone = sorted(sharded.glob("model-*.safetensors"))[1]
    gone.unlink()
    error = refused(sharded)
    assert error.key == "model_shard_missing"
    assert gone.name in str(error) and INDEX in str(error)


@pytest.mark.parametrize("shard", ["../x.safetensors", "/etc/passwd", "sub/x.safetensors", "..", "", "a\0b", 7, None])
def test_an_index_cannot_name_a_file_elsewhere(sharded: Path, shard: object) -> None:
    (sharded / "sub").mkdir()
    for place in (sharded.parent, sharded / "sub"):
        shutil.copy(next(sharded.glob("model-*.safetensors")), place / "x.safetensors")
    (sharded / INDEX).write_text(json.dumps({"weight_map": {"embeddings.word_embeddings.weight": shard}}))
    assert refused(sharded).key == "model_shard_missing"


@pytest.mark.parametrize("index", ["{", "[]", "{}", '{"weight_map": []}', '{"weight_map": {}}'])
def test_an_index_that_lists_no_files_is_refused(sharded: Path, index: str) -> None:
    (sharded / INDEX).write_text(index)
    error = refused(sharded)
    assert error.key == "model_bad_config"
    assert INDEX in str(error)


# --- pickles and code ---


@pytest.fixture
def pickled(folder: Path) -> Path:
    state = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(state, folder / "pytorch_model.bin")
    return folder


def test_pickled_weights_are_not_opened_without_the_flag(pickled: Path) -> None:
    error = refused(pickled)
    assert error.key == "model_pickled"
    assert "--allow-pickle" in str(error)
    assert weights(load_encoder(str(pickled), allow_pickle=True)).shape == (2, 2, 5, 5)


def test_safe_weights_beside_pickled_ones_need_no_flag(folder: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"this is not opened")
    assert weights(load_encoder(str(folder))).shape == (2, 2, 5, 5)


def test_a_model_with_code_is_refused_whatever_else_is_allowed(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text()) | {"auto_map": {"AutoModel": "x.X"}}
    (folder / "config.json").write_text(json.dumps(config))
    error = refused(folder, allow_pickle=True, download=True)
    assert error.key == "model_remote_code"
    assert "--trust-remote-code" in str(error)
    assert find_folder(ModelRequest(str(folder), trust_remote_code=True)).path == folder
