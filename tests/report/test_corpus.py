import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
import numpy as np
import pikepdf
import pytest
import torch

from attnx.encoders.records import AttentionMap, Encoding, ModelInfo, Token
from attnx.errors import InputError
from attnx.i18n import load_catalog
from attnx.report.corpus.build import corpus_view
from attnx.report.corpus.document import CorpusDocument, CorpusFile, CorpusSettings, Example, corpus_document
from attnx.report.corpus.findings import RoleFinding, Wanted, quadrant_findings, role_findings, wanted_examples
from attnx.report.corpus.reading import corpus_from_twin
from attnx.report.corpus.rendering import corpus_highlights, render_corpus
from attnx.report.corpus.roles import holders, sink_class
from attnx.report.corpus.twin import to_json
from attnx.report.document import Provenance, quantize
from attnx.report.kinds import read_report
from attnx.statistics import SCOPES, score_heads
from attnx.statistics.accumulators import Corpus, Shape
from attnx.statistics.roles import ROLES
from attnx.streaming.records import NAMES, Batch, BatchScores
from attnx.texts.sentence import read_sentence

LANGUAGES = ("zh", "ru", "en")
with_language = pytest.mark.parametrize("language", LANGUAGES)
MakeCorpus = Callable[..., CorpusDocument]
# The heads that `made_up` gives a known role, by layer and head.
PREVIOUS, NEXT, SINK, EVEN, CONTENT, SELF = (0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)


def encoding(words: int) -> Encoding:
    """Return [CLS], so many words, a comma and [SEP]."""
    text = " ".join("w" * words) + " ,"
    spans = [(0, 0), *((2 * i, 2 * i + 1) for i in range(words + 1)), (len(text), len(text))]
    labels = ["[CLS]", *"w" * words, ",", "[SEP]"]
    tokens = tuple(
        Token(label, start, end, start == end, None if start == end else i)
        for i, (label, (start, end)) in enumerate(zip(labels, spans, strict=True))
    )
    last = len(tokens) - 1
    return Encoding(read_sentence(text), tuple(range(last + 1)), tokens, (0,), (last,), None)


def made_up(size: int, layers: int, heads: int, rng: np.random.Generator) -> torch.Tensor:
    """Return random maps, the first six of which are what the constants above say."""
    maps = rng.dirichlet(np.full(size, 0.3), (layers, heads, size))
    noise = rng.dirichlet(np.full(size, 1.0), size)
    sink = np.zeros((size, size))
    sink[:, 0] = 1
    shapes = {PREVIOUS: np.eye(size, k=-1), NEXT: np.eye(size, k=1), SINK: sink, SELF: np.eye(size)}
    shapes[EVEN] = np.full((size, size), 1 / size)
    for (layer, head), shape in shapes.items():
        if layer < layers and head < heads:
            rest = 1 - shape.sum(1, keepdims=True)
            maps[layer, head] = 0.9 * (shape + rest / size) + 0.1 * (noise if (layer, head) != EVEN else shape)
    return torch.from_numpy(maps.astype(np.float32))


