"""The table with which `weft sweep` ends: measures of each combination of values, with intervals over the seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from weft.measures import parse, unit_of
from weft.plots.axes import digits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.sweeps.results import Sweep

MAX_ROWS = 40
"""Maximum number of rows that are printed."""
MAX_POINTS = 4
"""Maximum number of seeds whose values are printed instead of an interval."""


def default_measures(sweep: Sweep) -> list[str]:
    """Returns measures that suit a sweep: times of jobs, else of flows that end, else goodputs."""
    names = sweep.scan("flows").collect_schema().names()
    columns = [name for name in ("fct_s", "slowdown", "unfinished_s", "timeouts") if name in names]
    counts = (
        sweep.scan("flows")
        .select(pl.col(columns).count(), some=(pl.col("timeouts") > 0).sum() if "timeouts" in names else pl.lit(0))
        .collect()
        .row(0, named=True)
    )
    ends = counts.get("fct_s", 0) or counts.get("unfinished_s", 0)
    found = _of_jobs(sweep)
    if not found:
        found = ["mean fct"] if ends else ["mean goodput", "min goodput"]
        found += ["p99 slowdown"] if counts.get("slowdown", 0) else []
    return found + (["mean timeouts"] if counts["some"] else [])


def _of_jobs(sweep: Sweep) -> list[str]:
    """Returns measures of the jobs of a sweep, for which its flows are only the means."""
    if not (sweep.folder / "tables" / "jobs").is_dir():
        return []
    counts = sweep.scan("jobs").select(pl.all().count()).collect().row(0, named=True)
    return [measure for measure, column in (("mean jct", "jct_s"), ("mean busbw", "bus_bps")) if counts.get(column)]


def table(sweep: Sweep, measures: Sequence[str]) -> tuple[list[str], list[list[Any]]]:
    """Returns the headings and rows of a table of measures.

    Below five seeds the values of the seeds follow the median instead of an interval.

    Raises:
        UsageError: A measure is none.
    """
    groups = [sweep.title(name) for name in sweep.axes]
    columns, rows = [*groups, "seeds"], []
    for number, text in enumerate(measures):
        measure = parse(text)
        summary, values = sweep.summary(text), sweep.values(text)
        size, unit = unit_of(summary["median"].drop_nulls().to_list(), measure.units)
        title = f"{measure.title} ({unit})" if unit else measure.title
        columns += [title, "95 % interval" if summary["low"].count() else "seeds alone"]
        for n, row in enumerate(summary.iter_rows(named=True)):
            if number == 0:
                rows.append([*(row[name] for name in groups), row["n"]])
            own = values.filter(
                pl.all_horizontal(pl.col(name).eq_missing(row[name]) for name in groups)
                if groups
                else pl.lit(value=True)
            )
            rows[n] += _cells(row, own["value"].drop_nulls().to_list(), size)
    return columns, rows


def _cells(row: dict[str, Any], values: Sequence[float], size: float) -> list[str]:
    if row["median"] is None:
        return ["-", ""]
    bound = "\u2265 " if row["at_least"] else ""
    if row["low"] is not None:
        interval = f"{digits(row['low'] / size)} to {digits(row['high'] / size)}"
    else:
        interval = ", ".join(digits(value / size) for value in values) if 1 < len(values) <= MAX_POINTS else ""
    return [f"{bound}{digits(row['median'] / size)}", interval]
