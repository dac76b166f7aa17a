"""Load an experiment, run it, and read its tables."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from html import escape
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft import _weft
from weft.errors import NotAFolderError, OutputError, RequirementError, ResultWarning, RunError, SpecError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from weft.congestion_control import Own
    from weft.plots import Plots
    from weft.spec import Experiment


TABLES = (
    "flows",
    "subflows",
    "queues",
    "links",
    "traces",
    "jobs",
    "ranks",
    "steps",
    "operations",
    "suppressions",
    "latencies",
    "packets",
    "pause_frames",
    "throughput",
    "traffic_classes",
    "drops",
)
"""Names of a run's tables, in the order in which they are shown."""


MAX_SPEC_BYTES = 4 << 20
"""Maximum size of a spec's text in bytes: a hundred times the largest known spec."""

MAX_THREADS = 1024
"""Maximum number of threads, above the number of cores of any machine."""


def load(path: str | PathLike[str], overrides: Iterable[str] = (), *, force: bool = False) -> Experiment:
    """Reads an experiment from a TOML file (or the same in JSON) and checks it in full.

    Args:
        path: The spec's file. Relative paths in it start at its folder.
        overrides: Changes to make before the check, such as `"traffic[0].size=256KB"`, in order. Relative paths in
            them start at the working directory.
        force: Accept a network that needs more memory than the machine has free.

    Returns:
        The experiment with every default filled in.

    Raises:
        SpecError: The file cannot be read, or the spec is wrong: one line with file, field path, what was
            given and what is allowed.
    """
    from weft.spec import Experiment

    return Experiment.model_validate_json(_parse(path, overrides, force=force).spec())


def run(
    experiment: Experiment | Mapping[str, Any] | str | PathLike[str],
    *,
    seed: int | None = None,
    threads: int | None = None,
    trace_hash: bool = False,
    progress: Callable[[_weft.Progress], bool | None] | None = None,
    out: str | PathLike[str] | None = None,
    force: bool = False,
) -> Result:
    """Runs an experiment.

    At the packet and flow levels the result depends only on the experiment and the seed. At level "linux" the program
    `weftd` runs the experiment on this machine's kernel, and no two runs are the same.

    The interpreter's lock is released during the run, so several runs can share the machine in a thread pool.
    Ctrl-C in the main thread stops the run; the tables so far are returned with `Result.partial` set.

    Where a transport's `cc` is a subclass of `weft.CongestionControl`, the run keeps the lock and takes one thread. An
    exception that one of its methods raises ends the run and is raised here with its own traceback. A
    Ctrl-C during such a method raises its KeyboardInterrupt here.

    Args:
        experiment: An experiment, the path of a spec, or a spec as a dictionary.
        seed: Replaces `experiment.seed`.
        threads: Maximum number of worker threads, 1 to 1024; only the time depends on it. The run starts with one and
            uses all of them while that is faster. By default the packet level may use all cores.
        trace_hash: Hash every event in order at each node; the hash is in the manifest.
        progress: Called about ten times per second and at the end; the run stops if it returns False.
        out: A new folder for the results. Rows are written there during the run, in the order in which flows and jobs
            end, so a long run needs no more memory than a short one. The folder gets its name when it is complete.
        force: Run the experiment even if it needs more memory than the machine has free.

    Raises:
        SpecError: The experiment is wrong.
        RequirementError: This machine lacks what level "linux" needs: the program weftd, root, a feature of the kernel.
        RunError: The experiment cannot be simulated or does not fit in memory, or an argument is out of range.
        OutputError: `out` exists and is not empty, or cannot be written.
        InternalError: Conservation does not hold, or a link carries more than its rate: a bug in Weft.

    Warns:
        ResultWarning: The results need care; each line is one of the manifest's `warnings`.
    """
    checked = check_experiment(experiment, [] if seed is None else [f"seed={seed}"], force=force)
    result = run_checked(checked, threads=threads, trace_hash=trace_hash, progress=progress, out=out)
    for warning in result.manifest["warnings"]:
        warnings.warn(warning, ResultWarning, stacklevel=2)
    return result


def run_checked(
    checked: _weft.Experiment,
    *,
    threads: int | None = None,
    trace_hash: bool = False,
    progress: Callable[[_weft.Progress], bool | None] | None = None,
    out: str | PathLike[str] | None = None,
) -> Result:
    """Runs what `check_experiment` has returned, like `run`. Its warnings are in the manifest only."""
    is_number = isinstance(threads, Integral) and not isinstance(threads, bool)  # True is an int, too
    if threads is not None and not (is_number and 1 <= threads <= MAX_THREADS):
        raise RunError(f"threads: {threads!r}; allowed: 1 to {MAX_THREADS}, or None")
    folder = None if out is None else Path(out)
    lasting = None if folder is None else folder.absolute()  # absolute: the working directory may change
    threads = None if threads is None else int(threads)
    return Result(checked.run(threads, trace_hash, progress, folder), lasting)


