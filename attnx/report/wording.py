"""Findings and lengths in words: their numbers put into the messages of the catalog."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from attnx.findings import Finding
from attnx.i18n import Catalog
from attnx.naming import head_name, layer_name
from attnx.report.fonts import display_label
from attnx.report.typography import cut_middle

if TYPE_CHECKING:
    from attnx.report.document import SentenceReport

LABEL_CHARACTERS = 60


def statement(finding: Finding, t: Catalog) -> str:
    """Return the finding as a sentence, in the language of the catalog."""
    details: dict[str, Any] = dict(finding.details)
    values = {name: token_text(value) if isinstance(value, str) else value for name, value in details.items()}
    values |= {"value": finding.value, "threshold": finding.threshold}
    if finding.layer is not None:
        values["layer"] = layer_name(finding.layer)
        if finding.head is not None:
            values["head"] = head_name(finding.layer, finding.head)
    if "partner_layer" in details:
        values["partner"] = head_name(details["partner_layer"], details["partner_head"])
    if "offset" in details:
        values["offset"] = place(details["offset"], t)
    return t.text(f"findings.{finding.key}", **values)


def rule(finding: Finding, t: Catalog) -> str:
    """Return the rule a finding follows from, with its threshold; empty for one without."""
    if finding.threshold is None:
        return ""
    return t.text(f"findings.rules.{finding.key.removesuffix('_none')}", threshold=finding.threshold, **finding.details)


def token_text(label: str) -> str:
    """Return a token's label as a report writes it; one unknown token may cover a long text without a space."""
    return cut_middle(display_label(label), LABEL_CHARACTERS)


def length_notices(sentence: "SentenceReport", t: Catalog) -> Iterator[str]:
    """Yield how a text was measured that is longer than the model takes."""
    if sentence.truncated_from is not None:
        yield t.text("notices.truncated", total=sentence.truncated_from, kept=len(sentence.tokens))
    if sentence.windows:
        yield t.text("notices.windows", **asdict(sentence.windows))


def place(offset: int, t: Catalog) -> str:
    """Name the token `offset` places on: a neighbor by its name, any other by its distance."""
    ahead = offset > 0
    if abs(offset) == 1:
        return t.text("findings.next" if ahead else "findings.previous")
    return t.text("findings.ahead" if ahead else "findings.back", n=abs(offset))
