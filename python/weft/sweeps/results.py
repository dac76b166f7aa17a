"""The results of a sweep, read from its folder: tables of all its runs, and each run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from weft import api
from weft.api import Result
from weft.errors import UsageError
from weft.sweeps.axes import Axis, label_names
from weft.sweeps.store import DOCUMENT, checked_key, results_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    import polars as pl


class Sweep:
    """The results of `weft sweep`.

    In each table the columns of the varied fields, `seed` and `run` precede the table's own columns.

    >>> sweep = weft.Sweep.read("sweep")  # doctest: +SKIP
    >>> sweep.flows.group_by("cc", "seed").agg(pl.col("slowdown").mean())  # doctest: +SKIP
    """

    def __init__(self, folder: Path, document: dict[str, Any]) -> None:
        """Creates the results from a folder that `read` has checked.

        Args:
            folder: The folder of the sweep.
            document: The content of its `sweep.json`.
        """
        self.folder = folder
        self.name: str = document["name"]
        """Name of the experiment."""
        self.seeds: int = document["seeds"]
        """Number of seeds per combination of values."""
        axes = [Axis(name, tuple(values)) for name, values in document["over"].items()]
        names = label_names(axes, {"seed", "run"})
        self.axes: dict[str, list[Any]] = {name: list(axis.labels()) for name, axis in zip(names, axes, strict=True)}
        """Values of each varied field, by the name of its column."""
        self._runs: list[tuple[str, int, list[str]]] = [
            (checked_key(run["run"]), run["seed"], [change.partition("=")[2] for change in run["set"]])
            for run in document["runs"]
        ]
        self._values = [axis.values for axis in axes]

    @classmethod
    def read(cls, folder: str | PathLike[str]) -> Self:
        """Opens the folder of a sweep.

        A table is read when it is first used.

        Raises:
            UsageError: It is not the folder of a sweep, or its tables are missing because the sweep was stopped.
        """
        folder = Path(folder)
        file = folder / DOCUMENT
        allowed = "pass a folder that `weft sweep` wrote"
        try:
            sweep = cls(folder, json.loads(file.read_text(encoding="utf-8")))
        except (FileNotFoundError, NotADirectoryError):
            raise UsageError(f"{folder}: not the folder of a sweep: no {DOCUMENT}; {allowed}") from None
        except OSError as error:
            raise UsageError(f"{file}: cannot be read: {error.strerror}; {allowed}") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise UsageError(f"{file}: not written by weft; {allowed}") from None
        if not (folder / "tables").is_dir():
            raise UsageError(f"{folder}: no tables, because the sweep was stopped; run the same command again")
        return sweep

    def __repr__(self) -> str:
        axes = ", ".join(f"{name}: {len(values)}" for name, values in self.axes.items())
        return f"<Sweep {self.name or 'unnamed'!r}, {len(self._runs):,} runs; values of {axes}; {self.seeds} seeds>"

    def scan(self, table: str) -> pl.LazyFrame:
        """Returns a table for queries that need not fit in memory.

        Raises:
            UsageError: There is no such table.
        """
        import polars as pl

        folder = self.folder / "tables" / table
        if table not in api.TABLES or not folder.is_dir():
            there = [name for name in api.TABLES if (self.folder / "tables" / name).is_dir()]
            raise UsageError(f"{table}: no such table in {self.folder}; allowed: {', '.join(there)}")
        return pl.scan_parquet(folder / "*.parquet")

    def table(self, name: str) -> pl.DataFrame:
        """Returns a table by its name.

        Raises:
            UsageError: There is no such table.
        """
        return self.scan(name).collect()

    @property
    def flows(self) -> pl.DataFrame:
        """One row per flow of each run."""
        return self.table("flows")

    @property
    def subflows(self) -> pl.DataFrame:
        """One row per subflow of each run."""
        return self.table("subflows")

    @property
    def jobs(self) -> pl.DataFrame:
        """One row per job of each run."""
        return self.table("jobs")

    @property
    def links(self) -> pl.DataFrame:
        """One row per link of each run."""
        return self.table("links")

    def results(self) -> Iterator[tuple[dict[str, Any], Result]]:
        """Yields each run that has results: its varied fields and `seed`, and its tables."""
        for key, seed, changes in self._runs:
            folder = results_of(self.folder, key)
            if not (folder / "manifest.json").is_file():
                continue
            labels = {
                name: values[texts.index(change)]
                for (name, values), texts, change in zip(self.axes.items(), self._values, changes, strict=True)
            }
            yield {**labels, "seed": seed}, Result.read(folder)
