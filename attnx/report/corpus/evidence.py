"""The findings of a corpus in words, each with its evidence: interval, number of sentences, rule, a sentence."""

from collections.abc import Iterator

import numpy as np

from attnx.i18n import Catalog, html_lang
from attnx.naming import head_name
from attnx.report.corpus.document import CorpusDocument, Example
from attnx.report.corpus.findings import (
    HEADS_LISTED,
    RoleFinding,
    example_of,
    quadrant_findings,
    role_findings,
)
from attnx.report.corpus.roles import sink_class
from attnx.report.corpus.views import RoleView, SentenceExampleView
from attnx.report.corpus.wording import amount, file_name, listed
from attnx.report.figures import data_uri, heatmap_png
from attnx.report.fonts import display_label
from attnx.report.sentence import BYTE, frame_view
from attnx.report.typography import short_text
from attnx.report.views import HeadView
from attnx.report.wording import place, token_text
from attnx.statistics import REGISTRY

EXAMPLE_CHARACTERS = 160


def role_views(document: CorpusDocument, t: Catalog) -> Iterator[RoleView]:
    """Yield every role in words."""
    for finding in role_findings(document.whole):
        example = example_of(finding, document.examples) if finding.heads else None
        yield RoleView(
            role_statement(document, finding, t),
            tuple(_evidence(finding, document, t)),
            t.text(f"corpus.roles.{finding.role.name}.rule", threshold=_threshold(finding, t)),
            _example(example, finding, document, t) if example else None,
        )


def role_statement(document: CorpusDocument, finding: RoleFinding, t: Catalog) -> str:
    """Return the clearest head of a role in words, or which comes closest."""
    name, head = finding.role.name, (finding.layer, finding.head)
    values = {
        "head": head_name(*head),
        "value": amount(finding.value, REGISTRY[finding.role.statistic].unit, t),
        "threshold": _threshold(finding, t),
    }
    if not finding.heads:
        return t.text(f"corpus.roles.{name}.none", **values)
    if name == "positional":
        values["offset"] = place(_offset(document, head), t)
    if name == "sink":
        values["kind"] = t.text(f"corpus.sinks.{sink_class(document.whole, *head)}")
    return t.text(f"corpus.roles.{name}.statement", **values)


def follows(document: CorpusDocument, t: Catalog) -> Iterator[str]:
    """Yield how many heads follow position, content and so on, and which."""
    total = document.whole.quadrants.index.size
    for finding in quadrant_findings(document.whole):
        if finding.heads:
            names = listed(finding.heads, HEADS_LISTED, t)
            yield t.text(f"corpus.follows.{finding.name}.statement", n=len(finding.heads), heads=total, names=names)


def _threshold(finding: RoleFinding, t: Catalog) -> str:
    threshold = finding.role.threshold
    return t.percent(threshold) if REGISTRY[finding.role.statistic].unit == "share" else t.decimal(threshold, 1)


def _offset(document: CorpusDocument, head: tuple[int, int]) -> int:
    """Return the relative position other than 0 that a head gives most weight."""
    profiles = document.profiles
    weights = np.where(profiles.offsets == 0, -1, np.nan_to_num(profiles.values[head]))
    return int(profiles.offsets[int(weights.argmax())])


def _evidence(finding: RoleFinding, document: CorpusDocument, t: Catalog) -> Iterator[str]:
    unit, total = REGISTRY[finding.role.statistic].unit, document.whole.quadrants.index.size
    if np.isnan(finding.low):
        yield t.text("corpus.roles.evidence_few", n=finding.n)
    else:
        low, high = amount(finding.low, unit, t), amount(finding.high, unit, t)
        yield t.text("corpus.roles.evidence", n=finding.n, low=low, high=high)
    if not finding.heads:
        return
    names = listed(finding.heads, HEADS_LISTED, t)
    yield t.text("corpus.roles.reach", n=len(finding.heads), heads=total, names=names)
    if not np.isnan(finding.low):
        yield t.text("corpus.roles.certain", n=finding.certain)
    if finding.role.name == "sink":
        kinds = [
            t.text("corpus.sinks.count", kind=t.text(f"corpus.sinks.{kind}"), count=count)
            for kind, count in finding.sinks.items()
        ]
        yield t.text("corpus.sinks.kinds", kinds=t.text("corpus.list_separator").join(kinds))


def _example(example: Example, finding: RoleFinding, document: CorpusDocument, t: Catalog) -> SentenceExampleView:
    unit = REGISTRY[example.statistic].unit
    top = max(int(example.weights.max()), 1) / BYTE
    query, key = np.unravel_index(int(example.weights.argmax()), example.weights.shape)
    name = head_name(example.layer, example.head)
    return SentenceExampleView(
        HeadView(
            caption=t.text("corpus.example.caption", head=name, top=top),
            image=data_uri(heatmap_png(example.weights, top)),
            alt=t.text(
                "heads.alt",
                head=name,
                share=example.weights[query, key] / BYTE,
                query=token_text(example.tokens[int(query)].text),
                target=token_text(example.tokens[int(key)].text),
            ),
            anchor="",
        ),
        frame_view(example.tokens),
        display_label(short_text(example.text, EXAMPLE_CHARACTERS)),
        html_lang(example.language),
        (
            t.text("corpus.example.from", file=file_name(document, example.file), line=example.line),
            t.text(
                "corpus.example.value",
                value=amount(example.value, unit, t),
                mean=amount(finding.value, unit, t),
                n=len(example.tokens),
            ),
        ),
    )