@pytest.fixture(scope="session")
def make_corpus() -> MakeCorpus:
    """Make the document of a corpus of made-up maps, fed through the real statistics and accumulators."""

    def make(
        *names: str,
        sentences: int = 60,
        layers: int = 2,
        heads: int = 3,
        words: tuple[int, ...] = (12,),
        text: str | None = None,
    ) -> CorpusDocument:
        names = names or ("one.txt",)
        rng = np.random.default_rng(5)
        corpus = Corpus(Shape(layers, heads, NAMES), groups=len(names))
        observers = corpus.observers()
        for number in range(sentences * len(names)):
            group = number % len(names)
            found = encoding(words[number // len(names) % len(words)])
            weights = made_up(len(found.ids), layers, heads, rng)
            batch = Batch(np.array([number]), (found,), np.array([group]))
            for observer in observers:
                if observer.wanted(batch).any():
                    for layer in range(layers):
                        observer.observe(layer, weights[layer][None], batch)
                    observer.finish(batch)
            scores = score_heads(AttentionMap(found, weights))
            values = {
                scope: np.stack([scores[scope].values[name] for name in NAMES[scope]], -1)[None] for scope in SCOPES
            }
            rows = {scope: np.where(np.isnan(values[scope]), 0, scores[scope].tokens) for scope in SCOPES}
            corpus.update(BatchScores(batch, values, rows))
        result = corpus.result()
        lengths = [count + 3 for count in words]
        files = tuple(CorpusFile(name, sentences, i, min(lengths), max(lengths), 0) for i, name in enumerate(names))
        return corpus_document(
            ModelInfo("random", "local", None, "bert", layers, heads, "float32"),
            Provenance("1", "3", "2", "5", "attnx batch " + " ".join(names), "2026-01-02T03:04:05+00:00"),
            files,
            CorpusSettings("cut", None, None, 0),
            result,
            tuple(example(wanted, words[0], layers, heads, text) for wanted in wanted_examples(result)),
        )

    def example(wanted: Wanted, words: int, layers: int, heads: int, text: str | None) -> Example:
        found = encoding(words)
        weights = made_up(len(found.ids), layers, heads, np.random.default_rng(1))[wanted.layer, wanted.head]
        sentence = text or found.sentence.text
        place = (wanted.scope, wanted.statistic, wanted.layer, wanted.head)
        return Example(*place, wanted.value, 0, 0, 1, "a", sentence, "en", found.tokens, quantize(weights.numpy()))

    return make


@pytest.fixture(scope="session")
def one(make_corpus: MakeCorpus) -> CorpusDocument:
    return make_corpus()


@pytest.fixture(scope="session")
def three(make_corpus: MakeCorpus) -> CorpusDocument:
    return make_corpus("zh.txt", "ru.txt", "en.txt", words=(12, 12, 12, 5, 20), sentences=90)


@pytest.fixture(scope="session")
def pages(three: CorpusDocument) -> Mapping[str, str]:
    return {name: render_corpus(three, ".html", load_catalog(name)).decode() for name in LANGUAGES}


def parsed(page: str) -> Element:
    root: Element = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)
    return root


def text_of(root: Element) -> str:
    body = root.find("body")
    assert body is not None
    return "".join(body.itertext())


def finding_of(document: CorpusDocument, role: str) -> RoleFinding:
    return next(finding for finding in role_findings(document.whole) if finding.role.name == role)


@pytest.mark.parametrize(
    ("role", "heads"),
    [("previous", {PREVIOUS}), ("next", {NEXT}), ("self", {SELF}), ("sink", {SINK}), ("broad", {EVEN})],
)
def test_heads_have_the_roles_they_were_made_for(one: CorpusDocument, role: str, heads: set[tuple[int, int]]) -> None:
    finding = finding_of(one, role)
    assert heads <= set(finding.heads)
    assert (finding.layer, finding.head) in heads
    assert finding.low <= finding.value <= finding.high
    assert finding.n == 60
    assert not {PREVIOUS, NEXT, SELF, SINK, EVEN} - heads & set(finding.heads)


def test_a_positional_head_has_one_offset(one: CorpusDocument) -> None:
    assert set(finding_of(one, "positional").heads) == {PREVIOUS, NEXT}
    (line,) = (role.statement for role in corpus_view(one, load_catalog("en")).roles if "positional" in role.statement)
    assert line.startswith("L1·H1")
    assert line.endswith("the previous token.")


def test_the_sink_is_named_by_its_class(one: CorpusDocument) -> None:
    assert sink_class(one.whole, *SINK) == "opening"
    assert finding_of(one, "sink").sinks == {"opening": 1}


def test_heads_follow_what_they_were_made_to_follow(one: CorpusDocument) -> None:
    follows = {finding.name: set(finding.heads) for finding in quadrant_findings(one.whole)}
    assert {PREVIOUS, NEXT, SELF} <= follows["position"]
    assert CONTENT in follows["content"]
    assert SINK in follows["sink"]
    assert EVEN in follows["broad"]


def test_the_map_of_roles_shows_signs_and_colors(one: CorpusDocument) -> None:
    view = corpus_view(one, load_catalog("ru"))
    signs = {role.name: role.sign for role in ROLES}
    for (layer, head), role in ((PREVIOUS, "previous"), (NEXT, "next"), (SELF, "self"), (SINK, "sink")):
        assert signs[role] in view.role_map.rows[layer][head].number
    colors = {view.role_map.rows[layer][head].color for layer, head in (PREVIOUS, NEXT, SELF)}
    assert colors == {"q0"}
    assert len({role.sign for role in ROLES}) == len(ROLES)


def test_the_table_of_roles_gives_values_and_intervals(one: CorpusDocument) -> None:
    t = load_catalog("en")
    row = corpus_view(one, t).role_table.layers[0][0]
    finding = finding_of(one, "previous")
    value = f"{t.decimal(100 * finding.value, 1)} ±{t.decimal(50 * (finding.high - finding.low), 1)}"
    assert row.name == "L1·H1"
    assert value in row.cells[-1]


def test_few_sentences_are_said_and_leave_nothing_undefined_on_the_page(make_corpus: MakeCorpus) -> None:
    document = make_corpus(sentences=4)
    for language in LANGUAGES:
        t = load_catalog(language)
        view = corpus_view(document, t)
        assert t.text("corpus.notices.small", n=4) in view.notices
        assert t.text("corpus.means.none") in view.mean_notes
        assert view.follows == ()
        assert not any(entry.color for entry in view.legend)
        page = render_corpus(document, ".html", t).decode()
        assert t.text("corpus.follows.unknown") in page
        assert not re.search(r"\bnan\b", page, re.IGNORECASE)
        assert t.text("corpus.roles.evidence_few", n=4) in text_of(parsed(page))


@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (1, 40), (3, 2)])
def test_any_number_of_heads_renders(make_corpus: MakeCorpus, layers: int, heads: int) -> None:
    document = make_corpus("a", "b", layers=layers, heads=heads)
    page = render_corpus(document, ".html", load_catalog("zh")).decode()
    assert text_of(parsed(page)).count(f"L{layers}·H{heads}") >= 2  # in both tables
    assert corpus_from_twin(json.loads(to_json(document))).whole.quadrants.index.shape == (layers, heads)


