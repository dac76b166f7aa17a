"""The folder of a sweep: the results of each run by its key, and tables of all runs with columns of labels.

- `runs/KEY[:2]/KEY[2:]/`: one run, its tables and manifest, complete or absent.
- `tables/TABLE/00000.parquet`: the rows of all runs of the latest sweep, in its order.
- `sweep.json`: the latest sweep, and the key of each of its runs.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weft import api
from weft.errors import OutputError
from weft.output import PREFIX, locked_folder, new_folder, refuse_standard_output, remove_leftovers
from weft.sweeps.axes import label_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from weft.sweeps.plan import Planned, SweepPlan

DOCUMENT = "sweep.json"
SPEC = "spec.json"
"""The file in the folder of a sweep or tuning with a spec that was not a file."""

_NUMBER = re.compile(r"\d[\d,.]*")

ROWS_PER_PART = 20_000
"""Number of rows at which a file of a table is full.

While tables are assembled, memory holds fewer rows than that, and the rows of one run.
"""


def results_of(folder: Path, key: str) -> Path:
    """Returns the folder of a run's results.

    It is in a subfolder, because folders with very many entries are slow.
    """
    return folder / f"runs/{key[:2]}/{key[2:]}"


def checked_key(text: str) -> str:
    """Checks the key of a run that a document names, because it becomes part of a path, and returns it.

    Raises:
        ValueError: It is not a key. It could be the path of another folder.
    """
    if not re.fullmatch(r"[0-9a-f]{8,64}", text):
        raise ValueError(text)
    return text


def is_complete(results: Path) -> bool:
    """Returns whether a run's results exist and are complete. Only the ends of tables are read."""
    manifest = _manifest(results)
    if manifest is None or manifest["partial"]:
        return False
    return all(_has_both_ends(results / f"{table}.parquet") for table in manifest["rows"])


def _has_both_ends(file: Path) -> bool:
    """Returns whether a Parquet file has its first and last bytes; a truncated file lacks the last ones."""
    try:
        with file.open("rb") as content:
            first = content.read(4)
            content.seek(-4, os.SEEK_END)
            return first == content.read(4) == b"PAR1"
    except OSError:
        return False


@contextmanager
def opened(folder: Path, what: str = "sweep") -> Iterator[None]:
    """Locks a folder against other sweeps, creates it if needed, and removes leftovers of killed sweeps.

    Args:
        folder: A new folder, or one with a document `{what}.json`.
        what: The kind of the folder, such as sweep.

    Raises:
        OutputError: It is not the folder of a sweep, another sweep is using it, or it cannot be written.
    """
    refuse_standard_output(folder)
    advice = f"use a new folder, or one that `weft {what}` wrote"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise OutputError(f"--out {folder}: cannot create: {reason}; {advice}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(
                f"--out {folder}: in use by another `weft {what}`; wait for its end, or use a new folder"
            ) from None
        except OSError:
            pass  # the file system has no locks
        others = [path.name for path in folder.iterdir() if not path.name.startswith(PREFIX) and path.name != SPEC]
        if others and f"{what}.json" not in others:
            raise OutputError(f"--out {folder}: not the folder of a {what}; {advice}")
        for parent in (folder, *folder.glob("runs/??")):
            remove_leftovers(parent)
        yield
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror or error}") from None
    finally:
        os.close(descriptor)


def count_others(folder: Path, keys: Iterable[str]) -> int:
    """Counts the runs in a folder that are none of these."""
    own = set(keys)
    runs = (path for path in folder.glob("runs/??/*") if not path.name.startswith(PREFIX))
    return sum(path.parent.name + path.name not in own for path in runs)


def write_document(folder: Path, document: dict[str, Any], name: str = DOCUMENT) -> None:
    """Writes a document, such as that of the sweep, atomically."""
    with locked_folder(folder) as unfinished:
        new = unfinished / name
        new.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        new.replace(folder / name)


