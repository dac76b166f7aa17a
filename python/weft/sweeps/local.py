"""The runs of a sweep in processes on this machine, which communicate over pipes and use no network."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from weft import terminal
from weft.errors import RequirementError
from weft.output import remove_leftovers
from weft.sweeps.plan import Planned, build
from weft.sweeps.store import results_of
from weft.sweeps.worker import Failure, WorkerError, failure_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


MAX_TRIES = 4
"""Maximum number of attempts at a run whose worker was killed each time."""
STOP_S = 0.5
"""Time in seconds for workers to end by themselves."""

PROGRAM = "import sys; sys.path.append(sys.argv[1]); from weft.sweeps.worker import main; main()"
"""A program that imports Weft from the folder of this package, and no module of the working directory."""
PACKAGES = str(Path(__file__).parent.parent.parent)
"""The folder that contains the package `weft`."""


class LocalRunner:
    """Runs specs in processes of this machine. They start with the first run and end with the runner.

    Raises:
        RequirementError: A worker cannot start.
        OutputError: Results cannot be written.
    """

    def __init__(self, folder: Path, workers: int, *, force: bool, own: Sequence[tuple[str, str]] = ()) -> None:
        """Creates a runner that has started no process.

        Args:
            folder: The folder of the sweep.
            workers: Maximum number of processes.
            force: Run experiments that need more memory than is free.
            own: Modules and names of classes of congestion control that the specs name.
        """
        self._own = list(own)
        self._folder = folder.absolute()
        self._max = workers
        self._force = force
        self._workers: list[_Worker] = []
        self._messages: IO[bytes] | None = None
        """A file with the standard error of all workers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.process.terminate()
        deadline = time.monotonic() + STOP_S
        for worker in self._workers:
            worker.end(max(0.0, deadline - time.monotonic()))
            if worker.run is not None:
                remove_leftovers(results_of(self._folder, worker.run.key).parent)
        self._workers.clear()
        if self._messages is not None:
            self._messages.close()

    def run_all(self, runs: Sequence[Planned], on_done: Callable[[Planned, Failure | None], None]) -> None:
        """Runs everything that has no results yet.

        A run whose worker is killed is repeated by another worker.

        Args:
            runs: The runs, with distinct keys.
            on_done: Called for each run that ends, in any order.
        """
        waiting = deque(runs)
        tries: Counter[str] = Counter()
        with selectors.DefaultSelector() as selector:
            for worker in self._workers:
                selector.register(worker.output, selectors.EVENT_READ, worker)
            while True:
                while waiting and (idle := self._idle(selector)) is not None:
                    idle.begin(waiting.popleft(), self._folder, force=self._force, own=self._own)
                if not any(worker.run for worker in self._workers):
                    return
                for key, _ in selector.select():
                    worker = key.data
                    run, answer = worker.answer()
                    if answer is None:
                        self._remove(worker, selector)
                    if run is None:
                        continue
                    if answer is None:
                        tries[run.key] += 1
                        if tries[run.key] < MAX_TRIES:
                            self._warn_of_restart(worker, run)
                            waiting.append(run)
                            continue
                        answer = [self._killed(worker)]
                    on_done(run, failure_of(run, answer[0]))

    def _idle(self, selector: selectors.BaseSelector) -> _Worker | None:
        """Returns a worker without a run, which may be a new one; None if there are enough."""
        found = next((worker for worker in self._workers if worker.run is None), None)
        if found is None and len(self._workers) < self._max:
            if self._messages is None:
                self._messages = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the runner
            found = _Worker(self._messages)
            self._workers.append(found)
            selector.register(found.output, selectors.EVENT_READ, found)
        return found

    def _remove(self, worker: _Worker, selector: selectors.BaseSelector) -> None:
        selector.unregister(worker.output)
        self._workers.remove(worker)
        worker.end(STOP_S)

    @staticmethod
    def _warn_of_restart(worker: _Worker, run: Planned) -> None:
        """Warns that a run whose worker was killed is repeated, because the next worker may be killed as well."""
        code = worker.process.returncode
        if code < 0:
            likely = ", probably for lack of memory" if code == -signal.SIGKILL else ""
            terminal.warn(f"a worker was killed by signal {-code}{likely}; its run with seed {run.seed} is repeated")

    def _killed(self, worker: _Worker) -> WorkerError:
        """Returns the error of a run whose workers all ended without an answer.

        Raises:
            RequirementError: Workers cannot start.
        """
        from weft.exit_codes import MISSING

        if worker.process.returncode > 0 and self._messages is not None:
            self._messages.seek(0)
            last = next(iter(self._messages.read().decode(errors="replace").splitlines()[-1:]), "")
            raise RequirementError(f"a worker cannot run weft: {last or f'exit code {worker.process.returncode}'}")
        return WorkerError("the worker was killed on every attempt, probably for lack of memory", MISSING)


class _Worker:
    """A process that runs one spec at a time."""

    def __init__(self, messages: IO[bytes]) -> None:
        self.run: Planned | None = None
        # Without -P, Python would import modules from the working directory.
        command = [sys.executable, "-P", "-c", PROGRAM, PACKAGES]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages)
        assert self.process.stdin is not None  # noqa: S101 - it is a pipe
        assert self.process.stdout is not None  # noqa: S101 - it is a pipe
        self.input: IO[bytes] = self.process.stdin
        self.output: IO[bytes] = self.process.stdout

    def begin(self, run: Planned, folder: Path, *, force: bool, own: Sequence[tuple[str, str]]) -> None:
        """Starts a run. If the process has ended, its output shows that."""
        self.run = run
        results = str(results_of(folder, run.key))
        job = {"spec": run.spec, "results": results, "build": build(), "force": force, "own": own}
        job["path"] = list(map(os.path.abspath, sys.path)) if own else []
        with contextlib.suppress(BrokenPipeError):
            self.input.write(json.dumps(job).encode() + b"\n")
            self.input.flush()

    def answer(self) -> tuple[Planned | None, list[WorkerError | None] | None]:
        """Returns the current run and the answer of its worker.

        The answer is a list with the error of the run, or with None if the run has results. It is
        None itself if the process has ended without an answer.
        """
        run, self.run = self.run, None
        line = self.output.readline()
        if run is None or not line.endswith(b"\n"):
            return run, None
        answer = json.loads(line)
        return run, [None if answer is None else WorkerError(**answer)]

    def end(self, patience_s: float) -> None:
        """Waits until the process has ended, and kills it after some time."""
        try:
            self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for stream in (self.input, self.output):
            with contextlib.suppress(OSError):  # a job that was never read
                stream.close()


def cores() -> int:
    """Returns the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS does not restrict a process to some processors
