"""Measuring: shard after shard, each saved and merged, from where the run was stopped."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from operator import add
from typing import TYPE_CHECKING

from attnx.batch.checkpoint import State, first_error, load_state, save_parts, save_state
from attnx.batch.records import Counts, Progress
from attnx.batch.run import Run
from attnx.batch.shards import (
    Advance,
    Settings,
    Shard,
    ShardResult,
    corpus_shape,
    cut_shards,
    empty_corpus,
    measure_shard,
    shard_size,
)
from attnx.corpus.reading import refusal
from attnx.errors import InputError

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder
    from attnx.encoders.records import ModelInfo
    from attnx.statistics.accumulators import Corpus

# Reads the shards from the first that is to be measured; it can be sent to another process.
Read = Callable[[], Iterator[Shard]]
# Measures shards and gives what they gave in their order.
Engine = Callable[["Encoder", Read, Settings, Advance], Iterator[ShardResult]]


def measure_here(encoder: "Encoder", read: Read, settings: Settings, advance: Advance) -> Iterator[ShardResult]:
    """Measure the shards one after the other in this process."""
    return (measure_shard(encoder, shard, settings, advance) for shard in read())


def measure(
    run: Run, encoder: "Encoder", corpus: "Corpus", progress: Progress, advance: Advance, engine: Engine = measure_here
) -> Progress:
    """Measure what is left of a run into its accumulators, and return the progress at the end.

    Everything is saved after every shard. The accumulators and the progress are those of `load_progress`; the result
    does not depend on where the run was stopped before. Raises InputError at what is refused, if the job is strict.
    """
    if run.job.strict and (error := first_error(run.folder, progress.shards)):
        raise error
    if progress.finished:
        return progress
    read = partial(_read, run, progress.items, shard_size(encoder.info.layers, encoder.info.heads))
    for result in engine(encoder, read, run.settings, advance):
        if run.job.strict and result.refused:
            raise refusal(result.refused[0])
        save_parts(run.folder, progress.shards, result)
        corpus.merge(_restored(result.state, encoder.info, run))
        progress = _after(progress, result)
        save_state(run.folder, progress, corpus.state())
        del result  # it is large, and the next one is being made
    progress = replace(progress, finished=True)
    save_state(run.folder, progress, corpus.state())
    return progress


def load_progress(run: Run, info: "ModelInfo") -> "tuple[Corpus, Progress]":
    """Return what a run has saved, or what it begins with. Raises InputError where it cannot be read."""
    if not run.folder.state.exists():
        return empty_corpus(info, run.settings), Progress((Counts(),) * len(run.files))
    progress, state = load_state(run.folder)
    return _restored(state, info, run), progress


def _read(run: Run, after: int, size: int) -> Iterator[Shard]:
    """Return the shards behind so many items."""
    return cut_shards(islice(run.items(), after, None), size)


def _restored(state: State, info: "ModelInfo", run: Run) -> "Corpus":
    from attnx.statistics.accumulators import Corpus, StateError

    try:
        return Corpus.from_state(corpus_shape(info, run.settings), len(run.files), state)
    except StateError as error:
        raise InputError("batch_broken", path=run.folder.output) from error


def _after(progress: Progress, result: ShardResult) -> Progress:
    """Return the progress with one more shard done."""
    return Progress(
        tuple(map(add, progress.counts, result.counts)),
        progress.shards + 1,
        progress.items + result.items,
        dict(Counter(progress.languages) + Counter(result.languages)),
    )
