import base64
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnx.errors import InputError
from attnx.i18n import load_catalog
from attnx.report.build import report_view
from attnx.report.document import Document, quantize, to_json
from attnx.report.html import render_html
from attnx.report.reading import from_json, read_document

Twin = dict[str, Any]
Change = Callable[[Twin], object]

with_language = pytest.mark.parametrize("language", ["zh", "ru", "en"])


def twin_of(document: Document) -> Twin:
    twin: Twin = json.loads(to_json(document))
    return twin


@with_language
def test_reading_and_writing_again_gives_the_same_bytes(documents: Mapping[str, Document], language: str) -> None:
    text = to_json(documents[language])
    assert to_json(from_json(text)) == text


@with_language
def test_reading_gives_equal_records(documents: Mapping[str, Document], language: str) -> None:
    document = documents[language]
    (sentence,), again = document.sentences, from_json(to_json(document))
    (other,) = again.sentences
    assert (again.model, again.provenance) == (document.model, document.provenance)
    assert (other.text, other.language, other.truncated_from) == (sentence.text, language, None)
    assert other.tokens == sentence.tokens
    np.testing.assert_array_equal(other.maps, sentence.maps)
    assert [finding.key for finding in other.findings] == [finding.key for finding in sentence.findings]
    for scope, scores in sentence.scopes.items():
        assert other.scopes[scope].tokens == scores.tokens
        assert list(other.scopes[scope].values) == list(scores.values)
        for name, values in scores.values.items():
            np.testing.assert_allclose(other.scopes[scope].values[name], values, atol=5.1e-7, equal_nan=True)
        for name, details in scores.details.items():
            np.testing.assert_allclose(other.scopes[scope].details[name], details, atol=5.1e-7, equal_nan=True)
            assert other.scopes[scope].details[name].dtype == details.dtype


def test_twin_has_the_documented_shape(documents: Mapping[str, Document]) -> None:
    twin = twin_of(documents["zh"])
    assert list(twin) == ["format", "kind", "model", "provenance", "sentences"]
    assert (twin["format"], twin["kind"]) == (1, "sentences")
    assert twin["provenance"]["created"] == "2023-11-14T22:13:20+00:00"  # 1,700,000,000 seconds after 1970
    (sentence,) = twin["sentences"]
    assert sentence["maps"]["shape"] == [12, 12, 16, 16]
    assert sentence["tokens"][0] == {
        "text": "<s>",
        "start": 0,
        "end": 0,
        "special": True,
        "word": None,
        "unknown": False,
    }
    weights = np.frombuffer(base64.b64decode(sentence["maps"]["data"]), np.uint8).reshape(12, 12, 16, 16)
    self_share = np.diagonal(weights, axis1=2, axis2=3).mean(2) / 255
    np.testing.assert_allclose(self_share, sentence["scopes"]["all"]["self_share"], atol=1 / 255)


def test_undefined_is_null(documents: Mapping[str, Document]) -> None:
    text = to_json(documents["zh"])
    content = json.loads(text)["sentences"][0]["scopes"]["content"]
    assert "NaN" not in text
    assert "special_share" not in content or content["special_share"][0][0] is None


def test_undefined_comes_back_as_nan(small: Document) -> None:
    twin = twin_of(small)
    twin["sentences"][0]["scopes"]["all"]["sink"][1][0] = None
    values = from_json(json.dumps(twin)).sentences[0].scopes["all"].values["sink"]
    assert np.isnan(values).tolist() == [[False, False], [True, False]]


def test_without_maps_it_cannot_be_rendered(small: Document) -> None:
    with pytest.raises(InputError) as caught:
        from_json(to_json(small, with_maps=False))
    assert caught.value.key == "report_without_maps"


def test_quantize_rounds_to_the_nearest_of_255() -> None:
    assert quantize(np.float32([0, 0.001, 0.002, 0.5, 1])).tolist() == [0, 0, 1, 128, 255]


def test_byte_order_mark_is_accepted(small: Document, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(to_json(small), encoding="utf-8-sig")
    assert to_json(read_document(path)) == to_json(small)


@pytest.mark.parametrize(("content", "key"), [(None, "input_unreadable"), (b"\xff\xfe{", "input_not_utf8")])
def test_unreadable_file(tmp_path: Path, content: bytes | None, key: str) -> None:
    path = tmp_path / "x.json"
    if content:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_document(path)
    assert caught.value.key == key


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"format": NaN}',
        '{"format": -Infinity}',
        "9" * 5000,
        "\x00",
    ],
    ids=["empty", "brace", "deep list", "deep object", "nan", "infinity", "many digits", "null byte"],
)
def test_not_json(text: str) -> None:
    assert refusal(text).key == "report_not_json"


