"""The runs of a sweep on a Dask cluster: one on this machine's cores, or any by its address.

Nothing but specs and complaints goes over the network: a worker writes a run's results to the sweep's folder.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from weft import _weft
from weft.errors import MissingError, OutputError, UsageError
from weft.grid.plan import build
from weft.grid.store import is_complete, place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from distributed import Client, Future

    from weft.grid.plan import Planned

AHEAD = 1000
"""Runs that a scheduler knows of at a time."""

PATIENCE_S = 10
"""For a scheduler to answer."""


@dataclass(frozen=True)
class Failure:
    """A run that did not end well."""

    run: Planned
    line: str
    code: int
    """The exit code of a command that fails so."""


@dataclass(frozen=True)
class Complaint:
    """What a worker says of a run without results."""

    line: str
    code: int
    missing: bool = False
    """The machine lacks something, so that other runs would fail as well."""
    output: bool = False
    """Likewise: results cannot be written."""


def run_all(
    runs: Sequence[Planned],
    folder: Path,
    *,
    address: str | None,
    workers: int | None,
    force: bool,
    on_done: Callable[[Planned, Failure | None], None],
) -> None:
    """Runs what has no results yet.

    Args:
        runs: With keys of their own.
        folder: The sweep's, which workers must see under the same path.
        address: Of a scheduler; none: a cluster on this machine, for as long as this takes.
        workers: Of that cluster: processes, of one thread each.
        force: Run what needs more memory than a machine has free.
        on_done: Told of each run that ends, in any order.

    Raises:
        MissingError: No scheduler answers, it has gone, or a worker is not fit.
        OutputError: Results cannot be written.
        UsageError: `address` is none.
    """
    from distributed import as_completed

    folder = folder.absolute()
    with _connected(address, min(workers or _cores(), len(runs)), folder) as client:
        planned: dict[object, Planned] = {}

        def submit(run: Planned) -> Future[Complaint | None]:
            place = str(place_of(folder, run.key))
            future: Future[Complaint | None] = client.submit(perform, run.spec, place, build(), force=force, pure=False)
            planned[future.key] = run
            return future

        waiting = iter(runs)
        under_way = as_completed([submit(run) for run in islice(waiting, AHEAD)], loop=client.loop)
        for future in under_way:
            run = planned.pop(future.key)
            on_done(run, _judge(future, run, folder))
            for following in islice(waiting, 1):
                under_way.add(submit(following))


def perform(spec: str, place: str, wanted: str, *, force: bool) -> Complaint | None:
    """One run, as a worker does it: its results are at `place` afterwards, or there is a complaint."""
    from weft.guard import describe

    _record_panics()
    folder = Path(place)
    try:
        if build() != wanted:
            raise MissingError(f"a worker has weft {build()}; allowed: {wanted}, as here")  # noqa: TRY301
        if not is_complete(folder):
            shutil.rmtree(folder, ignore_errors=True)
            experiment = _weft.Experiment.parse(spec, [], None, force)
            experiment.run(1, False, None, folder)  # noqa: FBT003
    except BaseException as error:  # noqa: BLE001 - a panic is no Exception, and must not end the worker
        if is_complete(folder):
            return None  # another was quicker: one that was taken for dead
        line, code = describe(error)
        return Complaint(line, code, isinstance(error, MissingError), isinstance(error, OutputError))
    return None


def _judge(future: Future[Complaint | None], run: Planned, folder: Path) -> Failure | None:
    from distributed import KilledWorker

    from weft.guard import MISSING

    match future.status:
        case "finished":
            complaint = future.result()
        case "error" if isinstance(future.exception(), KilledWorker):
            complaint = Complaint("the worker was killed each time it was tried: is there enough memory?", MISSING)
        case "error":
            error = future.exception()
            raise MissingError(f"a worker cannot run weft: {type(error).__name__}: {error}")
        case status:
            raise MissingError(f"the scheduler has gone ({status}); runs that have ended are kept")
    if complaint is None:
        if not is_complete(place_of(folder, run.key)):
            raise OutputError(f"{folder}: does not have what a worker wrote; allowed: a folder that all machines share")
        return None
    if complaint.output or complaint.missing:
        raise (OutputError if complaint.output else MissingError)(complaint.line)
    return Failure(run, complaint.line, complaint.code)


@contextmanager
def _connected(address: str | None, workers: int, folder: Path) -> Iterator[Client]:
    """A client of the cluster. Dask says nothing by itself; what goes wrong is said in one line."""
    import dask
    from distributed import Client, LocalCluster

    from weft.output import locked_folder

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if address is not None:
        if not re.fullmatch(r"(tcp|tls|ws|wss)://[^\s/]+:[0-9]{1,5}", address):
            raise UsageError(f"--cluster {address!r:.100}: no scheduler's address; allowed: such as tcp://host:8786")
        try:
            client = Client(address, timeout=PATIENCE_S, set_as_default=False)
        except (OSError, ValueError) as error:
            why = _terse(error)
            raise MissingError(f"--cluster {address}: no scheduler answers within {PATIENCE_S} s: {why}") from None
        with client:
            yield client
        return
    quiet = {"distributed.worker.profile.enabled": False, "distributed.admin.system-monitor.interval": "10s"}
    with (
        locked_folder(folder) as scratch,
        dask.config.set(quiet),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=0,  # the simulator knows what it needs, and refuses what the machine has not got
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
            local_directory=str(scratch),
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _terse(error: BaseException) -> str:
    """The first line of an error."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def _cores() -> int:
    """What this process may use."""
    return len(os.sched_getaffinity(0))


@cache
def _record_panics() -> None:
    _weft.record_panics()
