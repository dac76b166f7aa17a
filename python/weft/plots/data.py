"""Data frames for plots, computed from a run's tables, for Matplotlib, Altair and the report.

All values are measured. If there are more values than a plot can show, `thinned` omits some; it never interpolates.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import polars as pl

from weft import stats
from weft.errors import UsageError
from weft.stats import EDGES_BYTES, by_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.api import Result

MAX_LINES = 20
"""Maximum number of lines in a plot; more cannot be distinguished."""


def fct(flows: pl.DataFrame, by: str) -> pl.DataFrame:
    """Distribution of flow completion times: `group`, `value` in seconds and `fraction`, as steps.

    The name of a group says how many of its flows have ended.

    Raises:
        UsageError: There is no such column, or no flow has ended.
    """
    ended = has(flows, by).drop_nulls("fct_s")
    if ended.is_empty():
        raise UsageError("plot.fct: no flow has ended; use a longer run")
    names = fct_names(flows, by)
    return stats.cdf(ended, "fct_s", by=by).select(
        pl.col(by).replace_strict(names, return_dtype=pl.String).alias("group"), "value", "fraction"
    )


def fct_names(flows: pl.DataFrame, by: str) -> dict[Any, str]:
    """Returns a name for each group of flows, which says how many of them have ended."""
    counts = flows.group_by(by, maintain_order=True).agg(ended=pl.col("fct_s").count(), all=pl.len())
    return {row[by]: f"{_name(row[by])}: {row['ended']:,} of {row['all']:,}" for row in counts.iter_rows(named=True)}


def slowdown(flows: pl.DataFrame, by: str, percents: Sequence[float] = (50, 99)) -> pl.DataFrame:
    """Slowdown by size of flow: `group`, `size`, `size_index` (from 0), `flows`, `percentile`, `value`.

    `at_least` tells where a percentile reaches into flows that the run's end cut off, so that it may be higher.

    Args:
        flows: The table of that name.
        by: Column that tells groups apart.
        percents: From 0 to 100.

    Raises:
        UsageError: There is no such column, or no flow has a slowdown.
    """
    classes = by_size(has(flows, by), percents, by=by)
    if classes.is_empty():
        raise UsageError("plot.slowdown: no flow has a size; use a run whose flows have sizes")
    classes = classes.filter(pl.col(f"p{percents[0]:g}").is_not_null())
    if classes.is_empty():
        raise UsageError("plot.slowdown: no flow has a slowdown; use a level other than linux")
    edges = [*EDGES_BYTES, None]
    rows = [
        {
            "group": _name(row[by]),
            "size": row["size"],
            "size_index": edges.index(row["below_bytes"]),
            "flows": row["flows"],
            "percentile": f"p{percent:g}",
            "value": row[f"p{percent:g}"],
            "at_least": row[f"p{percent:g}_is_lower_bound"],
        }
        for row in classes.iter_rows(named=True)
        for percent in percents
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def windows(traces: pl.DataFrame, flow: int | None = None) -> tuple[int, pl.DataFrame]:
    """Windows of a flow: its index, and `time_s`, `subflow` (such as "subflow 0"), `cwnd_packets` and `active`.

    Args:
        traces: The table of that name.
        flow: Index of a flow on record; the first one unless given.

    Raises:
        UsageError: No probe has put that flow on record.
    """
    chosen, rows = _traced(traces, flow, "windows", "cwnd_packets")
    subflow = pl.format("subflow {}", "subflow").alias("subflow")
    # Kinds that cannot suppress a subflow do not say whether it is active.
    return chosen, rows.select("time_s", subflow, "cwnd_packets", pl.col("active").fill_null(value=True))


def rates(traces: pl.DataFrame, flow: int | None = None) -> tuple[int, pl.DataFrame]:
    """Sending rate of a flow whose congestion control sets one: its index, and `time_s` and `rate_bps`.

    Args:
        traces: The table of that name.
        flow: Index of a flow on record; the first one unless given.

    Raises:
        UsageError: No probe has put the rate of that flow on record.
    """
    chosen, rows = _traced(traces, flow, "rates", "rate_bps")
    return chosen, rows.select("time_s", "rate_bps")


def _traced(traces: pl.DataFrame, flow: int | None, plot: str, column: str) -> tuple[int, pl.DataFrame]:
    traced = traces.drop_nulls(column) if column in traces.columns else traces.clear()
    if traced.is_empty():
        other = {"windows": ("rate_bps", "rates"), "rates": ("cwnd_packets", "windows")}[plot]
        if other[0] in traces.columns and traces[other[0]].count():
            raise UsageError(f"plot.{plot}: the recorded flows have {other[1]}; use plot.{other[1]}")
        raise UsageError(f'plot.{plot}: no flow is recorded; add a probe of kind "flow" to the spec')
    chosen = int(traced["flow"][0]) if flow is None else flow
    rows = traced.filter(pl.col("flow") == chosen)
    if rows.is_empty():
        raise UsageError(f"plot.{plot}: flow {chosen} is not recorded; choose a flow with a probe")
    return chosen, rows


def throughput(throughput: pl.DataFrame, flows: pl.DataFrame, by: str) -> pl.DataFrame:
    """Goodput over time: `group`, `time_s` (the end of an interval) and `goodput_bps`, the sum over the flows.

    Intervals in which nothing arrived have a row with 0, from the first to the last interval of the group.

    Args:
        throughput: The table of that name.
        flows: The table of that name.
        by: Column of `flows` that tells groups apart.

    Raises:
        UsageError: There is no such column, nothing is recorded, or intervals differ.
    """
    if throughput.is_empty():
        raise UsageError('plot.throughput: nothing is recorded; add a probe of kind "throughput" to the spec')
    width = float(throughput["interval_s"].max())  # type: ignore[arg-type]
    index = (pl.col("time_s") / width - 1e-9).ceil().cast(pl.Int64)
    chosen = flows.select("flow") if by == "flow" else has(flows, by).select("flow", by)
    named = throughput.join(chosen, on="flow").select(
        pl.col(by).cast(pl.String).fill_null("none").alias("group"), "time_s", "interval_s", "goodput_bps", index=index
    )
    # The last interval may be shorter.
    if named.filter((pl.col("interval_s") < width * (1 - 1e-9)) & (pl.col("index") < pl.col("index").max())).height:
        raise UsageError("plot.throughput: intervals differ; record one interval, or draw the table itself")
    summed = named.group_by("group", "index").agg(pl.col("time_s").first(), pl.col("goodput_bps").sum())
    grid = (
        summed.group_by("group")
        .agg(first=pl.col("index").min(), last=pl.col("index").max())
        .select("group", index=pl.int_ranges("first", pl.col("last") + 1))
        .explode("index")
    )
    rows = grid.join(summed, on=["group", "index"], how="left").sort("group", "index")
    return rows.select(
        "group", pl.col("time_s").fill_null(pl.col("index") * width), pl.col("goodput_bps").fill_null(0.0)
    )


def suppressed(rows: pl.DataFrame) -> pl.DataFrame:
    """Intervals in which subflows were suppressed, until the flow's last sample: `subflow`, `from_s` and `to_s`.

    A probe without an interval records changes, so a subflow that stays suppressed has no later sample of its own.

    Args:
        rows: Rows that `windows` returned.
    """
    changed = rows.filter((pl.col("active") != pl.col("active").shift(1)).over("subflow").fill_null(value=True))
    spans = changed.with_columns(to_s=pl.col("time_s").shift(-1).over("subflow"), last=pl.lit(rows["time_s"].max()))
    return (
        spans.filter(~pl.col("active"))
        .select("subflow", pl.col("time_s").alias("from_s"), pl.coalesce("to_s", "last").alias("to_s"))
        .sort("subflow", "from_s")
    )


def queues(traces: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Lengths of sampled queues: `time_s`, `queue` (such as "s0 to r0"), `link` and `length_packets`.

    Raises:
        UsageError: None is sampled.
    """
    sampled = traces.drop_nulls("length_packets")
    if sampled.is_empty():
        raise UsageError('plot.queues: no queue is sampled; add a probe of kind "queue" with an interval to the spec')
    names = links.select("link", pl.format("{} to {}", "from", "to").alias("queue"))
    return sampled.join(names, on="link", how="left", maintain_order="left").select(
        "time_s", pl.coalesce("queue", pl.col("link").cast(pl.String)), "link", "length_packets"
    )


