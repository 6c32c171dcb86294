"""The end of a run: the tables, the reports, and the mark that all is there."""

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from attnx.batch.each import write_each
from attnx.batch.examples import find_examples
from attnx.batch.folder import OUTPUTS
from attnx.batch.outputs import join_errors, write_tables
from attnx.batch.records import Progress
from attnx.batch.run import Done, Run
from attnx.errors import AttnxError, InputError
from attnx.i18n import Catalog, load_catalog
from attnx.report.output import atomic_file

if TYPE_CHECKING:
    from attnx.batch.shards import Advance
    from attnx.encoders.encoder import Encoder
    from attnx.report.corpus.document import CorpusDocument
    from attnx.report.document import Provenance
    from attnx.statistics.accumulators import Corpus
    from attnx.statistics.accumulators.results import CorpusResult

SUFFIXES = (".json", ".html", ".pdf")


@dataclass(frozen=True)
class Ending:
    """What the reader hears at the end: the strongest findings in words, and why there is no PDF, if so."""

    highlights: tuple[str, ...]
    missing: AttnxError | None


def finish(run: Run, encoder: "Encoder", corpus: "Corpus", progress: Progress, advance: "Advance") -> Ending:
    """Write all outputs and mark the run as done; `advance` hears of the reports on single sentences.

    Raises InputError when nothing could be measured: then there are only the reasons.
    """
    from attnx.report.corpus.rendering import corpus_highlights
    from attnx.report.document import Provenance

    if not progress.total.measured:
        join_errors(run.folder, progress.shards)
        raise InputError("batch_nothing", path=run.folder.output / "errors.jsonl")
    result, provenance = corpus.result(), Provenance(**run.provenance)
    t = load_catalog(run.job.language or max(sorted(progress.languages), key=lambda name: progress.languages[name]))
    write_tables(run.folder, result, run.files, progress.shards)
    document = _document(run, encoder, progress, result, provenance)
    missing = _write_reports(run, document, t)
    if run.job.each:
        write_each(run, encoder, provenance, t, advance)
    _mark_done(run, progress)
    return Ending(corpus_highlights(document, t), missing)


def _mark_done(run: Run, progress: Progress) -> None:
    """Say that the run is at its end, and remove what it needed to come there."""
    outputs = tuple(name for name in OUTPUTS if (run.folder.output / name).exists())
    done = Done(progress.total.measured, progress.total.refused, outputs)
    with atomic_file(run.folder.done, run.folder.unfinished) as file:
        file.write(json.dumps(asdict(done)).encode())
    run.folder.tidy()


def _document(
    run: Run, encoder: "Encoder", progress: Progress, result: "CorpusResult", provenance: "Provenance"
) -> "CorpusDocument":
    from attnx.report.corpus.document import CorpusFile, CorpusSettings, corpus_document

    files = tuple(
        CorpusFile(name, count.measured, count.refused, count.shortest, count.longest, count.cut)
        for name, count in zip(run.files, progress.counts, strict=True)
    )
    reading = run.job.reading
    settings = CorpusSettings(run.job.long, reading.limit, reading.sample, reading.seed)
    examples = find_examples(run, encoder, result)
    return corpus_document(encoder.info, provenance, files, settings, result, examples)


def _write_reports(run: Run, document: "CorpusDocument", t: Catalog) -> AttnxError | None:
    """Write the reports; return why there is no PDF, which takes a library of the system, or None."""
    from attnx.report.corpus.rendering import render_corpus

    for suffix in SUFFIXES:
        try:
            content = render_corpus(document, suffix, t)
        except AttnxError as error:
            if error.key != "pdf_unavailable":
                raise
            return error
        with atomic_file(run.folder.output / f"report{suffix}", run.folder.unfinished) as file:
            file.write(content)
    return None