@pytest.mark.parametrize("text", ["null", "[]", "1", '"x"', "{}", '{"format":2,"kind":"sentences"}', '{"format":1}'])
def test_not_a_report(text: str) -> None:
    assert refusal(text).key == "report_unknown_format"


def put(*path: str | int, value: object) -> Change:
    """Return a change of a twin: put `value` at the path."""

    def change(twin: Any) -> None:
        for step in path[:-1]:
            twin = twin[step]
        twin[path[-1]] = value

    return change


def take(*path: str | int) -> Change:
    """Return a change of a twin: leave out what is at the path."""

    def change(twin: Any) -> None:
        for step in path[:-1]:
            twin = twin[step]
        del twin[path[-1]]

    return change


FIRST = ("sentences", 0)
ALL = (*FIRST, "scopes", "all")
FINDING = (*FIRST, "findings", 0)
BROKEN = [
    put("model", value=None),
    put("model", value=[]),
    put("model", "name", value=7),
    put("model", "name", value="\ud800"),
    put("model", "source", value="elsewhere"),
    put("model", "source", value=["local"]),
    put("model", "revision", value=1),
    put("model", "layers", value=True),
    put("model", "layers", value="2"),
    put("model", "layers", value=2.0),
    put("model", "layers", value=0),
    put("model", "layers", value=10**30),
    put("model", "heads", value=-2),
    put("model", "heads", value=3),
    put("model", "extra\n\x1b[31m", value=1),
    take("model", "type"),
    put("provenance", value="x"),
    put("provenance", "torch", value=None),
    put("provenance", "command", value=["attnx"]),
    put("provenance", "created", value="yesterday"),
    put("provenance", "created", value=""),
    take("provenance", "created"),
    put("sentences", value=[]),
    put("sentences", value={}),
    put("sentences", value="x"),
    put("sentences", value=[None]),
    put(*FIRST, "text", value=None),
    put(*FIRST, "text", value=""),
    put(*FIRST, "text", value="\udfff" * 14),
    put(*FIRST, "language", value="xx"),
    put(*FIRST, "language", value="../zh"),
    put(*FIRST, "language", value=None),
    put(*FIRST, "truncated_from", value=1),
    put(*FIRST, "truncated_from", value=True),
    put(*FIRST, "truncated_from", value="600"),
    put(*FIRST, "tokens", value=[]),
    put(*FIRST, "tokens", 0, value="<s>"),
    put(*FIRST, "tokens", 0, "text", value=1),
    put(*FIRST, "tokens", 0, "special", value=1),
    put(*FIRST, "tokens", 0, "word", value="0"),
    put(*FIRST, "tokens", 0, "start", value=-1),
    put(*FIRST, "tokens", 1, "end", value=1000),
    put(*FIRST, "tokens", 1, "start", value=True),
    take(*FIRST, "tokens", 1),
    take(*FIRST, "maps"),
    put(*FIRST, "maps", value=7),
    put(*FIRST, "maps", "shape", value=[2, 2, 10**9, 10**9]),
    put(*FIRST, "maps", "shape", value="2222"),
    put(*FIRST, "maps", "dtype", value="object"),
    put(*FIRST, "maps", "data", value="AAAA"),
    put(*FIRST, "maps", "data", value="*" * 100),
    put(*FIRST, "maps", "data", value="ж" * 100),
    put(*FIRST, "maps", "data", value=7),
    put(*FIRST, "scopes", value=[]),
    take(*FIRST, "scopes", "content"),
    take(*ALL, "sink"),
    put(*ALL, "sink", value=None),
    put(*ALL, "sink", value=0.5),
    put(*ALL, "sink", value=[[0.1, 0.2]]),
    put(*ALL, "sink", value=[[0.1], [0.2, 0.3]]),
    put(*ALL, "sink", value=[["0.1", "0.2"], ["0.3", "0.4"]]),
    put(*ALL, "sink", value=[[True, False], [True, False]]),
    put(*ALL, "sink", 0, 0, value={}),
    put(*ALL, "sink", 0, 0, value=10**400),
    put(*ALL, "sink", 0, 0, value=1e26),
    put(*ALL, "sink", 0, 0, value=[]),
    put(*ALL, "tokens", value="16"),
    put(*ALL, "tokens", value=-1),
    put(*ALL, "tokens", value=None),
    take(*ALL, "details"),
    put(*ALL, "details", value=[]),
    put(*ALL, "details", "sink_position", value=[[99, 0], [0, 0]]),
    put(*ALL, "details", "sink_position", value=[[-2, 0], [0, 0]]),
    put(*ALL, "details", "nearest_head_index", value=[[0, 1], [2, 4]]),
    put(*ALL, "details", "positional_offset", value=[[0.5, 0], [0, 0]]),
    put(*ALL, "details", "within_layer_spread", value=[0.1]),
    put(*ALL, "details", "within_layer_spread", value="x"),
    put(*ALL, "skipped_rows", value=[0, 0]),
    put(*ALL, "skipped_rows", value=[[0, 0], [0, None]]),
    put(*ALL, "skipped_rows", value=[[0, 0], [0, -1]]),
    put(*FIRST, "findings", value=None),
    put(*FIRST, "findings", value=[7]),
    put(*FINDING, "key", value="title"),
    put(*FINDING, "key", value="broadest_head_none"),
    put(*FINDING, "key", value=["next_heads"]),
    put(*FINDING, "key", value="__class__"),
    put(*FINDING, "layer", value=-1),
    put(*FINDING, "layer", value=2),
    put(*FINDING, "layer", value=True),
    put(*FINDING, "head", value=2),
    put(*FINDING, "head", value="0"),
    put(*FINDING, "value", value="0.5"),
    put(*FINDING, "value", value=None),
    put(*FINDING, "value", value="nan"),
    put(*FINDING, "threshold", value="0.5"),
    put(*FINDING, "heads", value=None),
    put(*FINDING, "heads", value=[144]),
    put(*FINDING, "partner_layer", value=-1),
    put(*FINDING, "partner_head", value=99),
    take(*FINDING, "value"),
    take(*FINDING, "key"),
    put("model", "notes", value=[{"key": "half_precision", "values": {"dtype": "x" * 21}}]),
    put("model", "notes", value=[{"key": "half_precision", "values": {}}]),
    put("model", "notes", value=[{"key": "no_picture", "values": {}}] * 21),
]


