"""Everything a user or a machine can get wrong: one plain message, the right exit code, no file lost, no traceback."""

import errno
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from attnx.errors import InputError
from attnx.i18n import load_catalog
from attnx.report.output import check_output

DATA = Path(__file__).parent / "data"
Attnx = Callable[..., subprocess.CompletedProcess[str]]
Start = Callable[..., "subprocess.Popen[str]"]
Cli = Callable[..., Any]
TEXT = "мама мыла раму"
OLD = "an older report"


def said(key: str, **values: object) -> str:
    """The English message of a key, errors unless the key says where it is."""
    return load_catalog("en").text(key if "." in key else f"errors.{key}", **values)


def assert_refused(result: Any, code: int, *words: str) -> None:
    """One line on stderr apart from progress, nothing on stdout, no traceback."""
    out, err = result.stdout, result.stderr
    assert (result.exit_code if hasattr(result, "exit_code") else result.returncode) == code, err
    lines = [line for line in err.splitlines() if not line.endswith(" …")]
    assert out == "" and len(lines) == 1 and lines[0].startswith("Error: "), err
    for word in words:
        assert word in lines[0]


INTERRUPTED = said("terminal.interrupted") + "\n"


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".attnx-")]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """An older report of the name that is about to be written."""
    path = tmp_path / "x.html"
    path.write_text(OLD)
    return path


# --- texts ---


@pytest.mark.parametrize("command", ["report", "measure"])
@pytest.mark.parametrize(
    ("text", "words"),
    [("", "empty"), (" \n\t\u3000", "empty"), ("\u200b\u200d", "U+200B U+200D"), ("x" * 100_001, "100,001")],
)
def test_a_text_with_nothing_to_read(cli: Cli, tmp_path: Path, command: str, text: str, words: str) -> None:
    result = cli(command, text)
    assert result.exit_code == 2
    assert words in result.stderr and "Traceback" not in result.stderr
    assert result.stdout == "" and list(tmp_path.iterdir()) == []


def test_an_unusable_text_among_others_stops_a_report_before_the_model(cli: Cli, tmp_path: Path) -> None:
    assert_refused(cli("report", "good", " ", "-m", "./missing"), 2, "empty")


def test_a_long_text_is_cut_and_both_numbers_are_said_in_the_terminal_and_in_the_report(
    cli: Cli, make_model: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_model("m01_bert_24pos.json")
    result = cli("report", "我" * 600, "-m", folder, "-o", "x.html", "-o", "x.json", "-l", "en")
    assert result.exit_code == 0, result.stderr
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    for place in (result.stderr, page):
        assert said("notices.truncated", total=602, kept=24) in place
    assert said("provenance.truncation_value", i=1, total=602, kept=24) in page
    assert json.loads((tmp_path / "x.json").read_text())["sentences"][0]["truncated_from"] == 602


def test_long_error_refuses_instead(cli: Cli, make_model: Callable[..., Path], tmp_path: Path) -> None:
    folder = make_model("m01_bert_24pos.json")
    result = cli("report", "我" * 600, "-m", folder, "--long", "error", "-o", "x.html")
    assert_refused(result, 2, "602", "24", "--long error")
    assert not (tmp_path / "x.html").exists()


def test_markup_in_the_text_stays_text(cli: Cli, tmp_path: Path) -> None:
    import html5lib

    text = '</script><img src=x onerror=alert(1)> {{ 7*7 }} " style="display:none'
    plain = cli("report", "abc", "-o", "plain.html", "-l", "en")
    result = cli("report", text, "-o", "x.html", "-l", "en")
    assert plain.exit_code == result.exit_code == 0, result.stderr
    pages = [
        html5lib.parse((tmp_path / name).read_text(encoding="utf-8"), namespaceHTMLElements=False)
        for name in ("plain.html", "x.html")
    ]
    scripts, expected = ([len(page.findall(".//script")) for page in pages]), len(pages[0].findall(".//script"))
    assert scripts == [expected, expected]
    assert [image.get("src") for image in pages[1].iter("img") if image.get("src") == "x"] == []
    assert not any(name.startswith("on") for element in pages[1].iter() for name in element.attrib)
    heading = "".join(pages[1].find(".//h1").itertext())
    assert text in heading


def test_terminal_commands_in_a_text_do_not_reach_the_terminal(cli: Cli) -> None:
    result = cli("measure", "red \x1b[31mtext\x07")
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout + result.stderr and "\x07" not in result.stdout
    assert "red \\x1b[31mtext\\x07" in result.stdout


# --- models ---


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("./missing", 2, said("model_folder_missing", path="./missing")),
        ("no-such/org", 2, said("model_not_cached", name="no-such/org")),
        ("..", 2, said("model_no_config", path="..")),
        ("file:///etc/passwd", 2, said("model_folder_missing", path="file:///etc/passwd")),
        ("a\nb\x1b[31m", 2, "a\\nb\\x1b[31m"),
        ("<b>x</b>", 2, "<b>x</b>"),
        ("", 2, said("model_folder_missing", path="“”")),
    ],
)
@pytest.mark.usefixtures("cache")
def test_a_model_that_is_not_there(cli: Cli, tmp_path: Path, old: Path, name: str, code: int, words: str) -> None:
    (tmp_path / "inner").mkdir()
    os.chdir(tmp_path / "inner")
    assert_refused(cli("report", TEXT, "-m", name, "-o", old), code, words)
    assert old.read_text() == OLD


