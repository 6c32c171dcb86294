"""From the name after ``-m`` to a folder: paths, ids in the cache, revisions, names that are nothing; and devices."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from attnx import load_encoder
from attnx.encoders.device import DEVICES, choose_device
from attnx.encoders.names import find_folder, nearest
from attnx.encoders.records import ModelRequest
from attnx.errors import InputError

Put = Callable[[str, str, Path], None]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER = "fedcba9876543210fedcba9876543210fedcba98"


@pytest.fixture
def folder(make_model: Callable[..., Path]) -> Path:
    return make_model("m01_bert_24pos.json")


@pytest.fixture
def hub(tmp_path: Path, cache: Put, folder: Path) -> Path:
    """The cache's folder of org/tiny: main and v1 are one commit, and another commit has no name."""
    cache("org/tiny", COMMIT, folder)
    model = tmp_path / "hub/models--org--tiny"
    (model / "refs/v1").write_text(f"{COMMIT}\n")
    shutil.copytree(folder, model / "snapshots" / OTHER)
    return model


def find(name: str, **options: Any) -> tuple[str, str, str | None]:
    found = find_folder(ModelRequest(name, **options))
    return found.name, found.source, found.revision


def refused(name: str, **options: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        find_folder(ModelRequest(name, **options))
    assert caught.value.exit_code == 2 and "\n" not in str(caught.value)
    return caught.value


# --- the cache ---


@pytest.mark.usefixtures("hub")
def test_a_cached_id_is_loaded_without_a_network_and_its_commit_is_the_revision() -> None:
    info = load_encoder("org/tiny").info
    assert (info.name, info.source, info.revision) == ("org/tiny", "hub", COMMIT)


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(
    ("revision", "commit"),
    [("main", COMMIT), ("v1", COMMIT), (COMMIT, COMMIT), (COMMIT[:7], COMMIT), (OTHER, OTHER), (OTHER[:4], OTHER)],
)
def test_a_revision_is_a_branch_a_tag_or_a_commit_that_may_be_cut_short(revision: str, commit: str) -> None:
    assert find(f"org/tiny@{revision}") == ("org/tiny", "hub", commit)


@pytest.mark.parametrize("revision", ["v2", "012", "f" * 40, "../../x", "refs/pr/1", "0123456789abcdeff"])
def test_a_revision_that_is_not_cached_is_refused_with_those_that_are(hub: Path, revision: str) -> None:
    error = refused(f"org/tiny@{revision}")
    if ".." in revision:
        assert error.key == "model_folder_missing"
    else:
        assert error.key == "model_revision_not_cached"
        assert error.values == {"name": "org/tiny", "revision": revision, "known": "main, v1, fedcba98"}


def test_a_commit_cut_so_short_that_it_is_two_is_refused(hub: Path) -> None:
    shutil.move(hub / "snapshots" / OTHER, hub / "snapshots" / (COMMIT[:30] + OTHER[:10]))
    assert refused(f"org/tiny@{COMMIT[:8]}").key == "model_revision_not_cached"


@pytest.mark.parametrize("content", ["", "../../../../etc", "/etc", "a" * 40, "\0", "x" * 100_000], ids=repr)
def test_a_broken_reference_leads_nowhere(hub: Path, content: str) -> None:
    (hub / "refs/main").write_text(content)
    error = refused("org/tiny")
    assert error.key == "model_revision_not_cached"
    assert error.values["known"] == "v1, fedcba98"


def test_an_entry_without_files_says_that_a_download_was_interrupted(hub: Path) -> None:
    shutil.rmtree(hub / "snapshots")
    assert refused("org/tiny").key == "model_cache_empty"


def test_a_cached_file_that_leads_nowhere_is_missing(hub: Path) -> None:
    weights = hub / "snapshots" / COMMIT / "model.safetensors"
    weights.unlink()
    weights.symlink_to("../../blobs/gone")
    assert refused("org/tiny").key == "model_no_weights"


@pytest.mark.usefixtures("hub")
def test_offline_a_cached_model_works_and_another_is_said_to_be_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find("org/tiny", offline=True) == ("org/tiny", "hub", COMMIT)
    assert refused("some/other", offline=True).key == "model_offline"
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert refused("some/other").key == "model_offline"
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    assert refused("some/other").key == "model_not_cached"


# --- folders before ids ---


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("name", ["org/tiny", "org/tiny@v1", "builtin@home"])
def test_a_folder_here_goes_before_a_cached_id(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(folder, tmp_path / name)
    assert find(name) == (name, "local", None)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("", "model_folder_missing"),
        ("./missing", "model_folder_missing"),
        ("../no/such", "model_folder_missing"),
        ("~no-such-user/model", "model_folder_missing"),
        ("file:///etc/passwd", "model_folder_missing"),
        ("https://huggingface.co/org/name", "model_folder_missing"),
        ("org/name/more", "model_folder_missing"),
        ("null\0byte", "model_folder_missing"),
        ("..", "model_no_config"),
        ("/etc/passwd", "model_not_a_folder"),
        ("x" * 5000, "model_unreadable"),
        ("x" * 97, "model_folder_missing"),
        ("no-such/org", "model_not_cached"),
        ("no-such/org@v1.0", "model_not_cached"),
        ("a..b/c", "model_folder_missing"),
        ("a--b", "model_folder_missing"),
        ("org/name.", "model_folder_missing"),
        ("org/name@", "model_folder_missing"),
        ("org/name@../../x", "model_folder_missing"),
        ("org/имя", "model_folder_missing"),
    ],
)
@pytest.mark.usefixtures("cache")
def test_a_name_that_is_no_model_is_refused(
    name: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    assert refused(name).key == key


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31mred", "x\u202egnp", "c\x9b2J"])
def test_control_characters_of_a_name_never_reach_the_terminal(name: str) -> None:
    message = str(refused(name))
    assert not any(c in message for c in "\n\x1b\u202e\x9b")
    assert name.encode("unicode_escape").decode() in message


# --- names that may have been meant ---


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("org/tyni", ["org/tiny"]),
        ("orgg/tiny", ["org/tiny"]),
        ("Tiny", ["org/tiny"]),
        ("TINY-BERT", ["acme/tiny-bert"]),
        ("biultin", ["builtin"]),
        ("someone/quite-different", []),
    ],
)
def test_the_nearest_names_are_those_that_a_person_would_think_of(
    hub: Path, cache: Put, folder: Path, name: str, meant: list[str]
) -> None:
    cache("acme/tiny-bert", COMMIT, folder)
    assert nearest(name)[: max(1, len(meant))] == meant


