"""Load an experiment, run it, look at its tables."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft import _weft
from weft.errors import OutputError, SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from os import PathLike

    import polars as pl

    from weft.spec import Experiment


TABLES = ("flows", "subflows", "queues", "links", "traces", "jobs", "suppressions", "latencies")
"""Names of a run's tables, in the order in which they are told."""


def load(path: str | PathLike[str], overrides: Iterable[str] = ()) -> Experiment:
    """Reads an experiment from a TOML file (or the same in JSON) and checks it in full.

    Args:
        path: The spec's file.
        overrides: Changes made before the check, such as `"traffic[0].size=256KB"`, in order.

    Returns:
        The experiment with every default filled in.

    Raises:
        SpecError: The file cannot be read, or the spec is wrong: one line with file, field path, what was
            given and what is allowed.
    """
    from weft.spec import Experiment

    return Experiment.model_validate_json(_parse(path, overrides).spec())


def run(
    experiment: Experiment,
    *,
    seed: int | None = None,
    threads: int = 1,
    trace_hash: bool = False,
    progress: Callable[[_weft.Progress], bool | None] | None = None,
    out: str | PathLike[str] | None = None,
) -> Result:
    """Runs an experiment.

    At the packet level the result is a function of the experiment and the seed alone. At level "linux" the program
    `weftd` runs it on this machine's kernel, and no two runs are the same.

    The interpreter's lock is released meanwhile, so several runs can share the machine in a thread pool.
    Ctrl-C in the main thread stops the run; its tables so far come back with `Result.partial` set.

    Args:
        experiment: What to run.
        seed: Used instead of `experiment.seed`.
        threads: Worker threads, at least 1; changes nothing but the time it takes.
        trace_hash: Hash every event in order at each node; the hash is in the manifest.
        progress: Called some ten times a second and at the end; the run stops when it returns False.
        out: A new folder for the results. Rows go there while the experiment runs, in the order in which flows and jobs
            end, so that a long run needs no more memory than a short one; the folder has its name when all is well.

    Raises:
        SpecError: The experiment is wrong.
        MissingError: This machine lacks what level "linux" needs: the program weftd, root, a kernel's feature.
        RunError: It cannot be simulated, or an argument is out of range.
        OutputError: `out` exists and is not empty, or cannot be written.
        InternalError: Conservation does not hold: a bug in Weft.
    """
    overrides = [] if seed is None else [f"seed={seed}"]
    checked = _weft.Experiment.parse(experiment.model_dump_json(by_alias=True, exclude_none=True), overrides)
    folder = None if out is None else Path(out)
    return Result(checked.run(threads, trace_hash, progress, folder), folder)


class Result:
    """What a run yields.

    The tables `flows`, `subflows`, `jobs`, `suppressions`, `queues`, `links`, `traces` and `latencies` are Polars
    frames, handed over uncopied, or read from the folder that they went to.
    """

    def __init__(self, run: _weft.Run, folder: Path | None = None) -> None:
        self._run = run
        self._folder = folder

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """Resolved spec, seed, version, counters, simulated and wall-clock time, whether partial."""
        manifest: dict[str, Any] = json.loads(self._run.manifest())
        return manifest

    @property
    def partial(self) -> bool:
        """Was the run stopped before its end?"""
        return bool(self.manifest["partial"])

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        """All tables by name."""
        import polars as pl

        if self._folder is None:
            return {name: pl.DataFrame(table) for name, table in self._run.tables().items()}
        return {name: pl.read_parquet(self._folder / f"{name}.parquet") for name in TABLES}

    @property
    def flows(self) -> pl.DataFrame:
        """One row a flow."""
        return self.tables["flows"]

    @property
    def subflows(self) -> pl.DataFrame:
        """One row a subflow."""
        return self.tables["subflows"]

    @property
    def jobs(self) -> pl.DataFrame:
        """One row a job of the traffic `jobs`."""
        return self.tables["jobs"]

    @property
    def suppressions(self) -> pl.DataFrame:
        """One row a time during which a connection's subflows were suppressed."""
        return self.tables["suppressions"]

    @property
    def queues(self) -> pl.DataFrame:
        """Time-weighted distribution of the length of each probed queue."""
        return self.tables["queues"]

    @property
    def links(self) -> pl.DataFrame:
        """One row a link."""
        return self.tables["links"]

    @property
    def traces(self) -> pl.DataFrame:
        """Samples in time of what was probed."""
        return self.tables["traces"]

    @property
    def latencies(self) -> pl.DataFrame:
        """One row a chunk of the data of flows with the probe `latency`."""
        return self.tables["latencies"]

    def write(self, folder: str | PathLike[str]) -> None:
        """Writes `TABLE.parquet` for each table and `manifest.json` into a new folder, all or nothing.

        Raises:
            OutputError: The folder exists and is not empty, or cannot be written; or the results went to a folder
                while the experiment ran.
        """
        if self._folder is not None:
            raise OutputError(f"{folder}: the results are in {self._folder}; allowed: `write` where `run` had no `out`")
        self._run.write(Path(folder))


def registry() -> dict[str, list[dict[str, str]]]:
    """Algorithms, path policies, schedulers, profiles, topologies, traffic and probes: `{"name", "about"}` each."""
    listings: dict[str, list[dict[str, str]]] = json.loads(_weft.registry())
    return listings


def schema() -> dict[str, Any]:
    """The JSON Schema of an experiment."""
    document: dict[str, Any] = json.loads(_weft.schema())
    return document


def _parse(path: str | PathLike[str], overrides: Iterable[str]) -> _weft.Experiment:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SpecError(f"{path}: cannot be read: not UTF-8 text") from None
    try:
        return _weft.Experiment.parse(text, list(overrides))
    except SpecError as error:
        raise SpecError(f"{path}: {error}") from None