def test_an_empty_folder_and_one_without_weights(cli: Cli, make_model: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    folder = make_model("m01_bert_24pos.json")
    (folder / "model.safetensors").unlink()
    assert_refused(cli("report", TEXT, "-m", "./empty"), 2, said("model_no_config", path="./empty"))
    assert_refused(cli("report", TEXT, "-m", folder), 2, said("model_no_weights", path=folder))


def test_a_type_without_attention_is_refused_in_one_line(cli: Cli, make_model: Callable[..., Path]) -> None:
    folder = make_model("m01_bert_24pos.json")
    (folder / "config.json").write_text('{"model_type": "fnet"}')
    assert_refused(cli("report", "the cat sat", "-m", folder), 2, said("no_attention_fourier", type="fnet"))


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A model folder with its own code, which leaves the file CANARY_RAN where it is run."""
    folder = tmp_path / "canary"
    folder.mkdir()
    shutil.copy(DATA / "models/m10_custom_code.json", folder / "config.json")
    shutil.copy(DATA / "models/canary_conf.py", folder)
    save_file({"x": torch.zeros(1)}, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize("stdin", ["closed", "pipe", "terminal"])
def test_a_models_own_code_is_not_run_and_nothing_is_asked(attnx: Attnx, canary: Path, stdin: str) -> None:
    leader, follower = os.openpty()
    streams: dict[str, dict[str, Any]] = {
        "closed": {"stdin": None, "preexec_fn": lambda: os.close(0)},
        "pipe": {"stdin": subprocess.PIPE},
        "terminal": {"stdin": follower},
    }
    begun = time.monotonic()
    result = attnx("report", TEXT, "-m", "./canary", **streams[stdin])
    took = time.monotonic() - begun
    os.close(leader)
    os.close(follower)
    assert_refused(result, 2, said("model_remote_code", name="./canary"), "--trust-remote-code")
    assert took < 5
    assert not list(canary.parent.rglob("CANARY_RAN"))


def test_with_the_flag_a_models_own_code_is_run(attnx: Attnx, canary: Path, tmp_path: Path) -> None:
    env = {"HF_HOME": str(tmp_path / "home")}
    result = attnx("report", TEXT, "-m", "./canary", "--trust-remote-code", env=env)
    assert (tmp_path / "CANARY_RAN").exists()
    assert result.returncode == 2 and "Traceback" not in result.stderr


# --- the network ---


def test_without_a_network_the_answer_comes_in_under_ten_seconds(attnx: Attnx, tmp_path: Path) -> None:
    env = {"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_ENDPOINT": "http://127.0.0.1:9"}
    begun = time.monotonic()
    result = attnx("report", TEXT, "-m", "no-such/org", "--download", env=env)
    assert time.monotonic() - begun < 10
    assert_refused(result, 1, "no-such/org", "-m builtin")
    assert "Traceback" not in result.stderr


def test_a_server_that_never_answers_is_given_up_in_under_ten_seconds(attnx: Attnx, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        env = {"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_ENDPOINT": f"http://127.0.0.1:{server.getsockname()[1]}"}
        begun = time.monotonic()
        result = attnx("report", TEXT, "-m", "no-such/org", "--download", env=env)
        assert time.monotonic() - begun < 10
    assert_refused(result, 1, said("model_download_failed", name="no-such/org", reason="timed out"))


def test_offline_the_download_is_refused_at_once(attnx: Attnx, tmp_path: Path) -> None:
    env = {"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"}
    assert_refused(attnx("report", TEXT, "-m", "no-such/org", env=env), 2, said("model_offline", name="no-such/org"))


# --- outputs ---


@pytest.mark.parametrize(
    ("output", "key"),
    [
        ("folder", "output_is_folder"),
        ("folder.html", "output_is_folder"),
        ("missing/x.html", "output_no_folder"),
        ("file/x.html", "output_no_folder"),
        ("/proc/x.html", "output_not_writable"),
        ("x.docx", "output_unknown_suffix"),
        ("x", "output_unknown_suffix"),
        ("x" * 300 + ".html", "output_not_writable"),
    ],
)
def test_an_output_that_cannot_be_is_said_before_the_model_is_looked_at(
    cli: Cli, tmp_path: Path, output: str, key: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "file").write_text(OLD)
    # The missing model is not complained about: it has not been looked at.
    reason = os.strerror(errno.ENOENT if output == "/proc/x.html" else errno.ENAMETOOLONG)
    line = said(key, path=output, suffixes=".html, .pdf, .json", reason=reason)
    assert_refused(cli("report", TEXT, "-m", "./missing", "-o", output), 2, line)
    assert (tmp_path / "file").read_text() == OLD


@pytest.mark.parametrize(("output", "words"), [("folder", "Is a directory"), ("missing/x.csv", "missing/x.csv")])
def test_measure_checks_its_output_first_too(cli: Cli, tmp_path: Path, output: str, words: str) -> None:
    (tmp_path / "folder").mkdir()
    assert_refused(cli("measure", TEXT, "-m", "./missing", "-o", output), 2, output, words)


def test_the_same_output_twice_is_refused(cli: Cli) -> None:
    assert_refused(
        cli("report", TEXT, "-m", "./missing", "-o", "x.html", "-o", "./x.html"), 2, said("output_twice", path="x.html")
    )


def test_a_folder_without_permission_is_not_writable(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)  # root may write anywhere, nobody may not
    try:
        with pytest.raises(InputError) as caught:
            check_output(tmp_path / "x.html")
    finally:
        os.seteuid(user)
        tmp_path.chmod(0o755)
    assert str(caught.value) == said("output_not_writable", path=tmp_path / "x.html", reason="Permission denied")


# --- interruptions and full disks ---


@pytest.fixture
def saved(cli: Cli, tmp_path: Path) -> Path:
    """A report of several sentences whose PDF takes seconds."""
    assert cli("report", *["the cat sat on the mat"] * 8, "-o", "saved.json").exit_code == 0
    return tmp_path / "saved.json"


def test_ctrl_c_while_writing_keeps_the_older_report(start: Start, saved: Path, tmp_path: Path) -> None:
    old = tmp_path / "x.pdf"
    old.write_text(OLD)
    process = start("render", saved, "-o", "x.pdf")
    assert process.stderr is not None
    assert process.stderr.readline() == "Writing x.pdf …\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode in (130, -signal.SIGINT)
    assert (out, err) == ("", INTERRUPTED)
    assert old.read_text() == OLD and leftovers(tmp_path) == []


def test_ctrl_c_while_the_libraries_are_loaded_ends_in_one_line(start: Start, old: Path, tmp_path: Path) -> None:
    process = start("report", TEXT, "-o", old)
    while "libtorch" not in Path(f"/proc/{process.pid}/maps").read_text():
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    # Where the interrupt falls into an exec(), Python ends itself by the signal, which a shell shows as 130 too.
    assert process.returncode in (130, -signal.SIGINT)
    assert out == "" and err.endswith(INTERRUPTED)
    assert "Traceback" not in err
    assert old.read_text() == OLD and leftovers(tmp_path) == []


def test_a_full_disk_keeps_the_older_report(attnx: Attnx, cli: Cli, tmp_path: Path) -> None:
    assert cli("report", TEXT, "-o", "saved.json").exit_code == 0
    old = tmp_path / "x.html"
    old.write_text(OLD)

    def full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    result = attnx("render", "saved.json", "-o", "x.html", preexec_fn=full)
    assert_refused(result, 1, said("write_failed", path="x.html", reason="File too large"))
    assert old.read_text() == OLD and leftovers(tmp_path) == []


def test_standard_output_that_takes_nothing_is_one_line(attnx: Attnx, make_model: Callable[..., Path]) -> None:
    folder = make_model("m01_bert_24pos.json")
    with Path("/dev/full").open("w") as full:
        result = attnx("measure", TEXT, "-m", folder, "-f", "csv", stdout=full)
    assert result.returncode == 1
    line = said("output_not_writable", path="stdout", reason="No space left on device")
    assert result.stderr.endswith(f"Error: {line}\n")
    assert "Traceback" not in result.stderr and "Exception ignored" not in result.stderr


# --- saved reports ---


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "Expecting value: line 1 column 1"),
        (b"{", "line 1 column 2"),
        (b"[" * 100_000, "recursion"),
        (b"\xff\xfe", said("input_not_utf8", path="x.json", position=0)),
        (b"[]", "format 1, kind sentences"),
        (b'{"format": 2, "kind": "sentences"}', "format 1, kind sentences"),
        (b'{"format": 1, "kind": "sentences"}', said("report_broken", reason="KeyError: 'model'")),
    ],
)
def test_a_file_that_is_no_report_is_not_rendered(cli: Cli, tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "x.json").write_bytes(content)
    assert_refused(cli("render", "x.json", "-o", "x.html"), 2, words)
    assert not (tmp_path / "x.html").exists()


def test_render_names_what_is_missing_or_unusable(cli: Cli, tmp_path: Path) -> None:
    assert_refused(
        cli("render", "none.json"), 2, said("input_unreadable", path="none.json", reason="No such file or directory")
    )
    assert_refused(cli("render", "."), 2, said("input_unreadable", path=".", reason="Is a directory"))


def test_numbers_without_maps_cannot_be_rendered(cli: Cli, make_model: Callable[..., Path], tmp_path: Path) -> None:
    assert cli("measure", TEXT, "-m", make_model("m01_bert_24pos.json"), "-f", "json", "-o", "n.json").exit_code == 0
    assert_refused(cli("render", "n.json", "-o", "x.html"), 2, said("report_without_maps"))
