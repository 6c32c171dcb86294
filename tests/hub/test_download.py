"""``--download`` against a server that answers as Hugging Face does, and against networks that fail."""

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel

from attnx.encoders.folder import ModelFolder
from attnx.encoders.names import find_folder
from attnx.encoders.records import ModelRequest
from attnx.errors import AttnxError, InputError

Attnx = Callable[..., subprocess.CompletedProcess[str]]
Find = Callable[..., ModelFolder]
NAME = "org/tiny"


@pytest.fixture
def folder(make_model: Callable[..., Path]) -> Path:
    return make_model("m01_bert_24pos.json")


@pytest.fixture
def home(tmp_path: Path, hub: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty Hugging Face cache, beside the server."""
    for name, value in {"HF_ENDPOINT": hub.endpoint, "HF_HUB_CACHE": str(tmp_path / "home"), "HF_TOKEN": ""}.items():
        monkeypatch.setenv(name, value)
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "home"


@pytest.fixture
def download(home: Path) -> Find:
    """Find a model, which may be fetched from the server."""
    return lambda name, **options: find_folder(ModelRequest(name, download=True, **options))


def refusal(find: Find, *arguments: Any, **options: Any) -> AttnxError:
    with pytest.raises(AttnxError) as caught:
        find(*arguments, **options)
    assert "\n" not in str(caught.value)
    return caught.value


def depth(folder: ModelFolder) -> int:
    return len([name for name in load_file(folder.path / "model.safetensors") if name.endswith("query.weight")])


# --- what is fetched ---


def test_a_model_is_fetched_once_and_is_then_in_the_cache(download: Find, attnx: Attnx, hub: Any, folder: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(b"not needed")
    (folder / "tf_model.h5").write_bytes(b"not needed")
    (folder / "onnx").mkdir()
    (folder / "onnx/model.safetensors").write_bytes(b"not needed")
    commit = hub.add(NAME, folder, "main")
    found = download(NAME)
    assert (found.name, found.source, found.revision) == (NAME, "hub", commit)
    given = {
        request.rpartition("/")[2] for request in hub.asked if request.startswith("GET") and "/resolve/" in request
    }
    assert given == {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert [request for request in hub.asked if "/resolve/" not in request] == [f"GET /api/models/{NAME}"]
    hub.asked.clear()
    assert find_folder(ModelRequest(NAME)) == replace(found, request=ModelRequest(NAME))
    assert download(NAME) == found
    result = attnx("measure", "мама мыла раму", "-f", "json", "-m", NAME, "--offline")
    assert json.loads(result.stdout)["model"]["revision"] == commit
    assert hub.asked == []


@pytest.mark.slow
def test_a_command_fetches_a_model_and_measures_it(home: Path, attnx: Attnx, hub: Any, folder: Path) -> None:
    commit = hub.add(NAME, folder, "main")
    result = attnx("measure", "мама мыла раму", "-f", "json", "-m", NAME, "--download")
    model = json.loads(result.stdout)["model"]
    assert (model["name"], model["source"], model["revision"]) == (NAME, "hub", commit)


def test_weights_in_several_files_are_fetched(download: Find, hub: Any, folder: Path) -> None:
    AutoModel.from_pretrained(folder).save_pretrained(folder, max_shard_size="8KB")
    (folder / "model.safetensors").unlink(missing_ok=True)
    hub.add(NAME, folder, "main")
    fetched = download(NAME).path
    assert {file.name for file in fetched.iterdir()} == {file.name for file in folder.iterdir()}


def test_revisions_are_a_branch_a_tag_or_a_commit(
    download: Find, hub: Any, folder: Path, make_model: Callable[..., Path]
) -> None:
    deeper = make_model("m01_bert_24pos.json", num_hidden_layers=3)
    hub.add(NAME, folder, "main")
    commit = hub.add(NAME, deeper, "v1", "refs/pr/2")
    assert depth(download(NAME)) == 2
    assert download(f"{NAME}@refs/pr/2").revision == commit
    hub.asked.clear()
    for revision in ("refs/pr/2", commit, commit[:7]):
        found = find_folder(ModelRequest(f"{NAME}@{revision}"))
        assert (found.name, found.revision, depth(found)) == (NAME, commit, 3)
    assert hub.asked == []
    error = refusal(find_folder, ModelRequest(f"{NAME}@v1"))
    assert error.key == "model_revision_not_cached"
    assert error.values == {"name": NAME, "revision": "v1", "known": "main, refs/pr/2"}
    assert download(f"{NAME}@v1").revision == commit
    assert depth(find_folder(ModelRequest(NAME))) == 2


def test_an_interrupted_download_is_not_taken_for_a_model(
    download: Find, hub: Any, folder: Path, tmp_path: Path
) -> None:
    """The weights are announced and then not there."""
    weights = shutil.move(folder / "model.safetensors", tmp_path / "kept")
    (folder / "model.safetensors").symlink_to(tmp_path / "gone")
    commit = hub.add(NAME, folder, "main")
    error = refusal(download, NAME)
    assert (error.key, error.exit_code) == ("model_download_failed", 1)
    assert refusal(find_folder, ModelRequest(NAME)).key == "model_revision_not_cached"
    (folder / "model.safetensors").unlink()
    shutil.copy(weights, folder / "model.safetensors")
    assert download(NAME).revision == commit


def test_what_another_program_left_out_is_fetched(download: Find, hub: Any, home: Path, folder: Path) -> None:
    hub.add(NAME, folder, "main")
    fetched = download(NAME).path
    for file in fetched.glob("tokenizer*"):
        file.unlink()
    assert {file.name for file in download(NAME).path.glob("tokenizer*")} == {"tokenizer.json", "tokenizer_config.json"}


def test_pickled_weights_are_fetched_only_when_they_are_allowed(
    download: Find, hub: Any, home: Path, folder: Path
) -> None:
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    hub.add(NAME, folder, "main")
    assert refusal(download, NAME).key == "model_pickled"
    assert not list(home.rglob("*.bin")) and not [request for request in hub.asked if "/resolve/" in request]
    assert (download(NAME, allow_pickle=True).path / "pytorch_model.bin").is_file()


def test_a_model_with_code_is_refused_before_its_weights_are_fetched(
    download: Find, hub: Any, home: Path, folder: Path
) -> None:
    config = json.loads((folder / "config.json").read_text()) | {"auto_map": {"AutoModel": "own.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text("raise SystemExit('ran')")
    hub.add(NAME, folder, "main")
    assert refusal(download, NAME).key == "model_remote_code"
    assert not list(home.rglob("*.safetensors")) and not list(home.rglob("*.py"))
    assert (download(NAME, trust_remote_code=True).path / "own.py").is_file()


def test_a_model_without_weights_that_attnx_reads_is_refused(download: Find, hub: Any, folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "tf_model.h5")
    hub.add(NAME, folder, "main")
    assert refusal(download, NAME).key == "model_no_weights"


# --- what the server refuses ---


@pytest.mark.parametrize(
    ("answer", "key"),
    [
        ((401, "GatedRepo", "Access is restricted."), "model_gated"),
        ((403, "GatedRepo", "Access is restricted."), "model_gated"),
        ((401, "RepoNotFound", "Repository not found"), "model_not_public"),
        ((401, "", "Invalid username or password."), "model_not_public"),
        ((404, "RepoNotFound", "Repository not found"), "model_not_on_hub"),
        ((403, "", "Forbidden"), "model_forbidden"),
        ((401, "", "Invalid credentials in Authorization header"), "model_token_refused"),
    ],
)
def test_each_refusal_of_the_server_has_its_own_message(
    download: Find, hub: Any, answer: tuple[int, str, str], key: str
) -> None:
    hub.refusals[NAME] = answer
    error = refusal(download, NAME)
    assert (error.key, error.exit_code) == (key, 2)
    assert NAME in str(error)


def test_a_gated_model_that_is_described_but_not_given_is_gated(download: Find, hub: Any, folder: Path) -> None:
    hub.add(NAME, folder, "main")
    hub.gated.add(NAME)
    assert refusal(download, NAME).key == "model_gated"


def test_a_revision_that_is_not_there_is_named(download: Find, hub: Any, folder: Path) -> None:
    hub.add(NAME, folder, "main")
    error = refusal(download, f"{NAME}@v9")
    assert error.key == "model_revision_not_on_hub"
    assert error.values == {"name": NAME, "revision": "v9"}


def test_a_misspelt_name_is_answered_with_the_nearest_cached_ones(download: Find, hub: Any, folder: Path) -> None:
    hub.add(NAME, folder, "main")
    download(NAME)
    error = refusal(download, "orgg/tyni")
    assert error.key == "did_you_mean"
    assert str(error).startswith(str(InputError("model_not_public", name="orgg/tyni")))
    assert str(error).endswith(f"Did you mean {NAME}?")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_in_trouble_is_named_with_its_status(download: Find, hub: Any, status: int) -> None:
    hub.refusals[NAME] = (status, "", "Trouble")
    begun = time.monotonic()
    error = refusal(download, NAME)
    assert time.monotonic() - begun < 10
    assert (error.key, error.exit_code) == ("model_download_failed", 1)
    assert str(status) in str(error)


# --- networks that fail ---

DRIBBLING = """
import socket, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
client = server.accept()[0]
client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 1000\\r\\n\\r\\n")
while True:
    client.sendall(b" ")
    time.sleep(0.5)
"""


@pytest.fixture
def failing(attnx: Attnx, home: Path) -> Callable[[str], str]:
    """Try to fetch a model from an address with no answer, as a user does, and return the last line."""

    def run(endpoint: str) -> str:
        begun = time.monotonic()
        result = attnx("report", "мама", "-m", NAME, "--download", env={"HF_ENDPOINT": endpoint})
        assert time.monotonic() - begun < 10
        assert (result.returncode, result.stdout) == (1, "")
        assert result.stderr.count("Error: ") == 1 and "Traceback" not in result.stderr
        assert NAME in result.stderr and "-m builtin" in result.stderr
        return result.stderr.splitlines()[-1]

    return run


@pytest.mark.parametrize("endpoint", ["http://hub.invalid", "http://127.0.0.1:9"])
def test_a_host_that_is_not_there_is_one_line_at_once(failing: Callable[[str], str], endpoint: str) -> None:
    assert failing(endpoint).startswith(f"Error: {NAME} could not be downloaded: [Errno")


def test_a_server_that_never_answers_is_given_up(failing: Callable[[str], str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert "timed out" in failing(f"http://127.0.0.1:{server.getsockname()[1]}")


def test_a_server_whose_answer_never_ends_is_given_up(failing: Callable[[str], str]) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", DRIBBLING], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdout
        assert "timed out" in failing(f"http://127.0.0.1:{int(server.stdout.readline())}")
        server.kill()


def test_a_download_that_stalls_is_given_up(
    download: Find, hub: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnx.encoders.hub.STALL_SECONDS", 0.5)
    hub.add(NAME, folder, "main")
    hub.silent.add(NAME)
    error = refusal(download, NAME)
    assert (error.key, error.values["reason"]) == ("model_download_failed", "timed out")


# --- offline ---


@pytest.mark.parametrize("variable", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_the_variables_forbid_a_download(
    download: Find, hub: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    hub.add(NAME, folder, "main")
    monkeypatch.setenv(variable, "1")
    assert refusal(download, NAME).key == "model_offline"
    assert hub.asked == []


def test_offline_goes_before_download(home: Path, hub: Any, folder: Path) -> None:
    hub.add(NAME, folder, "main")
    assert refusal(find_folder, ModelRequest(NAME, offline=True, download=True)).key == "model_offline"
    assert hub.asked == []


def test_offline_and_download_together_are_wrong_use(attnx: Attnx, home: Path) -> None:
    result = attnx("report", "мама", "--offline", "--download")
    assert (result.returncode, result.stderr) == (2, f"Error: {InputError('offline_download')}\n")


def test_without_download_nothing_is_asked(home: Path, hub: Any, folder: Path) -> None:
    hub.add(NAME, folder, "main")
    assert refusal(find_folder, ModelRequest(NAME)).key == "model_not_cached"
    assert hub.asked == []
