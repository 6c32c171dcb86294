"""``attnx batch``: whole files, measured so that the work survives being stopped, and a report on the corpus."""

import time
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attnx.cli import INTERRUPTED
from attnx.cli.options import command_line, help_text, language_option, model_options
from attnx.cli.progress import notice, stage
from attnx.errors import InputError, printable
from attnx.i18n import terminal_catalog

if TYPE_CHECKING:
    from attnx.batch.finish import Ending
    from attnx.batch.job import Engine
    from attnx.batch.records import Progress
    from attnx.batch.run import Run
    from attnx.encoders.records import ModelRequest

FORMATS = ("txt", "csv", "tsv", "jsonl", "conllu", "parquet")
ENGINES = ("local", "ray")
REPORTS = ("report.html", "report.pdf")
LARGEST_SAMPLE = 1_000_000  # rows that are held


@click.command(help=help_text("batch"))
@click.argument("inputs", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help=help_text("batch_output"),
)
@model_options
@click.option(
    "--long", type=click.Choice(["cut", "error"]), default="cut", show_default=True, help=help_text("batch_long")
)
@language_option
@click.option("--input-format", type=click.Choice(FORMATS), help=help_text("input_format"))
@click.option("--column", metavar="NAME", help=help_text("column"))
@click.option("--id-column", metavar="NAME", help=help_text("id_column"))
@click.option("--delimiter", metavar="CHARACTER", help=help_text("delimiter"))
@click.option("--encoding", metavar="NAME", help=help_text("encoding"))
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help=help_text("limit"))
@click.option("--sample", type=click.IntRange(1, LARGEST_SAMPLE), metavar="N", help=help_text("sample"))
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help=help_text("batch_seed"))
@click.option("--strict", is_flag=True, help=help_text("strict"))
@click.option("--each", is_flag=True, help=help_text("each"))
@click.option("--restart", is_flag=True, help=help_text("restart"))
@click.option("--engine", type=click.Choice(ENGINES), default="local", show_default=True, help=help_text("engine"))
@click.option("--address", metavar="ADDRESS", help=help_text("address"))
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help=help_text("workers"))
def batch(
    inputs: tuple[str, ...],
    output: Path,
    request: "ModelRequest",
    long: str,
    language: str | None,
    strict: bool,
    each: bool,
    restart: bool,
    engine: str,
    address: str | None,
    workers: int | None,
    input_format: str | None,
    **reading: Any,  # noqa: ANN401 - strings and numbers
) -> None:
    """Measure the files, or go on where it was stopped, and write the corpus report."""
    from attnx.batch.folder import open_folder
    from attnx.batch.records import Job
    from attnx.batch.run import begin
    from attnx.corpus.records import CorpusOptions

    if engine != "ray" and (address or workers):
        raise InputError("ray_options")
    options = CorpusOptions(format=input_format, **reading)
    job = Job(inputs, output, request, options, long, language, each, strict, command_line())
    with open_folder(output, restart=restart) as folder:
        with stage("checking"):
            run = begin(job, folder, restart=restart)
        if done := run.done():
            notice(terminal_catalog().text("terminal.batch_finished", path=output))
            code = 1 if done.refused else 0
        else:
            try:
                code = _work(run, _engine(run, engine, address, workers))
            except KeyboardInterrupt:
                notice(terminal_catalog().text("terminal.batch_interrupted"))
                code = INTERRUPTED
    click.get_current_context().exit(code)


def _engine(run: "Run", name: str, address: str | None, workers: int | None) -> "AbstractContextManager[Engine]":
    """Return what gives the engine that was asked for."""
    if name == "local":
        from attnx.batch.job import measure_here

        return nullcontext(measure_here)
    from attnx.batch.cluster import Cluster, connected

    return connected(Cluster(address, workers), run.job.model)


def _work(run: "Run", connection: "AbstractContextManager[Engine]") -> int:
    """Measure what is left and write the outputs; return the exit code."""
    from attnx.batch.sources import expected_rows

    t = terminal_catalog()
    for found in run.detected():
        notice(t.text("terminal.batch_encoding", path=found.file, encoding=found.encoding))
    with stage("loading", name=run.job.model.name):
        from attnx.encoders.loading import load_encoder

        encoder = load_encoder(run.job.model)
    from attnx.batch.finish import finish
    from attnx.batch.job import load_progress, measure
    from attnx.cli.bar import progress_bar

    corpus, saved = load_progress(run, encoder.info)
    if saved.shards:
        notice(t.text("terminal.batch_resumed", n=saved.total.seen))
    started = time.monotonic()
    with connection as engine, progress_bar(expected_rows(run.sources, run.job.reading), saved.total.seen) as advance:
        progress = measure(run, encoder, corpus, saved, advance, engine)
    _tell(run, progress, progress.total.seen - saved.total.seen, time.monotonic() - started)
    with stage("writing", path=str(run.job.output)), progress_bar(progress.total.measured) as advance:
        ending = finish(run, encoder, corpus, progress, advance)
    return _close(run, ending, progress)


def _tell(run: "Run", progress: "Progress", now: int, seconds: float) -> None:
    """Say how many sentences there are, and how fast those of this session went."""
    t = terminal_catalog()
    notice(t.text("terminal.batch_measured", n=progress.total.measured))
    if now:
        notice(t.text("terminal.batch_speed", time=timedelta(seconds=round(seconds)), rate=now / max(seconds, 1e-3)))
    if progress.total.empty:
        notice(t.text("terminal.batch_empty", n=progress.total.empty))
    if progress.total.refused:
        path = run.job.output / "errors.jsonl"
        notice(t.text("terminal.batch_refused", n=progress.total.refused, path=path))


def _close(run: "Run", ending: "Ending", progress: "Progress") -> int:
    """Print where the reports are and the strongest findings; return the exit code."""
    t = terminal_catalog()
    for name in REPORTS:
        path = run.job.output / name
        if path.exists():
            click.echo(printable(t.text("terminal.written", path=path)))
    for line in ending.highlights:
        click.echo(f"• {line}")
    if ending.missing:
        notice(ending.missing.format_message())
    return 1 if progress.total.refused or ending.missing else 0
