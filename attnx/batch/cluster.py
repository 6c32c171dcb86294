"""Measuring on a Ray cluster: one task reads the shards, actors that hold the model measure them.

Ray Data gives a shard that was lost with its worker to another one. The results come back in the order of the shards
and are merged here, so that the outputs are those of a run on one machine.
"""

import logging
import os
import pickle
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnx.batch.job import Engine, Read
from attnx.batch.shards import Advance, Settings, ShardResult
from attnx.errors import AttnxError, InputError

if TYPE_CHECKING:
    from attnx.encoders.encoder import Encoder
    from attnx.encoders.records import ModelRequest

PATIENCE = 10  # seconds


@dataclass(frozen=True)
class Cluster:
    """Where to measure: the address of a cluster, None for one that is started on this machine; how many workers."""

    address: str | None
    workers: int | None


@contextmanager
def connected(cluster: Cluster, request: "ModelRequest") -> Iterator[Engine]:
    """Give the engine that measures on a cluster, as long as the connection lasts.

    Raises InputError when Ray is not installed or the cluster does not answer.
    """
    # Otherwise Ray reports its use to its makers, and what it does to the user.
    os.environ.update({"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"} | os.environ)
    warnings.filterwarnings("ignore", module="ray")
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise InputError("ray_missing") from error
    from attnx.encoders.folder import first_line

    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    own: dict[str, Any] = {} if cluster.address else {"num_cpus": cluster.workers, "include_dashboard": False}
    try:
        _check_port(cluster.address or "local")
        ray.init(cluster.address or "local", log_to_driver=False, logging_level=logging.ERROR, **own)
    except Exception as error:  # of many kinds
        raise InputError("ray_unreachable", address=cluster.address or "local", reason=first_line(error)) from error
    try:
        yield _engine(request, cluster.workers or max(1, int(ray.cluster_resources().get("CPU", 1))))
    finally:
        ray.shutdown()


def _check_port(address: str) -> None:
    """Raise OSError if the address has a port and nobody listens there; Ray would try for ten minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if port.isdecimal():
        socket.create_connection((host, int(port)), PATIENCE).close()


def _engine(request: "ModelRequest", workers: int) -> Engine:
    """Return the engine that measures with so many workers of the cluster that is connected."""

    def measure(encoder: "Encoder", read: Read, settings: Settings, advance: Advance) -> Iterator[ShardResult]:
        import ray

        from attnx.batch.dataset import RESULT, results
        from attnx.encoders.folder import first_line

        # A worker may be in another folder.
        model = replace(request, name=str(Path(request.name).resolve())) if Path(request.name).is_dir() else request
        try:
            for row in results(read, Path.cwd(), model, encoder.info, settings, workers).iter_rows():
                result: ShardResult = pickle.loads(row[RESULT])
                advance(sum(count.seen for count in result.counts))
                yield result
        except ray.exceptions.RayError as error:
            cause = _first_cause(error)
            if isinstance(cause, AttnxError):
                raise cause from error
            raise AttnxError("ray_failed", reason=first_line(cause)) from error

    return measure


def _first_cause(error: Exception) -> Exception:
    """Return what happened in a worker, from which Ray's errors have come."""
    while isinstance(following := getattr(error, "cause", None) or error.__cause__, Exception):
        error = following
    return error