@pytest.mark.parametrize("change", BROKEN, ids=range(len(BROKEN)))
def test_broken_report_is_refused_in_one_line(small: Document, change: Change) -> None:
    twin = twin_of(small)
    change(twin)
    error = refusal(json.dumps(twin))
    assert error.key == "report_broken"
    assert error.format_message().isprintable()


def test_number_beyond_floats_is_refused(small: Document) -> None:
    text = to_json(small)
    value = json.loads(text)["sentences"][0]["scopes"]["all"]["sink"][0][0]
    assert refusal(text.replace(f"{value}", "1e999", 1)).key == "report_broken"


@pytest.mark.parametrize("name", ["n", "heads", "token", "common_token", "common_n", "partner_layer", "offset"])
def test_finding_needs_all_that_its_words_name(documents: Mapping[str, Document], name: str) -> None:
    twin = twin_of(documents["zh"])
    findings = twin["sentences"][0]["findings"]
    finding = next(finding for finding in findings if name in finding)
    del finding[name]
    assert refusal(json.dumps(twin)).key == "report_broken"


def leaf_paths(node: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the paths of everything in a twin, in a fixed order."""
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(p for name, child in children for p in leaf_paths(child, (*path, name)))]


DEEPEST = 6  # the single scores lie deeper, and would be nearly all there is to change
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=9)
    | st.just("<b>&\x00\x1b"),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3),
    max_leaves=5,
)


ALIKE = {str: st.text(max_size=20), int: st.integers(0, 20), float: st.floats(-1, 20), bool: st.booleans()}


@st.composite
def changes(draw: st.DrawFn, twin: Twin) -> Change:
    """Draw a change at one place: nothing there, anything, or another value of the same type."""
    path = draw(st.sampled_from([path for path in leaf_paths(twin) if 1 <= len(path) <= DEEPEST]))
    kind = draw(st.sampled_from(["nothing", "anything", "alike", "alike"]))
    if kind == "nothing":
        return take(*path)
    old: Any = twin
    for step in path:
        old = old[step]
    return put(*path, value=draw(ALIKE.get(type(old), ANYTHING) if kind == "alike" else ANYTHING))


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_changed_report_is_refused_or_renders(small: Document, data: st.DataObject) -> None:
    """Whatever one place of a report is changed to, it is refused in one line or renders to the end."""
    twin = twin_of(small)
    data.draw(changes(twin))(twin)
    try:
        document = from_json(json.dumps(twin))
    except InputError as error:
        assert error.format_message().isprintable()
        return
    assert to_json(from_json(to_json(document))) == to_json(document)
    t = load_catalog("ru")
    page = render_html(report_view(document, t), t)
    assert page.rstrip().endswith("</html>")
    assert "\x00" not in page


def refusal(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        from_json(text)
    return caught.value