@dataclass(frozen=True)
class Unfinished:
    """Unfinished rows of a table: flows or jobs that the end of their run cut off."""

    count: int = 0
    """Number of such rows."""
    rows: int = 0
    """Number of all rows of the table."""
    runs: int = 0
    """Number of runs that have such rows."""


def read_manifests(folder: Path, runs: Sequence[Planned]) -> dict[Planned, dict[str, Any]]:
    """Returns the manifests of runs that have results.

    Raises:
        OutputError: One has none.
    """
    found = {}
    for run in runs:
        results = results_of(folder, run.key)
        manifest = _manifest(results)
        if manifest is None:
            raise OutputError(f"{results}: was removed during the sweep; rerun the same command")
        found[run] = manifest
    return found


def count_unfinished(manifests: Mapping[Planned, Mapping[str, Any]]) -> dict[str, Unfinished]:
    """Counts the flows and jobs that had not ended when their runs did."""
    found = {table: Unfinished() for table in ("flows", "jobs")}
    for manifest in manifests.values():
        for table, before in found.items():
            count = manifest.get("unfinished", {}).get(table, 0)
            rows = manifest.get("rows", {}).get(table, 0)
            found[table] = Unfinished(before.count + count, before.rows + rows, before.runs + (count > 0))
    return found


@dataclass(frozen=True)
class RunWarning:
    """A warning of runs; their lines are alike except for numbers."""

    line: str
    """The line of the first of these runs."""
    runs: tuple[Planned, ...]
    lines: int
    """Number of different lines."""


def collect_warnings(manifests: Mapping[Planned, Mapping[str, Any]]) -> list[RunWarning]:
    """Returns the warnings of the runs, each once: lines that differ in numbers only are one."""
    found: dict[str, dict[str, list[Planned]]] = {}
    for run, manifest in manifests.items():
        for line in dict.fromkeys(manifest.get("warnings", [])):
            found.setdefault(_NUMBER.sub("#", line), {}).setdefault(line, []).append(run)
    return [
        RunWarning(next(iter(lines)), tuple(run for of_line in lines.values() for run in of_line), len(lines))
        for lines in found.values()
    ]


def write_tables(
    folder: Path, sweep: SweepPlan, runs: Sequence[Planned], manifests: Mapping[Planned, Mapping[str, Any]]
) -> dict[str, Path]:
    """Assembles the tables of these runs.

    A table begins with a column per axis, then `seed`, then `run`, which is the key of the run. Rows are in the order
    of the sweep. Runs at different levels (packet, flow, linux) have different columns; those that a run lacks are
    null in its rows.

    Returns:
        The folder of each table that at least one run has.
    """
    tables = folder / "tables"
    with new_folder(tables) as unfinished:
        rows, levels = _counted(manifests)
        columns = _columns(folder, {run: rows[run] for run in levels.values()})
        labels = _labels(sweep, runs, {name for frame in columns.values() for name in frame.columns})
        of_level = {run: manifest["level"] for run, manifest in manifests.items()}
        for table, empty in columns.items():
            (unfinished / table).mkdir()
            counts = {run: rows[run].get(table, 0) for run in runs}
            for part, frame in enumerate(_parts(folder, table, empty, counts, labels, of_level)):
                # Names have a fixed width, so that sorting them gives the order of rows.
                frame.write_parquet(unfinished / table / f"{part:05}.parquet")
        if tables.exists():
            shutil.rmtree(tables)
    return {table: tables / table for table in columns}


def _counted(
    manifests: Mapping[Planned, Mapping[str, Any]],
) -> tuple[dict[Planned, dict[str, int]], dict[str, Planned]]:
    """Returns the number of rows of each table of each run, and one run of each level."""
    rows: dict[Planned, dict[str, int]] = {}
    levels: dict[str, Planned] = {}
    for run, manifest in manifests.items():
        rows[run] = {table: manifest["rows"][table] for table in api.TABLES if table in manifest["rows"]}
        levels.setdefault(manifest["level"], run)
    return rows, levels


