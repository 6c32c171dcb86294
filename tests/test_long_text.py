"""Texts longer than the model takes: where the windows lie, what is merged how, and what a report says of them."""

import itertools
import json
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnx.analysis import analyze, measure
from attnx.encoders.encoder import Encoder
from attnx.encoders.loading import load_encoder
from attnx.encoders.records import AttentionMap, Encoding, ModelRequest, Token
from attnx.encoders.tokenizing import tokenize
from attnx.encoders.windows import Window, Windows, cut_windows, read_windows
from attnx.errors import InputError
from attnx.i18n import languages, load_catalog
from attnx.report.build import notices, report_view
from attnx.report.document import Document, to_json
from attnx.report.reading import from_json
from attnx.statistics import SCOPES, HeadScores, PartScores, merge_parts, score_heads, score_part
from attnx.texts.sentence import Sentence, read_sentence

Cli = Callable[..., Any]
CHARACTERS = "我爱北" * 30  # 90 tokens of the tiny models, which take 24


@pytest.fixture(scope="module")
def tiny(make_model: Callable[..., Path]) -> Encoder:
    """A tiny model that takes 24 tokens, [CLS] and [SEP] among them; its weights are large, so that heads differ."""
    return load_encoder(ModelRequest(str(make_model("m01_bert_24pos.json", initializer_range=0.5))))


@pytest.fixture(scope="module")
def whole(tiny: Encoder) -> Encoding:
    return tokenize(tiny.tokenizer, read_sentence(CHARACTERS), None)


@pytest.fixture(scope="module")
def in_windows(tiny: Encoder) -> Document:
    return analyze([read_sentence(CHARACTERS)], tiny, long="windows")


def framed(size: int) -> Encoding:
    """[CLS], `size` tokens of a letter each, [SEP]; an id is the place."""
    content = [Token("a", i, i + 1, False, i) for i in range(size)]
    tokens = (Token("[CLS]", 0, 0, True, None), *content, Token("[SEP]", 0, 0, True, None))
    return Encoding(Sentence("a" * size, "en"), tuple(range(size + 2)), tokens, (0,), (size + 1,), None)


def counted_ids(window: Window) -> list[int]:
    return [i for i, counts in zip(window.encoding.ids, window.counted, strict=True) if counts]


def test_ten_tokens_in_windows_of_six() -> None:
    """Four tokens of the text fit a window; each of the four windows has two in common with the next."""
    windows, pieces = cut_windows(framed(10), 6)
    cut = list(pieces)
    assert windows == Windows(count=4, length=6, overlap=2, total=12)
    assert [list(window.encoding.ids) for window in cut] == [
        [0, 1, 2, 3, 4, 11],
        [0, 3, 4, 5, 6, 11],
        [0, 5, 6, 7, 8, 11],
        [0, 7, 8, 9, 10, 11],
    ]
    assert [counted_ids(window) for window in cut] == [
        [0, 1, 2, 3, 11],
        [0, 4, 5, 11],
        [0, 6, 7, 11],
        [0, 8, 9, 10, 11],
    ]
    assert all((window.encoding.cls, window.encoding.sep) == ((0,), (5,)) for window in cut)
    assert all(window.encoding.truncated_from is None for window in cut)


@given(size=st.integers(2, 60), room=st.integers(1, 30))
def test_every_token_counts_once_and_where_it_is_farthest_from_a_border(size: int, room: int) -> None:
    room = min(room, size - 1)
    windows, pieces = cut_windows(framed(size), room + 2)
    cut = [(list(window.encoding.ids), counted_ids(window)) for window in pieces]
    assert len(cut) == windows.count
    assert cut[0][0][1] == 1
    assert cut[-1][0][-2] == size
    assert all(len(ids) == windows.length for ids, _ in cut)
    shared = [len(set(a[1:-1]) & set(b[1:-1])) for (a, _), (b, _) in itertools.pairwise(cut)]
    assert windows.overlap == min(shared) >= room // 2
    assert all({0, size + 1} <= set(counted) for _, counted in cut)
    assert sorted(i for _, counted in cut for i in counted[1:-1]) == list(range(1, size + 1))
    for token in range(1, size + 1):
        depths = [min(token - ids[1], ids[-2] - token) if token in ids else -1 for ids, _ in cut]
        (own,) = (depth for depth, (_, counted) in zip(depths, cut, strict=True) if token in counted)
        assert own == max(depths)


