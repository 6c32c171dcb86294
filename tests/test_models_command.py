"""``attnx models``: what is on this machine, in three languages, and what is said of one model."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from attnx.encoders import description
from attnx.encoders.available import available_models, named_models
from attnx.encoders.coverage import read_coverage
from attnx.errors import InputError
from attnx.i18n import load_catalog

Cli = Callable[..., Any]
Put = Callable[[str, str, Path], None]
LANGUAGES = ("zh", "ru", "en")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
DATA = Path(__file__).parent / "data"


@pytest.fixture
def tiny(make_model: Callable[..., Path]) -> Path:
    return make_model("m01_bert_24pos.json")


@pytest.fixture
def broken(cache: Put, tiny: Path, tmp_path: Path) -> Path:
    """A cache with a good model and models that are broken in all ways; the folder of the cache."""
    hub = tmp_path / "hub"
    for name in ("good", "bare", "config", "pickled", "words"):
        cache(f"org/{name}", COMMIT, tiny)
    snapshots = {
        name: hub / f"models--org--{name}/snapshots/{COMMIT}" for name in ("bare", "config", "pickled", "words")
    }
    (snapshots["bare"] / "model.safetensors").unlink()
    (snapshots["config"] / "config.json").write_text("{")
    (snapshots["pickled"] / "model.safetensors").rename(snapshots["pickled"] / "pytorch_model.bin")
    for file in snapshots["words"].glob("tokenizer*"):
        file.unlink()
    shutil.copytree(hub / "models--org--good/snapshots", hub / "models--org--nameless/snapshots")
    (hub / "models--org--dangling/refs").mkdir(parents=True)
    (hub / "models--org--dangling/refs/main").write_text(COMMIT)
    (hub / "models--org--empty").mkdir()
    (hub / "models--org--file").write_text("")
    return hub


def with_config(folder: Path, **settings: Any) -> str:
    config = json.loads((folder / "config.json").read_text()) | settings
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


# --- the list ---


def test_every_cached_model_is_listed_with_what_keeps_it_from_being_shown(broken: Path) -> None:
    found = {model.name: model for model in available_models()}
    problems = {
        "builtin": None,
        "org/bare": InputError("model_no_weights", path="org/bare"),
        "org/config": InputError("model_bad_config", path="org/config", file="config.json"),
        "org/dangling": InputError("model_cache_empty", name="org/dangling"),
        "org/empty": InputError("model_cache_empty", name="org/empty"),
        "org/good": None,
        f"org/nameless@{COMMIT[:8]}": None,
        "org/pickled": InputError("model_pickled", path="org/pickled"),
        "org/words": InputError("tokenizer_missing", path="org/words"),
    }
    assert {name: model.problem for name, model in found.items()} == {
        name: problem and str(problem) for name, problem in problems.items()
    }
    good = found["org/good"]
    assert (good.source, good.revision, good.type, good.architecture) == ("hub", COMMIT, "bert", "BertModel")
    assert (good.layers, good.heads, good.max_tokens, good.causal) == (2, 2, 24, False)
    assert good.size == sum(file.stat().st_size for file in good.path.iterdir()) > 0


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.usefixtures("broken")
def test_the_list_is_an_aligned_table_in_the_users_language(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.setenv("LANG", language)
    result = cli("models")
    assert (result.exit_code, result.stderr) == (0, "")
    t = load_catalog(language)
    head, *rows = result.stdout.splitlines()
    assert head.split("  ")[0] == t.text("models.name")
    yes, no = t.text("models.showable"), t.text("models.unshowable")
    good = next(row for row in rows if row.startswith("org/good "))
    bare = next(row for row in rows if row.startswith("org/bare "))
    assert "2 × 2" in good and good.endswith(yes) and bare.endswith(no)
    columns = {
        cell_len(line.removesuffix(end)) for line, end in ((head, t.text("models.shown")), (good, yes), (bare, no))
    }
    assert len(columns) == 1
    problem = t.text("errors.model_no_weights", path="org/bare")
    assert t.text("models.unusable", name="org/bare", problem=problem) in rows
    assert {"72 MB", "72 МБ"} & {row[row.find("72 ") :][:5] for row in rows if row.startswith("builtin ")}


@pytest.mark.parametrize("size", [0, 40_000, 1_234_000, 72_000_000, 1_340_000_000])
def test_sizes_are_written_as_the_language_writes_numbers(cli: Cli, tmp_path: Path, tiny: Path, size: int) -> None:
    folder = shutil.copytree(tiny, tmp_path / "model")
    other = sum(file.stat().st_size for file in folder.iterdir()) - (folder / "model.safetensors").stat().st_size
    with (folder / "model.safetensors").open("wb") as file:
        file.truncate(max(size - other, 0))
    written = {0: "0.0 MB", 40_000: "0.0 MB", 1_234_000: "1.2 MB", 72_000_000: "72 MB", 1_340_000_000: "1,340 MB"}
    assert written[size] in cli("models", "./model").stdout


def test_nothing_from_a_configuration_steers_the_terminal(cli: Cli, cache: Put, tiny: Path) -> None:
    with_config(tiny, model_type="x\x1b[31m\ny[bold]z[/bold]", architectures=["\x9bA" * 200])
    (tiny / "README.md").write_text('---\nlanguage: ["\\e[0m", en]\n---\n')
    cache("org/odd", COMMIT, tiny)
    for arguments in (("models",), ("models", "org/odd")):
        result = cli(*arguments)
        assert result.exit_code == 0 and not set("\x1b\x9b") & set(result.stdout)
        assert "x\\x1b[31m\\ny[bold]z[/bold]" in result.stdout


def test_the_list_needs_no_torch_and_no_network() -> None:
    program = (
        "import sys; from attnx.cli import attnx; attnx(['models'], standalone_mode=False); "
        "print(sorted({'torch', 'transformers', 'huggingface_hub'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


# --- one model, one folder ---


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_built_in_model_is_explained(cli: Cli, monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    monkeypatch.setenv("LANG", language)
    result = cli("models", "builtin")
    assert result.exit_code == 0
    t = load_catalog(language)
    said = dict(line.split("  ", 1) for line in result.stdout.splitlines())
    assert said[t.text("models.heads")].strip() == "12 × 12"
    assert said[t.text("models.max_tokens")].strip() == "512"
    languages = {"zh": "多语言（包括：中文、俄语和英语）", "ru": "многоязычная", "en": "multilingual"}
    assert said[t.text("models.languages")].strip().startswith(languages[language])
    assert said[t.text("models.shown")].strip() == t.text("models.showable")


def test_a_real_folder_is_explained_from_its_files(minilm: Path) -> None:
    (model,) = named_models(str(minilm))
    assert (model.type, model.layers, model.heads, model.max_tokens) == ("bert", 6, 12, 512)
    assert (model.source, model.languages, model.problem) == ("local", ("en",), None)
    assert 80e6 < model.size < 100e6


def test_a_folder_of_models_is_listed_one_level_deep(cli: Cli, tmp_path: Path, tiny: Path) -> None:
    shelf = tmp_path / "shelf"
    for name in ("a", "b", "c/deep"):
        shutil.copytree(tiny, shelf / name)
    (shelf / "b/model.safetensors").unlink()
    (shelf / "notes.txt").write_text("no model")
    result = cli("models", "./shelf")
    rows = [line.split()[0] for line in result.stdout.splitlines() if "2 × 2" in line]
    assert (result.exit_code, rows) == (0, ["shelf/a", "shelf/b"])
    assert str(InputError("model_no_weights", path="shelf/b")) in result.stdout


def test_several_names_are_listed(cli: Cli, cache: Put, tiny: Path) -> None:
    cache("org/tiny", COMMIT, tiny)
    result = cli("models", "builtin", f"org/tiny@{COMMIT[:6]}", tiny)
    assert [line.split()[0] for line in result.stdout.splitlines()[1:]] == [
        "builtin",
        f"org/tiny@{COMMIT[:6]}",
        str(tiny),
    ]


@pytest.mark.parametrize(
    ("name", "key"),
    [("./missing", "model_folder_missing"), ("no/such", "model_not_cached"), ("biultin", "did_you_mean")],
)
@pytest.mark.usefixtures("cache")
def test_a_name_that_is_nothing_is_refused_as_it_is_elsewhere(cli: Cli, name: str, key: str) -> None:
    with pytest.raises(InputError) as caught:
        named_models(name)
    assert caught.value.key == key
    result = cli("models", name)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"Error: {caught.value}\n")


def test_a_folder_without_models_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = cli("models", "./empty")
    assert (result.exit_code, result.stderr) == (2, f"Error: {InputError('model_no_config', path='./empty')}\n")


@pytest.mark.parametrize("language", LANGUAGES)
def test_why_a_model_cannot_be_shown_is_said(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, language: str
) -> None:
    (tmp_path / "own").mkdir()
    shutil.copy(DATA / "models/m10_custom_code.json", tmp_path / "own/config.json")
    monkeypatch.setenv("LANG", language)
    out = cli("models", "./own").stdout
    assert "--trust-remote-code" in out and load_catalog(language).text("models.problem") in out


# --- types ---


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_table_of_types_says_of_each_whether_it_can_be_shown(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.setenv("LANG", language)
    result = cli("models", "--types")
    t = load_catalog(language)
    rows = {line.split()[0]: line for line in result.stdout.splitlines()[1:]}
    assert list(rows) == [row.type for row in read_coverage()]
    changes = f"{t.text('coverage.heads')}, {t.text('coverage.positions')}"
    assert t.text("coverage.exact") in rows["bert"] and rows["bert"].endswith(changes)
    assert t.text("coverage.adapted") in rows["big_bird"] and t.text("coverage.full_attention") in rows["big_bird"]
    assert t.text("coverage.refused") in rows["fnet"] and t.text("coverage.no_attention_fourier") in rows["fnet"]
    assert rows["gpt2"].endswith(t.text("coverage.causal"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_note_of_the_table_of_types_has_its_words(language: str) -> None:
    t = load_catalog(language)
    for note in {note for row in read_coverage() for note in row.note.split()}:
        assert t.text(f"coverage.{note}")


def test_what_is_special_of_a_type_is_said(cli: Cli, make_model: Callable[..., Path]) -> None:
    gpt2 = make_model("m08_gpt2_causal.json", "words", {"unk_token": "[UNK]"})
    assert "each token sees earlier ones only" in cli("models", gpt2).stdout
    assert "gpt2, causal" in cli("models", gpt2, gpt2).stdout
    assert "only its encoder is shown" in cli("models", make_model("m07_t5.json")).stdout


def test_an_encoder_that_is_used_as_a_decoder_is_causal(tiny: Path) -> None:
    (model,) = named_models(with_config(tiny, is_decoder=True))
    assert model.causal and model.problem is None


def test_a_type_that_cannot_be_shown_is_listed_with_the_reason(tiny: Path) -> None:
    (model,) = named_models(with_config(tiny, model_type="fnet"))
    assert "fnet" in str(model.problem) and "Fourier" in str(model.problem)
    assert model.notes == ()


def test_a_type_that_was_not_tried_is_not_judged(tiny: Path) -> None:
    (model,) = named_models(with_config(tiny, model_type="brand-new"))
    assert (model.type, model.problem, model.notes) == ("brand-new", None, ())


# --- what a configuration says ---


@pytest.mark.parametrize(
    ("config", "layers", "heads"),
    [
        ({"num_hidden_layers": 12, "num_attention_heads": 8}, 12, 8),
        ({"n_layers": 6, "n_heads": 12}, 6, 12),
        ({"n_layer": 3, "n_head": 4}, 3, 4),
        ({"num_layers": 8, "num_heads": 6}, 8, 6),
        ({"encoder_layers": 6, "decoder_layers": 2, "num_hidden_layers": 2, "encoder_attention_heads": 16}, 6, 16),
        ({"text_config": {"num_hidden_layers": 5, "num_attention_heads": 7}}, 5, 7),
        ({"num_hidden_layers": True, "num_attention_heads": "12"}, None, None),
        ({"num_hidden_layers": -1, "text_config": []}, None, None),
        ({}, None, None),
    ],
)
def test_layers_and_heads_are_found_under_their_several_names(
    config: dict[str, Any], layers: int | None, heads: int | None
) -> None:
    assert (description.layers(config), description.heads(config)) == (layers, heads)


@pytest.mark.parametrize(
    ("config", "tokenizer", "limit"),
    [
        ({"model_type": "bert", "max_position_embeddings": 512}, {}, 512),
        ({"model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1}, {}, 512),
        ({"model_type": "bert", "max_position_embeddings": 512}, {"model_max_length": 128}, 128),
        ({"model_type": "bert", "max_position_embeddings": 512}, {"model_max_length": int(1e30)}, 512),
        ({"model_type": "t5"}, {"model_max_length": int(1e30)}, None),
        ({"model_type": "t5"}, None, None),
    ],
)
def test_the_limit_of_tokens_is_the_smallest_that_the_files_name(
    tmp_path: Path, config: dict[str, Any], tokenizer: dict[str, Any] | None, limit: int | None
) -> None:
    if tokenizer is not None:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    assert description.max_tokens(tmp_path, config) == limit


@pytest.mark.parametrize(
    ("card", "languages"),
    [
        ("---\nlanguage: ru\n---\n", ("ru",)),
        ("---\r\nlanguage:\r\n- zh\r\n- no\r\ntags:\r\n- x\r\n---\r\n", ("zh", "no")),
        ("\ufeff---\nlicense: mit\nlanguage: [en, zh-CN]\n---\n# language: de", ("en", "zh-CN")),
        ("---\nmodel-index:\n" + "- x: {y: 1}\n" * 50_000 + "language:\n  - multilingual\n---\n", ("multilingual",)),
        ("# A card\nlanguage: ru", ()),
        ("---\nlicense: mit\n---\nlanguage: ru", ()),
        ("---\nlanguage: {ru: 1}\n---\n", ()),
        ("---\nlanguage: [ru, [de], " + "x" * 50 + "]\n---\n", ("ru",)),
        ("---\nlanguage: " + "[" * 100_000 + "\n---\n", ()),
        ("---\nlanguage: &a [*a]\n---\n", ()),
        ("---\nlanguage: !!python/object/apply:os.system [echo]\n---\n", ("echo",)),
        ("---\nlanguage: ru", ("ru",)),
        ("", ()),
        (None, ()),
    ],
    ids=range(14),
)
def test_languages_are_those_of_the_model_card(tmp_path: Path, card: str | None, languages: tuple[str, ...]) -> None:
    if card is not None:
        (tmp_path / "README.md").write_bytes(card.encode())
    assert description.languages(tmp_path) == languages