def _columns(folder: Path, rows: dict[Planned, dict[str, int]]) -> dict[str, pl.DataFrame]:
    """Returns an empty frame with the columns of each table of at least one run; they depend only on the level."""
    import polars as pl

    found: dict[str, pl.DataFrame] = {}
    for table in api.TABLES:
        frames = [_read(folder, table, run).clear() for run, tables in rows.items() if table in tables]
        if frames:
            frames.sort(key=lambda frame: frame.width, reverse=True)
            found[table] = pl.concat(frames, how="diagonal")
    return found


def _labels(sweep: SweepPlan, runs: Sequence[Planned], taken: set[str]) -> pl.DataFrame:
    """Returns the columns before those of a table, with one row per run."""
    import polars as pl

    names = label_names(sweep.axes, taken | {"seed", "run"})
    # A series gives all labels of an axis one type.
    values = [pl.Series(name, axis.labels()) for name, axis in zip(names, sweep.axes, strict=True)]
    axes = [column[[run.point[n] for run in runs]] for n, column in enumerate(values)]
    seeds = pl.Series("seed", [run.seed for run in runs], pl.Int64)
    return pl.DataFrame([*axes, seeds, pl.Series("run", [run.key for run in runs], pl.String)])


def _parts(
    folder: Path,
    table: str,
    empty: pl.DataFrame,
    counts: dict[Planned, int],
    labels: pl.DataFrame,
    of_level: Mapping[Planned, str],
) -> Iterator[pl.DataFrame]:
    """Yields the frame of each file. Without rows it yields one empty frame, so that the columns are written.

    Args:
        folder: The folder of the sweep.
        table: Name of the table.
        empty: An empty frame with its own columns.
        counts: Number of its rows in each run.
        labels: The columns before its own, with one row per run.
        of_level: The level of each run; tables of one level have the same columns.
    """
    import polars as pl

    columns = pl.concat([labels.clear(), empty], how="horizontal")
    frames, rows = [columns], 0
    batch: list[tuple[int, Planned]] = []

    def read() -> pl.DataFrame:
        """Reads the tables of the runs of a batch at once, which is faster than one by one."""
        own = _read_all(folder, table, [run for _, run in batch])
        repeats = pl.Series([counts[run] for _, run in batch])
        index = pl.Series([n for n, _ in batch]).repeat_by(repeats).explode()
        return pl.concat([labels[index], own], how="horizontal")

    for n, (run, count) in enumerate(counts.items()):
        if count == 0:
            continue
        if batch and of_level[batch[-1][1]] != of_level[run]:
            frames.append(read())
            batch = []
        batch.append((n, run))
        rows += count
        if rows >= ROWS_PER_PART:
            yield pl.concat([*frames, read()], how="diagonal", rechunk=True)
            frames, batch, rows = [columns], [], 0
    if batch:
        frames.append(read())
    if rows or not any(counts.values()):
        yield pl.concat(frames, how="diagonal", rechunk=True)


def _read_all(folder: Path, table: str, runs: Sequence[Planned]) -> pl.DataFrame:
    """Returns the rows of a table of several runs of one level, in their order."""
    import polars as pl

    try:
        return pl.read_parquet([results_of(folder, run.key) / f"{table}.parquet" for run in runs])
    except (OSError, pl.exceptions.PolarsError):
        # The error names the file that cannot be read.
        return pl.concat([_read(folder, table, run) for run in runs], how="vertical_relaxed")


def _read(folder: Path, table: str, run: Planned) -> pl.DataFrame:
    import polars as pl

    results = results_of(folder, run.key)
    file = results / f"{table}.parquet"
    try:
        return pl.read_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        advice = f"remove {results} and rerun the same command"
        raise OutputError(f"{file}: cannot read: {reason}; {advice}") from None


def _manifest(results: Path) -> dict[str, Any] | None:
    try:
        found = json.loads((results / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and {"partial", "rows", "level"} <= found.keys() else None
