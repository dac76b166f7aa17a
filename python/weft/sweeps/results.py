"""The results of a sweep: tables of all its runs, each run, measures with intervals, plots and a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft import api
from weft.api import Result
from weft.errors import NotAFolderError, OutputError, UsageError
from weft.measures import Measure, parse
from weft.sweeps.axes import Axis
from weft.sweeps.precision import confidence
from weft.sweeps.store import DOCUMENT, checked_key, results_of

if TYPE_CHECKING:
    import tempfile
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from os import PathLike

    import polars as pl

    from weft.sweeps.plots import SweepPlots

RESULT_COLUMNS = {"seed", "run", "n", "value", "median", "low", "high", "at_least", "ratio", "difference"}
"""Columns of the results of a sweep's methods."""

OWN_COLUMNS = ("seed", "run")
"""Columns of each table of a sweep between those of the varied fields and those of the table."""


class Sweep:
    """Many runs of one experiment: the result of `weft.sweep`, or the folder that `weft sweep` wrote.

    In each table the columns of the varied fields, `seed` and `run` precede the table's own columns. A table is read
    when it is first used.

    >>> sweep = weft.sweep("incast.toml", over={"transports.t.cc": ["amp", "xmp"]}, seeds=5)  # doctest: +SKIP
    >>> sweep.summary("p99 slowdown")  # doctest: +SKIP
    >>> sweep.plot.compare("p99 slowdown")  # doctest: +SKIP
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        """Opens the folder of a sweep.

        Raises:
            NotAFolderError: It is not the folder of a sweep.
            UsageError: Its tables are missing because the sweep was stopped.
        """
        self.folder = Path(folder)
        """The folder of the sweep."""
        self.document = read_document(self.folder)
        """The content of its `sweep.json`: spec, varied fields, seeds, version and the keys of its runs."""
        if not (self.folder / "tables").is_dir():
            raise UsageError(f"{self.folder}: no tables, because the sweep was stopped; run the same command again")
        self.name: str = self.document["name"]
        """Name of the experiment."""
        self.seeds: int = self.document["seeds"]
        """Number of seeds per combination of values, the largest if they differ."""
        axes = axes_of(self.document)
        columns = list(self.scan("flows").collect_schema())[: len(axes)]
        self.axes: dict[str, list[Any]] = {name: list(axis.labels()) for name, axis in zip(columns, axes, strict=True)}
        """Values of each varied field, by the name of its column: its last part if no table has that column."""
        self._short = {name: axis.field.rsplit(".", 1)[-1] for name, axis in zip(columns, axes, strict=True)}
        self.failures: list[dict[str, str]] = []
        """The runs of `weft.sweep` that failed: `run`, `reason` and the `command` that repeats it."""
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    def __repr__(self) -> str:
        axes = ", ".join(f"{name}: {len(values)}" for name, values in self.axes.items())
        runs = len(self.document["runs"])
        return f"<Sweep {self.name or 'unnamed'!r}, {runs:,} runs; values of {axes}; {self.seeds} seeds>"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(', '.join(map(str, values)))}</td></tr>"
            for name, values in {**self.axes, "seeds": [self.seeds], "runs": [len(self.document["runs"])]}.items()
        )
        return f"<table><caption>{escape(self.name or 'sweep')}</caption>{rows}</table>"

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
    def ranks(self) -> pl.DataFrame:
        """One row per rank that began a job of ranks, of each run."""
        return self.table("ranks")

    @property
    def steps(self) -> pl.DataFrame:
        """One row per computing or message of a job of ranks with the probe `steps`, of each run."""
        return self.table("steps")

    @property
    def operations(self) -> pl.DataFrame:
        """One row per collective operation of a job of ranks with the probe `steps`, of each run."""
        return self.table("operations")

    @property
    def queues(self) -> pl.DataFrame:
        """One row per probed queue of each run."""
        return self.table("queues")

    @property
    def links(self) -> pl.DataFrame:
        """One row per link of each run."""
        return self.table("links")

    @property
    def traces(self) -> pl.DataFrame:
        """Samples over time of the probed queues and flows of each run."""
        return self.table("traces")

    @property
    def suppressions(self) -> pl.DataFrame:
        """One row per episode of each run in which a connection's subflows were suppressed."""
        return self.table("suppressions")

    @property
    def latencies(self) -> pl.DataFrame:
        """One row per chunk of data of each run's flows with the probe `latency`."""
        return self.table("latencies")

    @property
    def throughput(self) -> pl.DataFrame:
        """One row per flow with the probe `throughput` and interval in which data arrived, of each run."""
        return self.table("throughput")

    def results(self) -> Iterator[tuple[dict[str, Any], Result]]:
        """Yields each run that has results: its varied fields and `seed`, and its tables."""
        for run in self.document["runs"]:
            folder = results_of(self.folder, run["run"])
            labels = {name: values[n] for (name, values), n in zip(self.axes.items(), run["point"], strict=True)}
            if (folder / "manifest.json").is_file():
                yield {**labels, "seed": run["seed"]}, Result.read(folder)

    def column(self, name: str) -> str:
        """Returns the column of a varied field that is given by its column, its path or the last part of its path."""
        if name in self.axes:
            return name
        fields = dict(zip(self.document["over"], self.axes, strict=True))
        short = [column for column, last in self._short.items() if last == name]
        return fields.get(name) or (short[0] if len(short) == 1 else name)

    def title(self, column: str) -> str:
        """Returns the name of a column in results: for a varied field the last part of its path, if that is unique."""
        short = self._short.get(column, column)
        taken = short in RESULT_COLUMNS or list(self._short.values()).count(short) > 1
        return column if taken else short

    def _groups(self, by: Iterable[str] | None) -> list[str]:
        names = list(self.axes) if by is None else [by] if isinstance(by, str) else list(by)
        return list(dict.fromkeys(map(self.column, names)))

    def values(self, of: str | Callable[[Result], float | None], *, by: Iterable[str] | None = None) -> pl.DataFrame:
        """Returns a measure of each run: the columns of `by`, `seed`, `value` and `at_least`.

        Args:
            of: A measure in words, such as "p99 slowdown" or "mean goodput from 10MB" (see `weft.measures.parse`), or a
                function that takes a `Result` and returns a number or None.
            by: Columns that distinguish groups, by default the varied fields. Columns of the table, such as `transport`
                of flows, divide each run.

        Raises:
            UsageError: It is not a measure, or there is no such column.
        """
        import polars as pl

        groups = self._groups(by)
        if callable(of):
            return self._computed(of, groups)
        measure = parse(of)
        names = self.scan(measure.quantity.table).collect_schema().names()
        unknown = next((name for name in groups if name not in names or name in OWN_COLUMNS), None)
        if unknown is not None:
            allowed = [*self.axes, *(name for name in names if name not in {*self.axes, *OWN_COLUMNS})]
            raise UsageError(f"by: {unknown!r}; allowed: {', '.join(allowed)}")
        keys = list(dict.fromkeys([*groups, *self.axes, "seed"]))
        found = measure.values(self._table_with_own_columns(measure, groups), keys)
        ordered = self._in_order(found, groups)
        rest = [name for name in self.axes if name not in groups]
        return self._named(ordered.select(*groups, *rest, "seed", pl.exclude(*keys)))

    def _table_with_own_columns(self, measure: Measure, groups: Sequence[str]) -> pl.DataFrame:
        """Returns the columns that a measure needs, so that large sweeps fit in memory."""
        scanned = self.scan(measure.quantity.table)
        if measure.name == "queue":
            return scanned.collect()
        needed = {measure.quantity.column, measure.quantity.at_least, "size_bytes", *groups, *self.axes, "seed"}
        names = scanned.collect_schema()
        numbers = [name for name, kind in names.items() if kind.is_numeric()] if measure.name not in names else []
        return scanned.select(name for name in names if name in needed or name in numbers).collect()

    def _computed(self, of: Callable[[Result], float | None], groups: Sequence[str]) -> pl.DataFrame:
        import polars as pl

        unknown = next((name for name in groups if name not in self.axes), None)
        if unknown is not None:
            raise UsageError(f"by: {unknown!r}; allowed with a function: {', '.join(self.axes)}")
        rows = []
        for labels, result in self.results():
            value = of(result)
            if value is not None and not isinstance(value, int | float):
                value = float(value)
            rows.append({**labels, "value": value})
        frame = pl.DataFrame(rows, schema_overrides={"value": pl.Float64}, infer_schema_length=None)
        rest = [name for name in self.axes if name not in groups]
        return self._named(frame.select(*groups, *rest, "seed", "value", at_least=pl.lit(value=False)))

    def _named(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Gives the columns of varied fields short names."""
        return frame.rename({name: self.title(name) for name in self.axes if name in frame.columns})

    def _in_order(self, frame: pl.DataFrame, groups: Sequence[str]) -> pl.DataFrame:
        """Sorts rows by the order in which the values of fields were given."""
        import polars as pl

        known = {title: values for name, values in self.axes.items() for title in (name, self.title(name))}
        ranks = [
            pl.col(name).replace_strict(values, range(len(values)), default=None, return_dtype=pl.Int64)
            if (values := known.get(name)) is not None
            else pl.col(name)
            for name in dict.fromkeys([*groups, *known])
            if name in frame.columns
        ]
        return frame.sort([*ranks, *(["seed"] if "seed" in frame.columns else [])], nulls_last=True)

    def summary(
        self, of: str | Callable[[Result], float | None] = "p99 slowdown", *, by: Iterable[str] | None = None
    ) -> pl.DataFrame:
        """Summarises a measure over the seeds: the columns of `by`, `n`, `median`, `low`, `high` and `at_least`.

        Each run gives one number. `low` and `high` are the 95 % confidence interval of its median over the seeds (see
        `weft.stats.median_ci`), and null for fewer than five seeds. If `precision` decided on the number of seeds, they
        are corrected for the repeated looks. `at_least` says that some run was cut off, so that values may be higher.

        Args:
            of: A measure, as in `values`.
            by: Columns that distinguish groups, by default the varied fields. Runs with other fields are combined.

        Raises:
            UsageError: It is not a measure, or there is no such column.
        """
        import polars as pl

        from weft.stats import median_ci

        columns = self._groups(by)
        values = self.values(of, by=columns)
        groups = list(map(self.title, columns))
        looked = values.with_columns(looks=self._looks(values, groups))
        parts = []
        for (count,), part in looked.group_by("looks", maintain_order=True):
            found = median_ci(part, "value", by=groups, confidence=confidence(int(str(count))))
            parts.append(_with_doubt(found, part, groups))
        return self._in_order(pl.concat(parts), groups) if groups else parts[0]

    def _looks(self, values: pl.DataFrame, groups: Sequence[str]) -> pl.Series:
        """Returns for each run how often the interval of its combination of values was looked at."""
        import polars as pl

        counts = {tuple(cell["point"]): cell["looks"] for cell in self.document.get("looks", [])}
        if not counts:
            return pl.repeat(0, values.height, dtype=pl.Int64, eager=True)
        titles = [self.title(name) for name in self.axes]
        if not set(titles) <= set(groups):
            return pl.repeat(max(counts.values()), values.height, dtype=pl.Int64, eager=True)
        index = [{value: n for n, value in enumerate(given)} for given in self.axes.values()]
        points = values.select(titles).iter_rows() if titles else iter([()] * values.height)
        return pl.Series(
            [counts[tuple(numbers[value] for numbers, value in zip(index, point, strict=True))] for point in points],
            dtype=pl.Int64,
        )

    def compare(
        self,
        a: object,
        b: object,
        of: str | Callable[[Result], float | None] = "p99 slowdown",
        *,
        field: str | None = None,
    ) -> pl.DataFrame:
        """Compares two values of a field seed by seed: the other fields, `n`, `ratio`, `low`, `high` and `at_least`.

        Runs with one seed have the same traffic, so that a ratio of two of them varies less than the runs themselves.
        `ratio` is the median over the seeds of the measure at `a` divided by that at `b`, with its 95 % confidence
        interval, which is null for fewer than five seeds. If the interval excludes 1, the two differ. If a value is not
        positive, the column is `difference`, a minus b, and 0 takes the place of 1.

        Args:
            a: A value of a varied field.
            b: Another value of the field.
            of: A measure, as in `values`.
            field: The field, if several have these values.

        Raises:
            UsageError: No field has both values, or several have.
        """
        import polars as pl

        from weft.stats import median_ci

        having = [name for name, values in self.axes.items() if {str(a), str(b)} <= set(map(str, values))]
        if field is not None:
            having = [name for name in having if name == self.column(field)]
        if len(having) != 1 or str(a) == str(b):
            fields = "; ".join(f"{name}: {', '.join(map(str, values))}" for name, values in self.axes.items())
            problem = "several fields have both; pass field=" if len(having) > 1 else "not two values of a field"
            raise UsageError(f"compare: {a!r:.50} and {b!r:.50}: {problem}; allowed: {fields}")
        name = self.title(having[0])
        others = [self.title(other) for other in self.axes if other != having[0]]
        rows = self.values(of, by=self.axes).with_columns(pl.col(name).cast(pl.String))
        sides = [rows.filter(pl.col(name) == str(side)).drop(name) for side in (a, b)]
        pairs = sides[0].join(sides[1], on=[*others, "seed"], suffix="_b", maintain_order="left")
        pairs = pairs.drop_nulls(["value", "value_b"])
        positive = bool((pairs["value"] > 0).all() and (pairs["value_b"] > 0).all())
        contrast = pl.col("value") / pl.col("value_b") if positive else pl.col("value") - pl.col("value_b")
        word = "ratio" if positive else "difference"
        level = confidence(max((cell["looks"] for cell in self.document.get("looks", [])), default=0))
        found = median_ci(pairs.with_columns(contrast.alias(word)), word, by=others, confidence=level)
        doubtful = pairs.with_columns(pl.col("at_least") | pl.col("at_least_b"))
        found = _with_doubt(found.rename({"median": word}), doubtful, others)
        return self._in_order(found, others) if others else found

    @property
    def plot(self) -> SweepPlots:
        """Plots of the runs: `compare`, `lines`, `heatmap`, `fct`, `cdf` and `utilisation`; each takes `ax`."""
        from weft.sweeps.plots import SweepPlots

        return SweepPlots(self)

    def report(self, file: str | PathLike[str], *, of: str | None = None) -> Path:
        """Writes a page of all statistics and plots that needs no network, and returns its path.

        Args:
            file: A new file, whose name usually ends in ".html".
            of: The measure with which the page opens, such as "mean FCT".

        Raises:
            OutputError: The file exists, or cannot be written.
            RequirementError: A package of the extra `report` is missing.
        """
        from weft.reports import write_report

        return write_report([self.folder], file, of=of)

    def save(self, folder: str | PathLike[str]) -> None:
        """Copies a sweep without `out` to a new folder, which `weft.Sweep` opens and `weft sweep --out` continues.

        Raises:
            OutputError: The folder exists, or cannot be written.
        """
        import shutil

        if Path(folder).exists():
            raise OutputError(f"{folder}: exists already; use a new folder")
        try:
            shutil.copytree(self.folder, folder)
        except OSError as error:
            raise OutputError(f"{folder}: cannot be written: {error.strerror or error}") from None


def _with_doubt(found: pl.DataFrame, rows: pl.DataFrame, groups: Sequence[str]) -> pl.DataFrame:
    """Returns one row per group, with `at_least` if it is true in some row of the group."""
    import polars as pl

    if not groups:
        return found.with_columns(at_least=rows["at_least"].any())
    return found.join(rows.group_by(groups).agg(pl.col("at_least").any()), on=groups, nulls_equal=True)


def read_document(folder: Path) -> dict[str, Any]:
    """Returns the checked content of the `sweep.json` of a folder.

    Raises:
        NotAFolderError: It is not the folder of a sweep.
        UsageError: The file is not valid.
    """
    file = folder / DOCUMENT
    allowed = "pass a folder that `weft sweep` wrote"
    try:
        document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        axes = axes_of(document)
        for run in document["runs"]:
            checked_key(run["run"])
            if len(run["point"]) != len(axes):
                raise ValueError(run["point"])  # noqa: TRY301
            for axis, index in zip(axes, run["point"], strict=True):
                axis.values[index]
            int(run["seed"])
        str(document["name"]), int(document["seeds"]), [axis.labels() for axis in axes]
    except (FileNotFoundError, NotADirectoryError):
        raise NotAFolderError(f"{folder}: not the folder of a sweep: no {DOCUMENT}; {allowed}") from None
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}; {allowed}") from None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise UsageError(f"{file}: not written by weft; {allowed}") from None
    return document


def axes_of(document: Mapping[str, Any]) -> list[Axis]:
    """Returns the axes in the document of a sweep."""
    settings = document.get("settings", {})
    return [
        Axis(name, tuple(values), tuple(tuple(changes) for changes in settings.get(name, ())))
        for name, values in document["over"].items()
    ]
