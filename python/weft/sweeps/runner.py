"""Runners of a sweep's specs: processes of this machine, or a Dask cluster."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Protocol, Self

from weft import _weft
from weft.congestion_control import Own, import_path
from weft.errors import UsageError
from weft.sweeps.local import LocalRunner, cores
from weft.sweeps.store import results_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import TracebackType

    from weft.sweeps.executor import Executor
    from weft.sweeps.plan import Planned
    from weft.sweeps.worker import Failure


class Runner(Protocol):
    """A runner executes specs, and writes their results to the folder of a sweep."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def run_all(self, runs: Sequence[Planned], on_done: Callable[[Planned, Failure | None], None]) -> None:
        """Runs everything that has no results yet.

        Args:
            runs: The runs, with distinct keys.
            on_done: Called for each run that ends, in any order.
        """


class InProcessRunner:
    """Runs specs in this process, one after the other, so that classes of congestion control can keep values."""

    def __init__(self, folder: Path, own: Sequence[Own], *, force: bool) -> None:
        """Creates a runner.

        Args:
            folder: The folder of the sweep.
            own: The classes that specs name.
            force: Run experiments that need more memory than is free.
        """
        self._folder = folder
        self._own = list(own)
        self._force = force

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run_all(self, runs: Sequence[Planned], on_done: Callable[[Planned, Failure | None], None]) -> None:
        """Runs everything that has no results yet.

        Exceptions of a class's methods end the sweep and have their own traceback.

        Args:
            runs: The runs, with distinct keys.
            on_done: Called for each run that ends.
        """
        for run in runs:
            results = results_of(self._folder, run.key)
            shutil.rmtree(results, ignore_errors=True)
            experiment = _weft.Experiment.parse(run.spec, [], None, self._force, self._own)
            finished = experiment.run(1, False, None, results)  # noqa: FBT003
            if json.loads(finished.manifest())["partial"]:
                shutil.rmtree(results)
                raise KeyboardInterrupt
            on_done(run, None)


def make_runner(folder: Path, executor: Executor, *, most: int, force: bool, own: Sequence[Own] = ()) -> Runner:
    """Returns the runner for the machines of `--cluster` and `--workers`. It starts nothing yet.

    Args:
        folder: The folder of the sweep.
        executor: The machines.
        most: Maximum number of concurrent runs that is useful.
        force: Run experiments that need more memory than is free.
        own: Classes of congestion control that the specs name.

    Raises:
        UsageError: There are such classes, and the executor has other machines.
    """
    if own:
        if executor.address is not None or executor.slurm is not None:
            raise UsageError("cluster: algorithms in Python run on this machine only; remove cluster=")
        if (executor.workers or 1) == 1:
            return InProcessRunner(folder, own, force=force)
        paths = {algorithm: import_path(algorithm) for algorithm, *_ in own}
        if alone := [algorithm.__qualname__ for algorithm, path in paths.items() if path is None]:
            line = f"other processes cannot import {', '.join(alone)} from a script, notebook or function"
            raise UsageError(f"workers: {line}; move the class to a module, or omit workers=")
        known = [path for path in paths.values() if path is not None]
        return LocalRunner(folder, min(executor.workers or 1, most), force=force, own=known)
    if executor.address is None and executor.slurm is None:
        return LocalRunner(folder, min(executor.workers or cores(), most), force=force)
    from weft.sweeps.cluster import ClusterRunner

    return ClusterRunner(folder, executor, most=most, force=force)