def test_tokenizer_without_special_tokens() -> None:
    encoding = framed(7)
    bare = replace(encoding, ids=encoding.ids[1:-1], tokens=encoding.tokens[1:-1], cls=(), sep=())
    _, cut = cut_windows(bare, 4)
    assert [(list(window.encoding.ids), counted_ids(window)) for window in cut] == [
        ([1, 2, 3, 4], [1, 2, 3]),
        ([2, 3, 4, 5], [4]),
        ([4, 5, 6, 7], [5, 6, 7]),
    ]


def part(matrix: list[list[float]], counted: list[bool]) -> dict[str, PartScores]:
    """The scores of a map of one head over tokens without special ones."""
    size = len(matrix)
    encoding = framed(size)
    bare = replace(encoding, ids=encoding.ids[1:-1], tokens=encoding.tokens[1:-1], cls=(), sep=())
    return score_part(AttentionMap(bare, torch.tensor([[matrix]], dtype=torch.float32)), counted)


def value(scores: HeadScores, name: str) -> float:
    return float(scores.values[name][0, 0])


def test_merged_scores_by_hand() -> None:
    """A uniform window with one row counted and one in which all look at the first of four, with three counted."""
    first = part([[0.25] * 4] * 4, [True, False, False, False])
    second = part([[1.0, 0, 0, 0]] * 4, [False, True, True, True])
    merged = merge_parts(first, second)["all"]
    scores = merged.scores
    assert value(scores, "self_share") == pytest.approx(0.25 / 4)
    # The first row of the first window has none before it; of the others only the second looks at its neighbor.
    assert value(scores, "previous_share") == pytest.approx(1 / 3)
    assert value(scores, "next_share") == pytest.approx(0.25 / 3)
    assert value(scores, "entropy") == pytest.approx(np.log(4) / 4)
    assert value(scores, "distance") == pytest.approx((0.25 * (1 + 2 + 3) + 1 + 2 + 3) / 4)
    # Of the whole maps, weighted by the rows counted: 1 × 25 % and 3 × 100 %.
    assert value(scores, "sink") == pytest.approx((0.25 + 3) / 4)
    assert scores.tokens == 4
    assert (merged.rows["self_share"].item(), merged.rows["next_share"].item()) == (4, 3)
    assert merged.rows["sink"].item() == 4
    assert np.isnan(value(scores, "nearest_head"))
    assert merged.rows["nearest_head"].item() == 0


def test_details_are_those_of_the_first_part() -> None:
    """What the first map leaves undefined has no details, and stays undefined; a later one cannot undo a value."""
    shifted = [[0.0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1]]
    long, short = part(shifted, [True] * 4), part([[1.0, 0], [1, 0]], [True] * 2)
    kept = merge_parts(long, short)["all"].scores
    assert value(kept, "positional_rate") == value(long["all"].scores, "positional_rate") == 1.0
    assert kept.details["positional_offset"].item() == 1
    undefined = merge_parts(short, long)["all"].scores
    assert np.isnan(value(undefined, "positional_rate"))
    assert undefined.details["positional_offset"].item() == 0
    assert value(undefined, "sink") == pytest.approx((2 * 1.0 + 4 * 0.5) / 6)


