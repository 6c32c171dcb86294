import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("attnx-*.whl")
    return path


def test_wheel_holds_what_the_program_reads(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for folder in ("templates", "locales"):
        files = {f"attnx/{path.relative_to(ROOT)}" for path in (ROOT / folder).rglob("*") if path.is_file()}
        assert len(files) >= 3
        assert files <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith(("tests/", "templates/"))]
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_wheel_works_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """An unpacked wheel finds its own templates and locales, and renders with them."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    program = (
        "from attnx.resources import resource_dir; from attnx.i18n import load_catalog;"
        "print(resource_dir('templates')); print(resource_dir('locales'));"
        "print(load_catalog('zh').text('report.tokens', n=7));"
        "from attnx.report.html import environment; print(environment().get_template('report.html.j2').name)"
    )
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path / "site"), "PYTHONUTF8": "1"}
    run = subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    site = tmp_path / "site/attnx"
    assert run.stdout.splitlines() == [str(site / "templates"), str(site / "locales"), "7 个词元", "report.html.j2"]
