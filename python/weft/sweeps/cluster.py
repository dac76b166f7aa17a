"""The runs of a sweep on a Dask cluster: in jobs of Slurm, or at the address of a scheduler.

Only specs and errors go over the network: a worker writes a run's results to the sweep's folder.
"""

from __future__ import annotations

import logging
import shlex
import shutil
import subprocess
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from weft.errors import OutputError, RequirementError, UsageError
from weft.sweeps.plan import Planned, build
from weft.sweeps.store import is_complete, results_of
from weft.sweeps.worker import Failure, WorkerError, failure_of, run_on_worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from dask_jobqueue.slurm import SLURMCluster
    from distributed import Client, Future, Security

    from weft.sweeps.executor import Executor

MAX_SUBMITTED = 1000
"""Maximum number of runs that a scheduler holds at a time."""

CONNECT_TIMEOUT_S = 10
"""Timeout of the connection to a scheduler."""

SLURM_JOB = {"cores": "1", "memory": "2GB"}
"""Defaults of a job, if neither the options nor the configuration sets them."""


class ClusterRunner:
    """Runs specs on a cluster. It starts with the first run that has no results and ends with the runner.

    Raises:
        RequirementError: No scheduler answers, the scheduler has ended, or a worker cannot run Weft.
        OutputError: Results cannot be written.
    """

    def __init__(self, folder: Path, executor: Executor, *, most: int, force: bool) -> None:
        """Creates a runner that has started nothing.

        Args:
            folder: The folder of the sweep, which workers must see under the same path.
            executor: The machines.
            most: Maximum number of concurrent runs.
            force: Run experiments that need more memory than a machine has free.
        """
        self._folder = folder.absolute()
        self._executor = replace(executor, workers=min(executor.workers or most, most))
        self._force = force
        self._stack = ExitStack()
        self._client: Client | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def run_all(self, runs: Sequence[Planned], on_done: Callable[[Planned, Failure | None], None]) -> None:
        """Runs everything that has no results yet.

        Args:
            runs: The runs, with distinct keys.
            on_done: Called for each run that ends, in any order.
        """
        from distributed import as_completed

        if self._client is None:
            self._client = self._stack.enter_context(_connected(self._executor, self._folder))
        client = self._client
        planned: dict[object, Planned] = {}

        def submit(run: Planned) -> Future[WorkerError | None]:
            results = str(results_of(self._folder, run.key))
            future: Future[WorkerError | None] = client.submit(
                run_on_worker, run.spec, results, build(), force=self._force, pure=False
            )
            planned[future.key] = run
            return future

        waiting = iter(runs)
        under_way = as_completed([submit(run) for run in islice(waiting, MAX_SUBMITTED)], loop=client.loop)
        for future in under_way:
            run = planned.pop(future.key)
            on_done(run, _outcome(future, run, self._folder))
            for following in islice(waiting, 1):
                under_way.add(submit(following))


def _outcome(future: Future[WorkerError | None], run: Planned, folder: Path) -> Failure | None:
    from distributed import KilledWorker

    from weft.exit_codes import MISSING

    match future.status:
        case "finished":
            complaint = future.result()
        case "error" if isinstance(future.exception(), KilledWorker):
            complaint = WorkerError("the worker was killed on every attempt, probably for lack of memory", MISSING)
        case "error":
            error = future.exception()
            raise RequirementError(f"a worker cannot run weft: {type(error).__name__}: {error}")
        case status:
            raise RequirementError(f"the scheduler is gone ({status}); finished runs are kept")
    if complaint is None and not is_complete(results_of(folder, run.key)):
        raise OutputError(f"{folder}: the results of a worker are missing; use a folder that all machines share")
    return failure_of(run, complaint)


