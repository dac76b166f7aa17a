"""The folder of a sweep: results of runs by key, and tables of all of them with labels.

runs/KEY[:2]/KEY[2:]/       one run: its tables and manifest, complete or absent
tables/TABLE/00000.parquet  the rows of all runs of the sweep as last requested, in its order
sweep.json                  what was requested, and which key belongs to which run
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from weft import api
from weft.errors import OutputError
from weft.grid.axes import label_names
from weft.output import PREFIX, locked_folder, new_folder, remove_leftovers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import polars as pl

    from weft.grid.plan import Planned, Sweep

DOCUMENT = "sweep.json"

ROWS_A_PART = 4_000_000
"""Maximum rows in memory, apart from those of one run, while tables are assembled; then a file is full."""


def place_of(folder: Path, key: str) -> Path:
    """Where the results of a run are: in a subfolder, because folders with very many entries are slow."""
    return folder / "runs" / key[:2] / key[2:]


def is_complete(place: Path) -> bool:
    """Are a run's results there, and complete?"""
    return (manifest := _manifest(place)) is not None and not manifest["partial"]


@contextmanager
def opened(folder: Path, what: str = "sweep") -> Iterator[None]:
    """Locks a folder against other sweeps, creates it if needed, and removes what killed sweeps left.

    Args:
        folder: A new folder, or one with a document `{what}.json`.
        what: What the folder is of, such as a sweep.

    Raises:
        OutputError: It is not the folder of a sweep, another sweep is using it, or it cannot be written.
    """
    allowed = f"allowed: a new folder, or a {what}'s"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise OutputError(f"--out {folder}: cannot be made: {reason}; {allowed}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(f"--out {folder}: another {what} is using it; allowed: one at a time") from None
        except OSError:
            pass  # a file system without locks
        others = [path.name for path in folder.iterdir() if not path.name.startswith(PREFIX)]
        if others and f"{what}.json" not in others:
            raise OutputError(f"--out {folder}: is not the folder of a {what}; {allowed}")
        for place in (folder, *folder.glob("runs/??")):
            remove_leftovers(place)
        yield
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror or error}") from None
    finally:
        os.close(descriptor)


def write_document(folder: Path, document: dict[str, Any], name: str = DOCUMENT) -> None:
    """Writes a document, such as what the sweep is, in one step."""
    with locked_folder(folder) as unfinished:
        new = unfinished / name
        new.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        new.replace(folder / name)


def write_tables(folder: Path, sweep: Sweep, runs: Sequence[Planned]) -> dict[str, Path]:
    """Assembles the tables of these runs.

    A table's own columns follow those of the axes, `seed`, and `run`, the run's key. Rows are in the order of the
    sweep.

    Returns:
        The folder of each table.
    """
    tables = folder / "tables"
    with new_folder(tables) as unfinished:
        labels = _labels(folder, sweep, runs)
        for table in api.TABLES:
            (unfinished / table).mkdir()
            for part, rows in enumerate(_parts(folder, table, runs, labels)):
                # A name's width is fixed, so that the order of names is that of rows.
                rows.write_parquet(unfinished / table / f"{part:05}.parquet")
        if tables.exists():
            shutil.rmtree(tables)
    return {table: tables / table for table in api.TABLES}


def _labels(folder: Path, sweep: Sweep, runs: Sequence[Planned]) -> dict[Planned, list[pl.Expr]]:
    import polars as pl

    if not runs:
        return {}
    first = place_of(folder, runs[0].key)
    taken = {name for table in api.TABLES for name in pl.read_parquet_schema(first / f"{table}.parquet")}
    names = label_names(sweep.axes, taken | {"seed", "run"})
    # Series, for a literal has the width of its own value alone.
    values = [pl.Series(name, axis.labels()) for name, axis in zip(names, sweep.axes, strict=True)]

    def of(run: Planned) -> list[pl.Expr]:
        axes = [pl.lit(column[n], column.dtype).alias(column.name) for column, n in zip(values, run.point, strict=True)]
        return [*axes, pl.lit(run.seed, pl.Int64).alias("seed"), pl.lit(run.key).alias("run")]

    return {run: of(run) for run in runs}


def _parts(
    folder: Path, table: str, runs: Sequence[Planned], labels: dict[Planned, list[pl.Expr]]
) -> Iterator[pl.DataFrame]:
    """The rows of all runs, file by file; at least one file, which has the columns."""
    import polars as pl

    frames: list[pl.DataFrame] = []
    rows = 0
    empty: pl.DataFrame | None = None
    for run in runs:
        place = place_of(folder, run.key)
        manifest = _manifest(place)
        if manifest is None:
            raise OutputError(f"{place}: was removed; allowed: the folder of a sweep stays unchanged while it runs")
        if manifest["rows"][table] == 0 and empty is not None:
            continue
        new = pl.read_parquet(place / f"{table}.parquet").select(*labels[run], pl.all())
        empty = new.clear()
        frames.append(new)
        rows += new.height
        if rows >= ROWS_A_PART:
            yield pl.concat(frames, rechunk=True)
            frames, rows = [], 0
    if frames:
        yield pl.concat(frames, rechunk=True)


def _manifest(place: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found