class Result:
    """The results of a run.

    The tables `flows`, `subflows`, `jobs`, `suppressions`, `queues`, `links`, `traces`, `latencies` and `packets` are
    Polars frames. They are passed on without copying, or read from the folder to which the run wrote them.
    """

    def __init__(self, run: _weft.Run, folder: Path | None = None) -> None:
        self._run: _weft.Run | None = run
        self._folder = folder
        self._read: dict[str, pl.DataFrame] = {}
        manifest: dict[str, Any] = json.loads(run.manifest())
        self.manifest = manifest
        """Resolved spec, seed, version, counters, simulated and wall-clock time, and whether the run is partial."""

    @classmethod
    def read(cls, folder: str | PathLike[str]) -> Result:
        """Opens the folder of a run that was written by `weft run`, `weft.run` or `Result.write`.

        A table is read when it is first used.

        Raises:
            UsageError: The folder is not that of a run, or lacks a table that its manifest names.
        """
        folder = Path(folder)
        result = cls.__new__(cls)
        result.__setstate__({"manifest": _manifest(folder), "folder": folder.absolute(), "tables": None})
        for name in result.manifest["rows"]:
            if not (folder / f"{name}.parquet").is_file():
                raise UsageError(
                    f"{folder}: incomplete: no {name}.parquet, which the manifest names; rerun the experiment"
                )
        return result

    def __repr__(self) -> str:
        manifest = self.manifest
        rows = ", ".join(f"{name}: {rows:,}" for name, rows in manifest["rows"].items() if rows)
        partial = " (partial)" if self.partial else ""
        end = f"{manifest['end_s']:g} s{partial}"
        return f"<Result {manifest['name'] or 'unnamed'!r}, seed {manifest['seed']}, {end}; rows of {rows}>"

    def _repr_html_(self) -> str:
        from weft.summary import wall_time

        manifest = self.manifest
        counters = manifest["counters"]
        shown = {"packet-hops": "packet_hops", "marks": "marks", "drops": "drops", "timeouts": "timeouts"}
        facts = {
            "seed": manifest["seed"],
            "simulated": f"{manifest['end_s']:g} s" + (" (partial)" if self.partial else ""),
            "wall clock": wall_time(manifest["wall_seconds"]),
            # A level that has no packets does not count them.
            **{words: f"{counters[name]:,}" for words, name in shown.items() if name in counters},
            **{f"rows of {name}": f"{rows:,}" for name, rows in manifest["rows"].items() if rows},
        }
        rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(fact))}</td></tr>" for name, fact in facts.items())
        return f"<table><caption>{escape(manifest['name'] or 'experiment')}</caption>{rows}</table>"

    def __getstate__(self) -> dict[str, Any]:
        # A pickle holds the tables themselves, unless they are in a folder.
        tables = None if self._folder is not None else self.tables
        return {"manifest": self.manifest, "folder": self._folder, "tables": tables}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._run = None
        self._read = {}
        self.manifest = state["manifest"]
        self._folder = state["folder"]
        if state["tables"] is not None:
            self.tables = state["tables"]

    @property
    def partial(self) -> bool:
        """Whether the run was stopped before its end."""
        return bool(self.manifest["partial"])

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        """All tables by name, as the run recorded them."""
        import polars as pl

        if self._run is not None and self._folder is None:
            return {name: pl.DataFrame(table) for name, table in self._run.tables().items()}
        return {name: self._table(name) for name in TABLES if name in self.manifest["rows"]}

    def table(self, name: str, columns: Collection[str] | None = None) -> pl.DataFrame:
        """Returns a table by its name, or those of its columns that are given.

        Args:
            name: The name of the table.
            columns: Columns; those that the table lacks are left out. The others are not read from the run's folder.

        Raises:
            UsageError: The run has no such table.
        """
        if columns is None:
            return self._table(name)
        is_unread = name in self.manifest["rows"] and name not in self._read and "tables" not in vars(self)
        if self._folder is not None and is_unread:
            return self._from_folder(self._folder / f"{name}.parquet", columns)
        table = self._table(name)
        return table.select(column for column in table.columns if column in columns)

    def _table(self, name: str) -> pl.DataFrame:
        names = self.manifest["rows"]
        if name not in names:
            level = self.manifest["level"]
            raise UsageError(f"{name}: level {level!r} has no such table; allowed: {', '.join(names)}")
        if self._folder is None or "tables" in vars(self):
            return self.tables[name]
        if name not in self._read:
            self._read[name] = self._from_folder(self._folder / f"{name}.parquet")
        return self._read[name]

    @staticmethod
    def _from_folder(file: Path, columns: Collection[str] | None = None) -> pl.DataFrame:
        import polars as pl

        try:
            if columns is None:
                return pl.read_parquet(file)
            present = pl.read_parquet_schema(file)
            return pl.read_parquet(file, columns=[column for column in present if column in columns])
        except (OSError, pl.exceptions.PolarsError) as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise UsageError(f"{file}: cannot read: {reason}; pass a folder that `weft run` wrote") from None

    def detach(self) -> Result:
        """Reads all tables into memory, so that the run's folder may be removed, and returns the result."""
        self.tables = {name: self._table(name) for name in TABLES if name in self.manifest["rows"]}
        self._folder = None
        return self

    @property
    def flows(self) -> pl.DataFrame:
        """One row per flow."""
        return self._table("flows")

    @property
    def subflows(self) -> pl.DataFrame:
        """One row per subflow."""
        return self._table("subflows")

    @property
    def jobs(self) -> pl.DataFrame:
        """One row per job of the traffic `jobs`, and per repetition of a `collective`."""
        return self._table("jobs")

    @property
    def ranks(self) -> pl.DataFrame:
        """One row per rank that began a job of ranks."""
        return self._table("ranks")

    @property
    def steps(self) -> pl.DataFrame:
        """One row per computing or message of a job of ranks with the probe `steps`."""
        return self._table("steps")

    @property
    def operations(self) -> pl.DataFrame:
        """One row per collective operation of a job of ranks with the probe `steps`."""
        return self._table("operations")

    @property
    def suppressions(self) -> pl.DataFrame:
        """One row per episode in which a connection's subflows were suppressed."""
        return self._table("suppressions")

    @property
    def queues(self) -> pl.DataFrame:
        """Time-weighted distribution of the length of each probed queue."""
        return self._table("queues")

    @property
    def links(self) -> pl.DataFrame:
        """One row per link."""
        return self._table("links")

    @property
    def traces(self) -> pl.DataFrame:
        """Samples over time of the probed queues and flows."""
        return self._table("traces")

    @property
    def latencies(self) -> pl.DataFrame:
        """One row per chunk of data of the flows with the probe `latency`."""
        return self._table("latencies")

    @property
    def packets(self) -> pl.DataFrame:
        """One row per packet that arrived over a link with the probe `packets`."""
        return self._table("packets")

    @property
    def pause_frames(self) -> pl.DataFrame:
        """One row per class of each pause frame that arrived over a link with the probe `packets`."""
        return self._table("pause_frames")

    @property
    def throughput(self) -> pl.DataFrame:
        """One row per flow with the probe `throughput` and interval in which data arrived."""
        return self._table("throughput")

    @property
    def traffic_classes(self) -> pl.DataFrame:
        """One row per traffic class of each queue that has classes."""
        return self._table("traffic_classes")

    @property
    def drops(self) -> pl.DataFrame:
        """One row per link, reason and subflow whose packets were dropped or lost."""
        return self._table("drops")

    def to_pandas(self, table: str) -> Any:  # noqa: ANN401 - pandas is not required
        """Returns a table as a pandas frame.

        Raises:
            RequirementError: pandas, or pyarrow which it needs for this, is not installed.
            UsageError: There is no such table.
        """
        try:
            return self._table(table).to_pandas()
        except ModuleNotFoundError as error:
            line = f"to_pandas: {error.name} is not installed; run: pip install pandas pyarrow"
            raise RequirementError(line) from None

    @property
    def plot(self) -> Plots:
        """Plots of the tables: `fct`, `slowdown`, `windows`, `rates`, `throughput`, `queues`, `jain`, `utilisation`.

        Each is a Matplotlib figure; `result.plot.altair` has the same as Altair charts.
        """
        from weft.plots import Plots

        return Plots(self)

    def write(self, folder: str | PathLike[str]) -> None:
        """Writes `TABLE.parquet` for each table and `manifest.json` into a new folder, all or nothing.

        Raises:
            OutputError: The folder exists and is not empty, or cannot be written; or the run was given a folder
                (`out`) already.
        """
        if self._folder is not None:
            raise OutputError(
                f"{folder}: the results are already in {self._folder}; use write() only after a run without `out`"
            )
        if self._run is not None:
            self._run.write(Path(folder))
            return
        from weft.output import new_folder

        chosen = Path(folder)
        if chosen.is_dir() and any(chosen.iterdir()):
            raise OutputError(f"{folder}: exists and is not empty; use a new folder")
        with new_folder(chosen) as unfinished:
            for name, table in self.tables.items():
                table.write_parquet(unfinished / f"{name}.parquet", compression="snappy")
            text = json.dumps(self.manifest, indent=2) + "\n"
            (unfinished / "manifest.json").write_text(text, encoding="utf-8")