def test_skipped_rows_of_all_windows_are_added_up() -> None:
    """Rows that give the text nothing: two of the first window's, of which one counts, and one of the second's."""
    encoding = framed(2)
    nothing, all_of_it = [1.0, 0, 0, 0], [0, 0.5, 0.5, 0]
    weights = torch.tensor([[[all_of_it, nothing, nothing, all_of_it]]])
    other = torch.tensor([[[all_of_it, nothing, all_of_it, all_of_it]]])
    first = score_part(AttentionMap(encoding, weights), [True, True, False, True])
    merged = merge_parts(first, score_part(AttentionMap(encoding, other), [True] * 4))["content"]
    assert merged.scores.skipped_rows.item() == 2
    assert merged.rows["self_share"].item() == 1


def test_one_part_is_what_it_is(tiny: Encoder) -> None:
    attention = tiny.observe(tiny.encode(read_sentence("我爱北我爱北")))
    parts, scores = score_part(attention, [True] * len(attention.encoding.ids)), score_heads(attention)
    for scope in SCOPES:
        for name, values in scores[scope].values.items():
            np.testing.assert_array_equal(parts[scope].scores.values[name], values)


def test_a_text_that_fits_is_the_same_document(tiny: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    sentences = [read_sentence("我爱北" * 7), read_sentence("我爱北")]
    assert to_json(analyze(sentences, tiny, long="windows")) == to_json(analyze(sentences, tiny))


def test_windows_of_a_real_model(tiny: Encoder, whole: Encoding, in_windows: Document) -> None:
    """Every row statistic is the mean over rows, each taken from plain eager attention of its own window."""
    (sentence,) = in_windows.sentences
    assert sentence.windows == Windows(count=8, length=24, overlap=12, total=92)
    assert (len(sentence.tokens), sentence.size, sentence.truncated_from) == (24, 92, None)
    _, cut = cut_windows(whole, 24)
    rows: dict[str, list[Any]] = {"self_share": [], "distance": [], "next_share": [], "confidence": []}
    for window in cut:
        with torch.inference_mode():
            output = tiny.model(torch.tensor([window.encoding.ids]), output_attentions=True)
        maps = torch.stack([layer[0] for layer in output.attentions]).double().numpy()
        places = np.arange(24)
        for i in np.flatnonzero(window.counted):
            row = maps[:, :, i]
            rows["self_share"].append(row[..., i])
            rows["distance"].append((row * abs(places - i)).sum(-1))
            rows["confidence"].append(row.max(-1))
            if i < 23:
                rows["next_share"].append(row[..., i + 1])
    assert len(rows["self_share"]) == 90 + 8 * 2
    for name, values in rows.items():
        np.testing.assert_allclose(sentence.scopes["all"].values[name], np.mean(values, axis=0), atol=1e-6)


def test_pictures_are_those_of_the_first_window(tiny: Encoder, in_windows: Document) -> None:
    cut = measure(read_sentence(CHARACTERS), tiny)
    (sentence,) = in_windows.sentences
    assert sentence.tokens == cut.tokens
    np.testing.assert_array_equal(sentence.maps, cut.maps)
    for scope in SCOPES:
        assert sentence.scopes[scope].tokens == cut.scopes[scope].tokens
        for name, details in cut.scopes[scope].details.items():
            np.testing.assert_array_equal(sentence.scopes[scope].details[name], details)
    assert not np.allclose(sentence.scopes["all"].values["entropy"], cut.scopes["all"].values["entropy"], atol=1e-4)


def test_one_map_is_kept_at_a_time(tiny: Encoder) -> None:
    """However many windows: when the model runs on the next one, the map before is gone."""
    alive: list[weakref.ref[AttentionMap]] = []

    class Watched(Encoder):
        def observe(self, encoding: Encoding) -> AttentionMap:
            assert all(reference() is None for reference in alive)
            attention = super().observe(encoding)
            alive.append(weakref.ref(attention))
            return attention

    watched = Watched(**{name: getattr(tiny, name) for name in Encoder.__dataclass_fields__})
    measure(read_sentence(CHARACTERS), watched, long="windows")
    assert len(alive) == 8


def test_the_built_in_model_on_1200_tokens(encoder: Encoder) -> None:
    text = " ".join(["Мама мыла раму, а папа читал газету днём и вечером."] * 72)
    windows, cut = read_windows(encoder, read_sentence(text), "windows")
    assert windows is not None
    assert 1100 < windows.total < 1300
    assert (windows.count, windows.length) == (-(-(windows.total - 512) // 255) + 1, 512)
    assert windows.overlap >= 255
    tokens = tokenize(encoder.tokenizer, read_sentence(text), None).ids
    counted = [i for window in cut for i in counted_ids(window) if i > 2]
    assert counted == [i for i in tokens if i > 2]  # all but <s> and </s>, once and in order


def test_twin_holds_the_windows(in_windows: Document) -> None:
    twin = to_json(in_windows)
    assert json.loads(twin)["sentences"][0]["windows"] == {"count": 8, "length": 24, "overlap": 12, "total": 92}
    assert to_json(from_json(twin)) == twin


@pytest.mark.parametrize(
    "change",
    [
        {"count": 1},
        {"count": 10**12},
        {"length": 23},
        {"overlap": -1},
        {"overlap": 24},
        {"total": 24},
        {"total": 8 * 24 + 1},
        {"total": "92"},
        {"count": True},
        {"more": 1},
    ],
)
def test_windows_that_cannot_be_are_refused(in_windows: Document, change: dict[str, Any]) -> None:
    twin = json.loads(to_json(in_windows))
    twin["sentences"][0]["windows"] |= change
    with pytest.raises(InputError) as refusal:
        from_json(json.dumps(twin))
    assert refusal.value.key == "report_broken"


@pytest.mark.parametrize("language", languages())
def test_report_says_how_it_was_measured(in_windows: Document, language: str) -> None:
    t = load_catalog(language)
    view = report_view(in_windows, t)
    (sentence,) = view.sentences
    (notice,) = notices(in_windows, t)
    assert notice in view.notices
    for number in ("92", "8", "24", "12"):
        assert number in notice
    assert "92" in view.subtitle
    assert "8" in sentence.token_intro
    assert len(sentence.finding_notes) == len(sentence.head_notes) == 1
    assert t.text("limits.windows") in view.limits
    assert any(fact.label == t.text("provenance.windows") and "92" in fact.value for fact in view.provenance)


def test_command_line(cli: Cli, make_model: Callable[..., Path], tmp_path: Path) -> None:
    folder = make_model("m01_bert_24pos.json")
    result = cli("report", CHARACTERS, "-m", folder, "--long", "windows", "-l", "en", "-o", "x.html", "-o", "x.json")
    assert result.exit_code == 0, result.output
    assert "92 tokens in 8 windows of 24" in result.stderr
    assert "92 tokens in 8 windows of 24" in (tmp_path / "x.html").read_text()
    again = cli("render", "x.json", "-l", "en", "-o", "y.html")
    assert again.exit_code == 0, again.output
    assert (tmp_path / "y.html").read_text() == (tmp_path / "x.html").read_text()


def test_measure_says_which_line_was_cut_or_read_in_windows(
    cli: Cli, make_model: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "in.txt").write_text(f"我爱北\n{CHARACTERS}\n", encoding="utf-8")
    folder = make_model("m01_bert_24pos.json")
    cut = cli("measure", "in.txt", "-m", folder, "-f", "csv")
    assert (cut.exit_code, cut.stderr.count("\n")) == (0, 1)
    assert cut.stderr.startswith("in.txt, line 2: A text was cut: it has 92 tokens")
    windows = cli("measure", "in.txt", "-m", folder, "-f", "csv", "--long", "windows")
    assert "in.txt, line 2: A text is longer" in windows.stderr
    assert windows.stdout != cut.stdout
    assert windows.stdout.splitlines()[:9] == cut.stdout.splitlines()[:9]  # the header and the first line of the file