def test_at_most_three_names_are_suggested(tmp_path: Path, cache: Put) -> None:
    for i in range(9):
        (tmp_path / f"hub/models--org--tiny-{i}").mkdir()
    assert len(nearest("org/tiny")) == 3


@pytest.mark.usefixtures("hub")
def test_a_misspelt_name_is_refused_with_the_nearest() -> None:
    error = refused("org/tyni")
    assert error.key == "did_you_mean"
    assert str(error).startswith(str(InputError("model_not_cached", name="org/tyni")))
    assert "org/tiny" in str(error)


# --- devices ---


def test_a_device_that_is_not_there_is_refused_and_auto_takes_the_best() -> None:
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    assert choose_device("auto").type == next(name for name, found in there.items() if found)
    for name, found in there.items():
        if found:
            assert choose_device(name) == torch.device(name)
        else:
            with pytest.raises(InputError) as caught:
                choose_device(name)
            assert caught.value.key == "device_missing" and name in str(caught.value)


def test_an_unknown_device_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError) as caught:
        choose_device("tpu")
    assert caught.value.key == "unknown_device"
    assert caught.value.values["known"] == ", ".join(DEVICES)


@pytest.mark.parametrize("option", [("--device", "tpu"), ("--dtype", "int8")])
def test_the_command_line_takes_known_devices_and_types_only(cli: Callable[..., Any], option: tuple[str, str]) -> None:
    result = cli("report", "мама", *option)
    assert result.exit_code == 2 and option[1] in result.stderr


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_missing_gpu_is_one_line(attnx: Callable[..., Any]) -> None:
    result = attnx("report", "мама", "--device", "cuda")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.splitlines()[-1] == f"Error: {InputError('device_missing', device='cuda')}"
