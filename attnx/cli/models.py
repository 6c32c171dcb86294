"""``attnx models``: what is on this machine, and what attnx can show of it."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from attnx.cli.options import help_text
from attnx.cli.tables import print_facts, print_table
from attnx.errors import printable
from attnx.i18n import Catalog, terminal_catalog

if TYPE_CHECKING:
    from attnx.encoders.available import AvailableModel

LANGUAGES_SHOWN = 4
MULTILINGUAL = "multilingual"
KINDS = {
    "encoder": "coverage.encoder",
    "encoder-decoder": "coverage.encoder_decoder",
    "text-tower": "coverage.text_tower",
    "multimodal": "coverage.multimodal",
    "decoder": "coverage.decoder",
}
CHANGES = {"heads": "coverage.heads", "positions": "coverage.positions"}
STATUSES = {"exact": "coverage.exact", "adapted": "coverage.adapted", "refused": "coverage.refused"}


@click.command(help=help_text("models"))
@click.argument("names", nargs=-1, metavar="[NAME|FOLDER]...")
@click.option("--types", is_flag=True, help=help_text("types"))
def models(names: tuple[str, ...], types: bool) -> None:
    """List the models on this machine, or those that are named; explain one that is named alone."""
    from attnx.encoders.available import available_models, named_models
    from attnx.encoders.cache import cache_folder

    t = terminal_catalog()
    if types:
        _print_types(t)
        return
    found = [model for name in names for model in named_models(name)] if names else list(available_models())
    if len(names) == 1 and len(found) == 1:
        print_facts(_explanation(found[0], t))
        return
    _print_list(found, t)
    if not names:
        click.echo(printable(t.text("models.folder", path=cache_folder())))


def _print_types(t: Catalog) -> None:
    from attnx.encoders.coverage import read_coverage

    headings = [t.text(key) for key in ("models.type", "coverage.kind", "models.shown")]
    headings += [t.text(key) for key in ("coverage.changes", "coverage.note")]
    rows = []
    for row in read_coverage():
        changes = ", ".join(t.text(CHANGES[what]) for what in row.changes.split())
        rows.append(
            (row.type, t.text(KINDS[row.kind]), t.text(STATUSES[row.status]), changes, _notes(row.note.split(), t))
        )
    print_table(headings, rows)


def _print_list(found: Iterable["AvailableModel"], t: Catalog) -> None:
    headings = [t.text(f"models.{key}") for key in ("name", "type", "heads", "size", "languages", "shown")]
    rows, problems = [], []
    for model in found:
        kind = t.text("models.causal", type=model.type) if model.causal else model.type
        shown = t.text("models.unshowable" if model.problem else "models.showable")
        rows.append((model.name, kind, _heads(model, t), _size(model, t), _codes(model, t), shown))
        if model.problem:
            problems.append(t.text("models.unusable", name=model.name, problem=model.problem))
    print_table(headings, rows, right=(2, 3))
    for line in problems:
        click.echo(printable(line))


def _explanation(model: "AvailableModel", t: Catalog) -> Iterator[tuple[str, str]]:
    """Yield what is known of a model, as labels and texts."""
    yield t.text("models.name"), model.name
    yield t.text("models.path"), "" if model.name == str(model.path) else str(model.path)
    yield t.text("models.revision"), model.revision or ""
    yield t.text("models.type"), model.type
    yield t.text("models.architecture"), model.architecture
    yield t.text("models.heads"), _heads(model, t)
    yield t.text("models.max_tokens"), t.decimal(model.max_tokens, 0) if model.max_tokens else ""
    yield t.text("models.size"), _size(model, t)
    yield t.text("models.languages"), _language_names(model, t)
    yield t.text("models.shown"), t.text("models.unshowable" if model.problem else "models.showable")
    yield t.text("models.problem"), model.problem or ""
    yield t.text("coverage.note"), _notes(model.notes, t)


def _notes(keys: Iterable[str], t: Catalog) -> str:
    """Return what is special of a type, from the keys in the table of types."""
    return " · ".join(t.text(f"coverage.{key}") for key in keys)


def _heads(model: "AvailableModel", t: Catalog) -> str:
    if not (model.layers and model.heads):
        return ""
    return t.text("models.grid", layers=model.layers, heads=model.heads)


def _size(model: "AvailableModel", t: Catalog) -> str:
    megabytes = model.size / 1e6
    return t.text("models.megabytes", size=t.decimal(megabytes, 0 if megabytes >= 10 else 1)) if model.size else ""


def _codes(model: "AvailableModel", t: Catalog) -> str:
    """Return the codes of the first languages of a model."""
    codes = [t.text("models.multilingual") if code == MULTILINGUAL else code for code in model.languages]
    return ", ".join((*codes[:LANGUAGES_SHOWN], "…") if len(codes) > LANGUAGES_SHOWN else codes)


def _language_names(model: "AvailableModel", t: Catalog) -> str:
    """Return the languages of a model by name, an unknown one by its code."""
    from babel.lists import format_list

    codes = [code for code in model.languages if code != MULTILINGUAL]
    names = format_list([t.locale.languages.get(code, code) for code in codes], locale=t.locale)
    if MULTILINGUAL not in model.languages:
        return names
    return t.text("models.multilingual_with", names=names) if names else t.text("models.multilingual")