def buffers(traces: pl.DataFrame) -> pl.DataFrame:
    """Returns the bytes in sampled buffers: `time_s`, `buffer` (the name of the switch) and `buffer_bytes`."""
    return traces.drop_nulls("buffer_bytes").select("time_s", pl.col("node").alias("buffer"), "buffer_bytes")


def losses(traces: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Marks and drops of sampled queues: `time_s`, `of` (such as "s0 to r0: marked") and `count`, since the run began.

    A queue without marks has no series of marks, and a queue without drops has no series of drops.
    """
    sampled = traces.drop_nulls("length_packets")
    queue = pl.coalesce(pl.format("{} to {}", "from", "to"), pl.col("link").cast(pl.String))
    named = sampled.join(links.select("link", "from", "to"), on="link", how="left", maintain_order="left")
    kinds = [
        named.filter((pl.col(column).max() > 0).over("link")).select(
            "time_s", of=pl.format("{}: {}", queue, pl.lit(kind)), count=column
        )
        for column, kind in (("marks", "marked"), ("drops", "dropped"))
    ]
    return pl.concat(kinds).sort("time_s", maintain_order=True)


def jain(flows: pl.DataFrame, by: str) -> pl.DataFrame:
    """Jain's index of the flows' goodputs: `group`, `jain` and `flows`.

    Raises:
        UsageError: There is no such column, or no flow has a goodput.
    """
    having = has(flows, by).drop_nulls("goodput_bps")
    if having.is_empty():
        raise UsageError("plot.jain: no flow has a goodput; use a longer run")
    rows = having.group_by(by).agg(jain=stats.jain("goodput_bps"), flows=pl.len()).sort(by, nulls_last=True)
    return rows.select(pl.col(by).cast(pl.String).fill_null("none").alias("group"), "jain", "flows")


def utilisation(links: pl.DataFrame) -> pl.DataFrame:
    """Utilisation by stage and direction: `stage`, `links`, `mean` (of its capacity), `min` and `max` over links."""
    rows = stats.utilisation(links)
    stage = pl.concat_str("stage", "direction", separator=" ", ignore_nulls=True)
    return rows.select(stage.alias("stage"), "links", "mean", "min", "max")


def active_span(result: Result) -> tuple[float, float]:
    """Returns the time in which flows were open: from the first start to the last end, in seconds.

    Flows that were open at the end of the run extend it to that end.
    """
    end = float(result.manifest["end_s"])
    if result.flows.is_empty():
        return 0.0, end
    stop = pl.col("stop_s") if "stop_s" in result.flows.columns else pl.lit(None)
    over = pl.coalesce("finish_s", stop).fill_null(end)
    first, last = result.flows.filter(pl.col("start_s") <= end).select(pl.col("start_s").min(), over.max()).row(0)
    if first is None or last is None or last <= first:
        return 0.0, end
    return float(first), min(float(last), end)


def active_links(result: Result) -> pl.DataFrame:
    """Returns the table `links` with utilisations of the time in which flows were open, within the measured time."""
    begin, stop = result.manifest["measured_s"]
    first, last = active_span(result)
    active = min(last, stop) - max(first, begin)
    if not 0 < active < stop - begin:
        return result.links
    factor = (stop - begin) / active
    return result.links.with_columns((pl.col("utilisation") * factor).clip(upper_bound=1.0))


def check_lines(rows: pl.DataFrame, plot: str, column: str, what: str) -> None:
    """Checks that a plot can show a line per value of a column.

    Raises:
        UsageError: There are too many lines to distinguish.
    """
    if (count := rows[column].n_unique()) > MAX_LINES:
        raise UsageError(f"plot.{plot}: {count} {what}; allowed: at most {MAX_LINES} in a plot")


def seconds_of(text: str) -> float:
    """Returns a time of a resolved spec, such as "10ms", in seconds."""
    found = re.fullmatch(r"([\d.]+) ?(ps|ns|us|ms|s)", text)
    if found is None:
        raise ValueError(text)
    return float(found[1]) * {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[found[2]]


def in_progress(rows: pl.DataFrame, begins: str, ends: str) -> pl.DataFrame:
    """Number of rows that have begun and not ended: `time_s` and `count`, one row per change.

    Args:
        rows: A table such as `flows` or `suppressions`.
        begins: Column with the start of each row.
        ends: Column with the end of each row; null means that it has not ended.
    """
    changes = pl.concat(
        [
            rows.select(time_s=begins, change=pl.lit(1)),
            rows.select(time_s=ends, change=pl.lit(-1)).drop_nulls("time_s"),
        ]
    )
    at_once = changes.group_by("time_s").agg(pl.col("change").sum()).sort("time_s")
    return at_once.select("time_s", count=pl.col("change").cum_sum())


def thinned(
    rows: pl.DataFrame, value: str, span: tuple[float, float], bins: int, by: str | None = None
) -> pl.DataFrame:
    """Keeps the first, last, smallest and largest row of each interval of a series in time.

    A line through these covers the same pixels as a line through all rows, if the plot is `bins` pixels wide. An
    interval includes its end but not its beginning, so the value that holds at the end of each interval is exact.

    Source: Jugel, Jerzak, Hackenbroich and Markl, `M4: A Visualization-Oriented Time Series Data Aggregation` (2014).

    Args:
        rows: In order of `time_s`.
        value: The column that is drawn.
        span: First and last time.
        bins: Intervals between the two.
        by: Column that tells series apart.
    """
    if rows.height <= 4 * bins:
        return rows
    low, high = span
    width = (high - low) / bins or 1.0
    groups = ["bin"] if by is None else [by, "bin"]
    numbered = rows.with_row_index("row").with_columns(bin=((pl.col("time_s") - low) / width - 1e-9).ceil())
    row = pl.col("row")
    kept = numbered.group_by(groups).agg(
        first=row.first(),
        last=row.last(),
        least=row.get(pl.col(value).arg_min()),
        most=row.get(pl.col(value).arg_max()),
    )
    chosen = pl.concat([kept[name] for name in ("first", "last", "least", "most")]).unique()
    return numbered.filter(row.is_in(chosen.implode())).drop("row", "bin")


def thinned_steps(steps: pl.DataFrame, most: int, by: str = "group") -> pl.DataFrame:
    """Keeps at most about `most` steps of each distribution, evenly by fraction, and all of the last ones.

    Args:
        steps: With `fraction`, rising in each group.
        most: Steps to keep.
        by: Column that tells distributions apart.
    """
    half = max(1, most // 2)
    bin_index = (pl.col("fraction") * half).floor()
    first = (bin_index != bin_index.shift(1)).over(by).fill_null(value=True)
    end = pl.int_range(pl.len()).reverse().over(by) < half
    return steps.filter(first | end)


def has(rows: pl.DataFrame, by: str) -> pl.DataFrame:
    """The rows, after a look whether they have the column.

    Raises:
        UsageError: They have not.
    """
    if by not in rows.columns:
        raise UsageError(f"by: {by!r} is not a column of flows; allowed: {', '.join(rows.columns)}")
    return rows


def seconds_name(seconds: float) -> str:
    """Returns a time with a unit, such as "1.5 ms"."""
    if seconds == 0 or not math.isfinite(seconds):
        return f"{seconds:g} s"
    scale = next(((power, unit) for power, unit in ((0, "s"), (3, "ms"), (6, "us")) if seconds * 10**power >= 1), None)
    power, unit = scale or (9, "ns")
    return f"{seconds * 10**power:.4g} {unit}"


def _name(value: object) -> str:
    return "none" if value is None else str(value)
