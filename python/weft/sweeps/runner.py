"""Runners of a sweep's specs: processes of this machine, or a Dask cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

from weft.sweeps.local import LocalRunner, cores

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


def make_runner(folder: Path, executor: Executor, *, most: int, force: bool) -> Runner:
    """Returns the runner for the machines of `--cluster` and `--workers`. It starts nothing yet.

    Args:
        folder: The folder of the sweep.
        executor: The machines.
        most: Maximum number of concurrent runs that is useful.
        force: Run experiments that need more memory than is free.
    """
    if executor.address is None and executor.slurm is None:
        return LocalRunner(folder, min(executor.workers or cores(), most), force=force)
    from weft.sweeps.cluster import ClusterRunner

    return ClusterRunner(folder, executor, most=most, force=force)