def test_short_sentences_make_no_sinks(make_corpus: MakeCorpus) -> None:
    """With five tokens an even head gives each 20 percent, so that more than 30 says nothing."""
    document = make_corpus(words=(2,), sentences=12)
    assert "sink" not in {finding.role.name for finding in role_findings(document.whole)}
    t = load_catalog("en")
    assert t.text("corpus.notices.short", uniform=0.2) in corpus_view(document, t).notices


def test_the_files_are_compared_where_there_are_several(one: CorpusDocument, three: CorpusDocument) -> None:
    t = load_catalog("en")
    assert corpus_view(one, t).files is None
    assert "files" not in corpus_view(one, t).parts
    files = corpus_view(three, t).files
    assert files is not None
    assert len(files.roles) == 3
    correlations, roles, side_by_side, differences = files.tables
    assert correlations.columns[1:] == ("zh.txt / ru.txt", "zh.txt / en.txt", "ru.txt / en.txt")
    previous = next(row for row in roles.rows if row.name == t.text("corpus.roles.previous.name"))
    assert previous.cells == ("1", "1", "1", "1", "L1·H1")
    assert side_by_side.rows[0].cells[0] == "L1·H1"
    assert all(len(row.cells) == 4 for row in differences.rows)


def test_lengths_show_the_confound(three: CorpusDocument) -> None:
    table = corpus_view(three, load_catalog("en")).lengths
    assert table.columns[3:] == ("1–8", "9–16", "17–32")
    assert table.rows[0].cells[2:] == ("54", "162", "54")
    own = next(row for row in table.rows if row.name.startswith("Self"))
    assert float(own.cells[2]) > float(own.cells[4])  # an even head gives 1/T to itself


@pytest.mark.parametrize("kind", ["one", "three"])
def test_a_saved_report_looks_the_same(request: pytest.FixtureRequest, kind: str) -> None:
    document = request.getfixturevalue(kind)
    saved = to_json(document)
    again = corpus_from_twin(json.loads(saved))
    assert to_json(again) == saved
    for language in LANGUAGES:
        t = load_catalog(language)
        assert render_corpus(again, ".html", t) == render_corpus(document, ".html", t)


def test_the_twin_holds_the_numbers(one: CorpusDocument) -> None:
    twin = json.loads(to_json(one), parse_constant=lambda name: pytest.fail(name))
    assert (twin["format"], twin["kind"]) == (1, "corpus")
    assert twin["whole"]["sentences"] == 60
    finding = finding_of(one, "previous")
    score = {
        name: twin["whole"]["scopes"]["all"]["previous_share"][name][0][0] for name in ("n", "mean", "low", "high")
    }
    assert score == {"n": 60, "mean": finding.value, "low": finding.low, "high": finding.high}
    assert twin["whole"]["quadrants"]["follows"][0][0] == "position"
    assert len(twin["distances"]["content"]["pairs"]) == 15


