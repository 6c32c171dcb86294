"""What a shell completes: commands, options, models, names; by Click's own machinery, and in a real bash."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.shell_completion import CompletionItem, ShellComplete

from attnx.cli import COMMANDS, attnx
from attnx.experiments.registry import NAMES
from attnx.statistics import REGISTRY

Put = Callable[[str, str, Path], None]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def tiny(make_model: Callable[..., Path]) -> Path:
    return make_model("m01_bert_24pos.json")


def completed(*words: str) -> list[str]:
    """Return what the last of the words can become."""
    return [item.value for item in items(*words)]


def items(*words: str) -> list[CompletionItem]:
    return ShellComplete(attnx, {}, "attnx", "_ATTNX_COMPLETE").get_completions(list(words[:-1]), words[-1])


def test_commands_options_and_names() -> None:
    assert completed("") == list(COMMANDS)
    assert completed("exp") == ["explore", "experiment"]
    assert completed("show", "x", "--sc") == ["--scope", "--scale"]
    assert completed("experiment", "") == list(NAMES)
    assert completed("show", "x", "--statistic", "") == list(REGISTRY)


def test_models_are_the_built_in_one_and_those_in_the_cache(cache: Put, tiny: Path) -> None:
    cache("org/small", COMMIT, tiny)
    cache("org/other", COMMIT, tiny)
    assert completed("report", "x", "-m", "") == ["builtin", "org/other", "org/small"]
    assert completed("report", "x", "--model", "org/s") == ["org/small"]


def test_folders_of_models_are_completed_as_they_are_written(
    cache: Put, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models/моя модель").symlink_to(tiny)
    (tmp_path / "models/bad\nname").symlink_to(tiny)
    (tmp_path / "models/empty").mkdir()
    monkeypatch.chdir(tmp_path)
    assert completed("show", "x", "-m", "models/") == ["models/моя модель"]
    assert completed("show", "x", "-m", f"{tmp_path}/models/м") == [f"{tmp_path}/models/моя модель"]
    assert [(item.type, item.value) for item in items("show", "x", "-m", "mod")] == [("dir", "mod")]
    assert completed("show", "x", "-m", "no/such/") == ["no/such/"]


def test_a_completion_imports_nothing_heavy(cache: Put) -> None:
    program = (
        "import sys\nfrom attnx.cli import attnx\nfrom click.shell_completion import ShellComplete\n"
        "complete = ShellComplete(attnx, {}, 'attnx', '_ATTNX_COMPLETE')\n"
        "complete.get_completions(['show', 'x', '-m'], '')\n"
        "complete.get_completions(['show', 'x', '--statistic'], '')\n"
        "print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    heavy = {"torch", "numpy", "transformers", "rich", "textual", "babel", "huggingface_hub"}
    assert set(run.stdout.split()) & heavy == set()


def test_bash_completes_a_model(cache: Put, tiny: Path, tmp_path: Path) -> None:
    """The documented line, in a shell that then completes ``attnx show x -m bui``."""
    program = tmp_path / "attnx"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m attnx "$@"\n')
    program.chmod(0o755)
    script = f"""
        PATH={tmp_path}:$PATH
        eval "$(_ATTNX_COMPLETE=bash_source attnx)"
        COMP_WORDS=(attnx show x -m bui) COMP_CWORD=4
        _attnx_completion attnx
        echo "${{COMPREPLY[*]}}"
        complete -p attnx
    """
    run = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, encoding="utf-8", check=True)
    assert run.stdout.splitlines() == ["builtin", "complete -o nosort -F _attnx_completion attnx"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_documented_shell_has_a_script(
    attnx: Callable[..., subprocess.CompletedProcess[str]], shell: str
) -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    assert f"_ATTNX_COMPLETE={shell}_source attnx" in readme
    run = attnx(env={"_ATTNX_COMPLETE": f"{shell}_source"})
    assert run.returncode == 0 and f"{shell}_complete" in run.stdout