def registry() -> dict[str, list[dict[str, Any]]]:
    """Returns the name and description of everything that a spec can choose from: `{"name", "about"}`.

    The keys are transports, algorithms, path policies, schedulers, profiles, queues, topologies,
    traffic, probes and levels. Levels also have `deterministic` (a spec and a seed always give the same tables) and
    `exclusive` (a run needs the machine to itself).
    """
    listings: dict[str, list[dict[str, Any]]] = json.loads(_weft.registry())
    return listings


def schema() -> dict[str, Any]:
    """Returns the JSON Schema of an experiment."""
    document: dict[str, Any] = json.loads(_weft.schema())
    return document


def _manifest(folder: Path) -> dict[str, Any]:
    """Reads the manifest of a run's folder."""
    advice = "pass a folder that `weft run` wrote"
    file = folder / "manifest.json"
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise NotAFolderError(f"{folder}: not a run folder: no manifest.json; {advice}") from None
    except OSError as error:
        raise UsageError(f"{file}: cannot read: {error.strerror}; {advice}") from None
    except (ValueError, RecursionError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise UsageError(f"{file}: not a valid Weft manifest: {reason}; {advice}") from None
    kinds = {"name": str, "level": str, "seed": int, "partial": bool, "end_s": float, "rows": dict, "spec": dict}
    lacking = [
        name
        for name, kind in (kinds | {"counters": dict, "unfinished": dict, "warnings": list, "version": str}).items()
        if not isinstance(manifest, dict) or not isinstance(manifest.get(name), kind | int if kind is float else kind)
    ]
    if lacking:
        raise UsageError(f"{file}: not a valid Weft manifest: no {lacking[0]!r}; {advice}")
    return dict(manifest)


def check_experiment(
    experiment: Experiment | Mapping[str, Any] | str | PathLike[str],
    overrides: list[str],
    *,
    force: bool,
    classes: Iterable[object] = (),
) -> _weft.Experiment:
    """Checks an experiment that is given in any of the supported forms.

    Args:
        experiment: An experiment, the path of a spec, or a spec as a dictionary.
        overrides: Changes before the check, such as `"traffic[0].size=256KB"`.
        force: Accept a network that needs more memory than the machine has free.
        classes: Subclasses of `weft.CongestionControl` that overrides name.
    """
    from weft.congestion_control import own_of

    own = own_of(experiment, classes)
    if isinstance(experiment, str | PathLike):
        return _parse(experiment, overrides, force=force, own=own)
    if isinstance(experiment, Mapping):
        from weft.model import to_json

        return _weft.Experiment.parse(to_json(experiment), overrides, None, force, own)
    # The models of a spec take longer to import than the rest of Weft, and dictionaries need none.
    from weft.spec import Experiment

    if not isinstance(experiment, Experiment):
        allowed = "a weft.Experiment, the path of a spec, or a dictionary"
        raise SpecError(f"{type(experiment).__name__} {experiment!r:.100}; allowed: {allowed}")
    text = experiment.model_dump_json(by_alias=True, exclude_none=True)
    return _weft.Experiment.parse(text, overrides, None, force, own)


def _parse(
    path: str | PathLike[str], overrides: Iterable[str], *, force: bool, own: Sequence[Own] = ()
) -> _weft.Experiment:
    changes = list(overrides)
    for change in changes:
        if not is_text(change):
            raise SpecError(f"{change!r}: not UTF-8 text; allowed: KEY=VALUE, such as traffic[0].size=256KB")
    text = _read(path)
    try:
        return _weft.Experiment.parse(text, changes, Path(path).absolute().parent, force, list(own))
    except SpecError as error:
        raise SpecError(f"{path}: {error}") from None


def _read(path: str | PathLike[str]) -> str:
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_SPEC_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SpecError(f"{path}: cannot be read: {reason}") from None
    if len(data) > MAX_SPEC_BYTES:
        raise SpecError(f"{path}: too long; allowed: at most {MAX_SPEC_BYTES >> 20} MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise SpecError(f"{path}: cannot be read: not UTF-8 text") from None


def is_text(text: str) -> bool:
    """Returns whether the text can be written as UTF-8.

    Arguments of a command may hold bytes that are not text.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