BREAKS: list[Callable[[Any], None]] = [
    lambda twin: twin.update(files=[]),
    lambda twin: twin["model"].update(layers=3),
    lambda twin: twin["whole"].update(sentences=-1),
    lambda twin: twin["whole"]["scopes"]["all"].pop("sink"),
    lambda twin: twin["whole"]["scopes"]["all"]["sink"].update(mean=[[0.5]]),
    lambda twin: twin["whole"]["scopes"]["all"]["sink"].update(mean=[["x"] * 3] * 2),
    lambda twin: twin["whole"]["quadrants"].update(follows=[["nothing"] * 3] * 2),
    lambda twin: twin["whole"]["quadrants"].update(measure="magic"),
    lambda twin: twin["settings"].update(long="away"),
    lambda twin: twin["settings"].update(seed=-1),
    lambda twin: twin["maps"][0].update(tokens=10**6),
    lambda twin: twin["profiles"].update(offsets=[]),
    lambda twin: twin["distances"]["all"]["pairs"].append(0),
    lambda twin: twin["examples"][0].update(layer=2),
    lambda twin: twin["examples"][0].update(file=1),
    lambda twin: twin["examples"][0].update(scope="content", statistic="cls_share"),
    lambda twin: twin["examples"][0]["tokens"][0].update(end=10**6),
    lambda twin: twin["examples"][0].update(text="\ud800"),
    lambda twin: twin.pop("details"),
    lambda twin: twin.update(groups=[twin["whole"]]),
]


@pytest.mark.parametrize("change", BREAKS)
def test_a_report_that_does_not_hold_together_is_refused(one: CorpusDocument, change: Callable[[Any], None]) -> None:
    twin = json.loads(to_json(one))
    change(twin)
    with pytest.raises(InputError) as refusal:
        corpus_from_twin(twin)
    assert refusal.value.key == "report_broken"


def test_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"format": 1, "kind": "novel"}')
    with pytest.raises(InputError) as refusal:
        read_report(path)
    assert refusal.value.key == "report_unknown_format"


def test_render_takes_a_saved_corpus(cli: Callable[..., Any], three: CorpusDocument, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(to_json(three), encoding="utf-8")
    t = load_catalog("ru")
    run = cli("render", "report.json", "-l", "ru")
    assert run.exit_code == 0
    assert (tmp_path / "attnx-corpus.html").read_bytes() == render_corpus(three, ".html", t)
    assert all(line in run.stdout for line in corpus_highlights(three, t))


@with_language
def test_the_page_is_sound(pages: Mapping[str, str], three: CorpusDocument, language: str) -> None:
    root = parsed(pages[language])
    text = text_of(root)
    t = load_catalog(language)
    view = corpus_view(three, t)
    assert view.heading in text
    assert all(role.statement in text and role.rule in text for role in view.roles)
    assert not re.search(r"\bnan\b", text, re.IGNORECASE)
    assert all(image.get("alt") for image in root.iter("img"))
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert {str(link.get("href"))[1:] for link in root.iter("a")} <= set(ids)
    for element in root.iter():
        assert all(element.get(name, "data:").startswith(("data:", "#")) for name in ("src", "href"))


def test_what_a_user_gave_is_text(make_corpus: MakeCorpus) -> None:
    hostile = '<script>alert(1)</script>" style="display:none {{ 7*7 }}'
    document = make_corpus(f"{hostile[:30]}.txt", text=hostile)
    root = parsed(render_corpus(document, ".html", load_catalog("en")).decode())
    assert not list(root.iter("script"))
    assert hostile in text_of(root)


@with_language
def test_the_pdf_is_tagged_and_holds_the_twin(three: CorpusDocument, language: str) -> None:
    t = load_catalog(language)
    with pikepdf.open(BytesIO(render_corpus(three, ".pdf", t))) as pdf:
        assert pdf.Root.MarkInfo.Marked
        assert str(pdf.docinfo["/Title"]) == t.text("corpus.title", n=270)
        assert pdf.attachments["report.json"].get_file().read_bytes() == to_json(three).encode()
        with pdf.open_outline() as outline:
            titles = {item.title for item in outline.root[0].children}
    assert {entry.title for entry in corpus_view(three, t).contents} <= titles


@pytest.mark.slow
def test_144_heads_take_less_than_a_megabyte(make_corpus: MakeCorpus) -> None:
    document = make_corpus("zh.txt", "ru.txt", "en.txt", layers=12, heads=12, words=(12, 20))
    t = load_catalog("zh")
    assert len(render_corpus(document, ".html", t)) < 1_000_000
    assert len(render_corpus(document, ".pdf", t)) < 1_000_000


def test_every_head_that_passes_has_the_role(one: CorpusDocument) -> None:
    """A head just at the threshold passes; one of undefined value does not."""
    role = next(role for role in ROLES if role.name == "previous")
    means = one.whole.scopes["all"]
    place = means.names.index(role.statistic)
    changed = means.mean.copy()
    changed[..., place] = [[0.5, 0.499999, np.nan], [1, 0, 0.6]]
    group = replace(one.whole, scopes={**one.whole.scopes, "all": replace(means, mean=changed)})
    assert holders(group, role).tolist() == [[True, False, False], [True, False, True]]