@contextmanager
def _connected(executor: Executor, folder: Path) -> Iterator[Client]:
    """Connects to the cluster. Dask itself prints nothing; an error becomes one line."""
    try:
        import dask
        from distributed import Client
    except ModuleNotFoundError as error:
        raise RequirementError(f"--cluster: needs {error.name}; run: pip install distributed") from None

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if executor.address is not None:
        security = _certificates(executor.address)
        try:
            client = Client(executor.address, timeout=CONNECT_TIMEOUT_S, set_as_default=False, security=security)
        except (OSError, ValueError) as error:
            why = _terse(error)
            raise RequirementError(
                f"--cluster {executor.address}: no scheduler answers within {CONNECT_TIMEOUT_S} s: {why}"
            ) from None
        with client:
            yield client
        return
    quiet = {"distributed.worker.profile.enabled": False, "distributed.admin.system-monitor.interval": "10s"}
    with (
        dask.config.set(quiet),
        _on_slurm(executor, folder) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _certificates(address: str) -> Security | None:
    """Returns the TLS settings of Dask's configuration for an address.

    Raises:
        RequirementError: There are none, or they cannot be used.
    """
    from distributed import Security

    if address.partition("://")[0] not in {"tls", "wss"}:
        return None
    advice = "set distributed.comm.tls in ~/.config/dask/distributed.yaml"
    security = Security(require_encryption=True)
    try:
        context = security.get_connection_args("client")["ssl_context"]
    except (OSError, ValueError) as error:  # errors of a certificate are OSErrors
        raise RequirementError(f"--cluster {address}: cannot use the certificates: {_terse(error)}; {advice}") from None
    if context is None:
        raise RequirementError(f"--cluster {address}: no certificates; {advice}")
    return security


@contextmanager
def _on_slurm(executor: Executor, folder: Path) -> Iterator[SLURMCluster]:
    """Starts workers in jobs of Slurm; the scheduler is in this process.

    A job that ends too early is replaced.

    All connections are encrypted, and both ends prove that they belong to this sweep.

    Settings that the options lack are those of dask-jobqueue's own configuration, `jobqueue.slurm`
    of ~/.config/dask/jobqueue.yaml, and otherwise those of `SLURM_JOB`.

    Raises:
        RequirementError: dask-jobqueue or Slurm is missing, or Slurm refuses a job.
        UsageError: The path of the folder cannot be written in the script of a job.
    """
    try:
        from dask_jobqueue.slurm import SLURMCluster

        security = _security()
    except ImportError as error:
        lacking = (error.name or "dask-jobqueue").partition(".")[0].replace("_", "-")
        raise RequirementError(
            f"--cluster slurm: needs {lacking}; run: pip install cryptography dask-jobqueue"
        ) from None
    from dask import config

    if shutil.which("sbatch") is None:
        raise RequirementError(
            "--cluster slurm: sbatch not found; run this command on a machine from which you submit jobs"
        )
    logs = folder / "slurm"
    if shlex.quote(str(logs)) != str(logs):
        raise UsageError(
            f"--out {str(folder)!r}: a path in a Slurm job script cannot contain spaces or quotes; use another folder"
        )
    logs.mkdir(parents=True, exist_ok=True)
    given = executor.slurm or {}
    job: dict[str, Any] = {
        name: given.get(name) or config.get(f"jobqueue.slurm.{name}", None) or default
        for name, default in SLURM_JOB.items()
    }
    cores = int(job["cores"])
    cluster = SLURMCluster(
        **given | job | {"cores": cores},
        processes=cores,  # one thread per process
        log_directory=str(logs),
        security=security,
        shared_temp_directory=str(logs),
        scheduler_options={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
        silence_logs=logging.CRITICAL,
    )
    try:
        _check_job(cluster.job_script())
        jobs = -(-(executor.workers or 1) // cores)
        cluster.scale(jobs=jobs)
        cluster.adapt(minimum_jobs=jobs, maximum_jobs=jobs)
        yield cluster
    finally:
        with suppress(AssertionError):  # a job that was not submitted
            cluster.close()


def _security() -> Security:
    """Returns the certificates that Dask's configuration names, or creates certificates for this sweep.

    The jobs read created certificates from the folder `slurm`, which only this user may open and
    which is removed at the end.

    Raises:
        ImportError: The package cryptography is missing.
    """
    from dask import config
    from distributed import Security

    if config.get("distributed.comm.tls.ca-file") is not None:
        return Security(require_encryption=True)
    made: Security = Security.temporary()
    return made


def _check_job(script: str) -> None:
    """Checks that Slurm accepts such a job, because dask-jobqueue would retry without a message.

    Raises:
        RequirementError: Slurm refuses it.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".sh") as file:
        file.write(script)
        file.flush()
        asked = subprocess.run(["sbatch", "--test-only", file.name], capture_output=True, text=True, check=False)  # noqa: S607
    if asked.returncode != 0:
        why = next(iter(asked.stderr.splitlines()[-1:]), f"exit code {asked.returncode}")
        raise RequirementError(f"--cluster slurm: Slurm takes no such job: {why}")


def _terse(error: BaseException) -> str:
    """Returns the first line of an error."""
    return next(iter(str(error).splitlines()), type(error).__name__)
