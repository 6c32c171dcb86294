"""A run: a job that has begun in its folder, or is found there and is still of the same things."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from attnx.batch.fingerprint import check_same, fingerprint
from attnx.batch.folder import RunFolder
from attnx.batch.records import Job
from attnx.batch.shards import Settings
from attnx.batch.sources import Source, find_sources, read_sources
from attnx.corpus.reading import refusal
from attnx.corpus.records import BadRow, CorpusItem, CorpusRow, DetectedEncoding
from attnx.errors import InputError
from attnx.report.output import atomic_file

EACH_LIMIT = 1000  # reports on single sentences


@dataclass(frozen=True)
class Done:
    """What a run ended with: how many sentences it measured and how many records it refused, and its outputs."""

    measured: int
    refused: int
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """A job in its folder, with its inputs as files; `provenance` has what began it: programs, command, time."""

    job: Job
    folder: RunFolder
    sources: tuple[Source, ...]
    provenance: Mapping[str, str]

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(source.name for source in self.sources)

    @property
    def settings(self) -> Settings:
        """What measuring depends on."""
        return Settings(self.files, self.job.long, self.job.reading.seed)

    def done(self) -> Done | None:
        """Return what the run ended with, None if it has not ended.

        Raises InputError where an output is missing: what it was made from is not there any more.
        """
        if not self.folder.done.exists():
            return None
        done = Done(**_read(self.folder.done, Done.__dataclass_fields__, self.folder))
        for name in done.outputs:
            if not (self.folder.output / name).exists():
                raise InputError("batch_output_missing", path=self.folder.output, name=name)
        return done

    def items(self) -> Iterator[CorpusItem]:
        """Read the inputs from their beginning. Raises InputError at what cannot be used, if the job is strict."""
        for item in read_sources(self.sources, self.job.reading):
            if self.job.strict and isinstance(item, BadRow):
                raise refusal(item)
            yield item

    def detected(self) -> Iterator[DetectedEncoding]:
        """Yield the encoding of each input for which it was told from the bytes."""
        for source in self.sources:
            first = next(read_sources([source], replace(self.job.reading, sample=None)), None)
            if isinstance(first, DetectedEncoding):
                yield first

    def rows(self) -> Iterator[CorpusRow]:
        """Read the texts of the inputs from the first."""
        return (item for item in self.items() if isinstance(item, CorpusRow))


def begin(job: Job, folder: RunFolder, *, restart: bool) -> Run:
    """Return the run of a job in its folder: the one that has begun there, otherwise (and to restart) a new one.

    Raises InputError where the inputs or the model cannot be used, or are not those that the run began with.
    """
    kept = folder.run.exists() and not restart
    sources = find_sources(job.inputs, folder, kept=kept)
    now = fingerprint(job, sources)
    if kept:
        begun = _read(folder.run, ("fingerprint", "provenance"), folder)
        check_same(begun["fingerprint"], now, folder)
        return Run(job, folder, sources, begun["provenance"])
    run = Run(job, folder, sources, {})
    _check_rows(run)
    from attnx.analysis import provenance

    folder.clear()
    made = asdict(provenance(job.command))
    with atomic_file(folder.run, folder.unfinished) as file:
        file.write(json.dumps({"fingerprint": now, "provenance": made}, indent=1).encode())
    return Run(job, folder, sources, made)


def _check_rows(run: Run) -> None:
    """Refuse inputs that cannot be read or hold no text, and too many texts for a report on each."""
    reading = run.job.reading
    many = run.job.each and (reading.sample or EACH_LIMIT + 1) > EACH_LIMIT
    # A sample is complete only at the end of the inputs, so they are looked into without it.
    looked = replace(run, job=replace(run.job, reading=replace(reading, sample=None)))
    rows = sum(1 for _ in islice(looked.rows(), EACH_LIMIT + 1 if many else 1))
    if not rows:
        raise InputError("batch_no_rows", path=", ".join(run.files))
    if rows > EACH_LIMIT:
        raise InputError("batch_each_limit", limit=EACH_LIMIT)


def _read(path: Path, names: Iterable[str], folder: RunFolder) -> dict[str, Any]:
    """Return these values of a file of the run. Raises InputError where it is damaged."""
    try:
        values = json.loads(path.read_bytes())
        return {name: values[name] for name in names}
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError("batch_broken", path=folder.output) from error
