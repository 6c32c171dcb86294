import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Debian's chromium is not installed"),
]
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--v=0",
)
with_language = pytest.mark.parametrize("language", ["zh", "ru", "en"])


def chromium(folder: Path, page: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Open a page from a file in a fresh, headless browser."""
    (folder / "x.html").write_text(page, encoding="utf-8")
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={folder / 'profile'}", *flags, f"file://{folder / 'x.html'}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def console(run: subprocess.CompletedProcess[str]) -> list[str]:
    """Return what the page wrote to the console: blocked sources, bad styles."""
    return [line for line in run.stderr.splitlines() if "CONSOLE" in line]


@with_language
def test_page_opens_and_is_drawn(pages: Mapping[str, str], language: str, tmp_path: Path) -> None:
    shot = tmp_path / "x.png"
    run = chromium(tmp_path, pages[language], "--window-size=1280,4000", f"--screenshot={shot}")
    assert console(run) == []
    pixels = np.asarray(Image.open(shot).convert("L"))
    bands = pixels.reshape(8, -1)  # every 500 rows hold something: 20 shades of gray
    assert all(len(np.unique(band)) > 20 for band in bands)


def test_the_policy_blocks_what_is_not_ours(pages: Mapping[str, str], tmp_path: Path) -> None:
    """A script that got into the page would not run, and the console check above would see it."""
    page = pages["en"].replace("<body>", "<body><script>document.title='owned'</script>")
    run = chromium(tmp_path, page, "--dump-dom")
    assert "<title>Attention heads" in run.stdout
    assert any("Content Security Policy" in line for line in console(run))


def test_page_prints(pages: Mapping[str, str], tmp_path: Path) -> None:
    printed = tmp_path / "x.pdf"
    run = chromium(tmp_path, pages["zh"], f"--print-to-pdf={printed}")
    assert console(run) == []
    text = subprocess.run(["pdftotext", printed, "-"], capture_output=True, text=True, check=True).stdout
    assert "王者荣耀怎么玩" in text
    assert "L12·H12" in re.sub(r"\s", "", text)
