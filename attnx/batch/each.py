"""A report on every sentence, under a name that is safe on every disk, and a page that lists them."""

from typing import TYPE_CHECKING

from attnx.batch.run import Run
from attnx.corpus.records import CorpusRow
from attnx.errors import AttnxError
from attnx.i18n import Catalog, load_catalog
from attnx.report.output import atomic_file, slug
from attnx.texts.sentence import read_sentence

if TYPE_CHECKING:
    from attnx.batch.shards import Advance
    from attnx.encoders.encoder import Encoder
    from attnx.report.document import Provenance

NUMBER_DIGITS = 6


def report_name(row: CorpusRow) -> str:
    """Return the name of a row's report: its running number, which no other has, and what of its id is safe.

    At most 40 characters of the id, so that the name stays below the 255 bytes that a file's name may have.
    """
    return "-".join(filter(None, (f"{row.number:0{NUMBER_DIGITS}d}", slug(row.id)))) + ".html"


def write_each(run: Run, encoder: "Encoder", provenance: "Provenance", t: Catalog, advance: "Advance") -> None:
    """Write the reports that are not there yet, then the page that lists them in the language of the catalog.

    Each is in the language of the job, or of its own text. A sentence that cannot be measured has none.
    """
    from attnx.report.each import Listed, index_page

    run.folder.each.mkdir(exist_ok=True)
    listed = []
    for row in run.rows():
        path = run.folder.each / report_name(row)
        if not path.exists():
            page = _page(run, encoder, row, provenance)
            if page is None:
                continue
            with atomic_file(path, run.folder.unfinished) as file:
                file.write(page)
        listed.append(Listed(row.id, row.text, path.name))
        advance(1)
    with atomic_file(run.folder.index, run.folder.unfinished) as file:
        file.write(index_page(listed, t))


def _page(run: Run, encoder: "Encoder", row: CorpusRow, provenance: "Provenance") -> bytes | None:
    from attnx.analysis import measure
    from attnx.report.document import Document
    from attnx.report.each import report_page

    try:
        report = measure(read_sentence(row.text), encoder, long=run.job.long)
    except AttnxError:  # its reason is in errors.jsonl
        return None
    document = Document(encoder.info, provenance, (report,))
    return report_page(document, row.id, load_catalog(run.job.language or report.language))
