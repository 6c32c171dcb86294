"""The shards as a Ray dataset: read one after the other where the inputs are, measured wherever a worker is free."""

import os
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import ray
import torch
import transformers
from ray.data.block import BlockMetadata

from attnx.batch.job import Read
from attnx.batch.shards import Settings, measure_shard
from attnx.errors import InputError
from attnx.version import __version__

if TYPE_CHECKING:
    from attnx.encoders.records import ModelInfo, ModelRequest

SHARD, RESULT = "shard", "result"  # columns with one pickled object a row


def results(
    read: Read, here: Path, request: "ModelRequest", info: "ModelInfo", settings: Settings, workers: int
) -> ray.data.Dataset:
    """Return the dataset of the pickled results, in the order of the shards; nothing is done before it is iterated.

    The shards are read in the folder `here` on this machine, so the workers need no access to the inputs.
    """
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.target_max_block_size = 1  # byte: a block a shard, otherwise small ones go to one worker together
    on_this_machine = {f"node:{ray.util.get_node_ip_address()}": 0.001}
    shards = ray.data.read_datasource(Shards(read, here), num_cpus=0, resources=on_this_machine, override_num_blocks=1)
    measured: ray.data.Dataset = shards.map_batches(
        Measurer,
        fn_constructor_args=(request, info, settings, versions()),
        batch_format="pyarrow",
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=2),
        num_cpus=1,
        num_gpus=1 if request.device == "cuda" else None,
    )
    return measured


def versions() -> str:
    """Return what the numbers may depend on of what is installed where this runs."""
    return f"attnx {__version__}, torch {torch.__version__}, transformers {transformers.__version__}"


class Shards(ray.data.Datasource):
    """The shards that `read` gives in the folder `here`, as one task that hands them out as they are wanted."""

    def __init__(self, read: Read, here: Path) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._read, self._here = read, here

    def estimate_inmemory_data_size(self) -> None:
        """Return that it is not known."""

    def get_read_tasks(self, parallelism: int, *_: object, **__: object) -> list[ray.data.ReadTask]:
        """Return the one task."""
        read, here = self._read, self._here

        def blocks() -> Iterator[pa.Table]:
            os.chdir(here)
            for shard in read():
                yield pa.table({SHARD: [pickle.dumps(shard)]})

        return [ray.data.ReadTask(blocks, BlockMetadata(None, None, None, None))]


class Measurer:
    """Holds the model in a worker and measures a shard at a time.

    Raises InputError when the worker has other versions than the machine that asked, or another model of that name.
    """

    def __init__(self, request: "ModelRequest", info: "ModelInfo", settings: Settings, expected: str) -> None:
        from attnx.encoders.loading import load_encoder

        if (own := versions()) != expected:
            raise InputError("ray_other_versions", own=own, expected=expected)
        self._encoder, self._settings = load_encoder(request), settings
        if replace(self._encoder.info, name=info.name) != info:
            raise InputError("ray_other_model", name=request.name)

    def __call__(self, shards: pa.Table) -> pa.Table:
        """Return the result of the one shard."""
        [shard] = shards[SHARD].to_pylist()
        result = measure_shard(self._encoder, pickle.loads(shard), self._settings, lambda _: None)
        return pa.table({RESULT: pa.array([pickle.dumps(result)], pa.large_binary())})
