"""Execution of a run of a sweep in a worker: a process of the local pool, or one of a Dask cluster.

A process of the local pool reads jobs from standard input and writes one answer per job to standard
output, as lines of JSON. It ends when its standard input ends, also in the middle of a run.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import sys
import threading
import traceback
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from weft import _weft
from weft.congestion_control import Own, imported, own_algorithms
from weft.errors import OutputError, RequirementError, WeftError
from weft.sweeps.plan import Planned, build
from weft.sweeps.store import is_complete

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Failure:
    """A run without results."""

    run: Planned
    line: str
    """The reason."""
    code: int
    """The exit code of a command that fails for this reason."""


@dataclass(frozen=True)
class WorkerError:
    """The reason for which a worker has no results of a run."""

    line: str
    code: int
    missing: bool = False
    """Whether the machine lacks a requirement, so that other runs would fail as well."""
    output: bool = False
    """Whether results cannot be written, so that other runs would fail as well."""


def run_on_worker(spec: str, results: str, wanted: str, *, force: bool, own: Sequence[Own] = ()) -> WorkerError | None:
    """Runs a spec. Its results are in the folder `results` afterwards, unless an error is returned.

    Args:
        spec: The resolved spec as JSON.
        results: The folder of the results.
        wanted: The build of Weft that must create the results.
        force: Run it even if it needs more memory than is free.
        own: Classes of congestion control that the spec names.
    """
    _record_panics()
    folder = Path(results)
    try:
        if build() != wanted:
            line = f"a worker has weft {build()}, this machine {wanted}; install one build on all machines"
            raise RequirementError(line)  # noqa: TRY301
        if not is_complete(folder):
            shutil.rmtree(folder, ignore_errors=True)
            experiment = _weft.Experiment.parse(spec, [], None, force, list(own))
            experiment.run(1, False, None, folder)  # noqa: FBT003
    except BaseException as error:  # noqa: BLE001 - a panic is not an Exception; it must not end the worker
        if is_complete(folder):
            return None  # a worker that the scheduler had given up was faster
        from weft.exit_codes import BAD_INPUT, describe

        if own and isinstance(error, Exception) and not isinstance(error, WeftError):
            at = traceback.extract_tb(error.__traceback__)[-1]
            return WorkerError(f"{at.filename}:{at.lineno}: {type(error).__name__}: {error}", BAD_INPUT)
        line, code = describe(error)
        return WorkerError(line, code, isinstance(error, RequirementError), isinstance(error, OutputError))
    return None


def failure_of(run: Planned, error: WorkerError | None) -> Failure | None:
    """Returns the failure of a run, or None if it has results.

    Raises:
        RequirementError: A machine lacks a requirement, so that other runs would fail as well.
        OutputError: Results cannot be written.
    """
    if error is None:
        return None
    if error.output or error.missing:
        raise (OutputError if error.output else RequirementError)(error.line)
    return Failure(run, error.line, error.code)


@cache
def _record_panics() -> None:
    _weft.record_panics()


def main() -> None:
    """Runs jobs until standard input ends."""
    # Ctrl-C and a hang-up reach all processes of a terminal. The command decides when its workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # Only answers go to standard output.
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    jobs: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, jobs), daemon=True).start()
    while True:
        job = json.loads(jobs.get())
        own = _imported(tuple(map(tuple, job["own"])), tuple(job["path"]))
        error = run_on_worker(job["spec"], job["results"], job["build"], force=job["force"], own=own)
        answers.write(json.dumps(None if error is None else asdict(error)).encode() + b"\n")


@cache
def _imported(classes: tuple[tuple[str, str], ...], path: tuple[str, ...]) -> list[Own]:
    """Imports classes of congestion control, with the module search path of the process that wants the runs."""
    sys.path += [folder for folder in path if folder not in sys.path]
    return own_algorithms(imported(*names) for names in classes)


def _read(stream: BinaryIO, jobs: queue.SimpleQueue[bytes]) -> None:
    for line in stream:
        jobs.put(line)
    os._exit(0)
