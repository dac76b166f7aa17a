"""Statistics of a run's tables, as Polars expressions and frames.

>>> import polars as pl
>>> from weft import stats
>>> flows = pl.DataFrame({"transport": ["amp", "amp", "xmp"], "goodput_bps": [1e9, 3e9, 2e9]})
>>> flows.group_by("transport", maintain_order=True).agg(jain=stats.jain("goodput_bps"))["jain"].to_list()
[0.8, 1.0]

Rows of several runs may be concatenated first (`polars.concat`), with columns for `by` that distinguish the runs. Null
means that something did not happen, and nulls are ignored. A group without any value keeps its row, which is null, and
`weft.errors.ResultWarning` names it. Flows that the end of a run cut off would have taken longer than most others.
`percentiles` and `cdf` count them if `at_least` says how long they had taken by then.

>>> flows = pl.DataFrame({"fct_s": [1.0, 2.0, 3.0, None], "unfinished_s": [None, None, None, 2.5]})
>>> stats.percentiles(flows, "fct_s", (50, 99), at_least="unfinished_s").row(0, named=True)
{'p50': 2.25, 'p99': 2.985, 'p50_is_lower_bound': True, 'p99_is_lower_bound': True, 'unfinished': 1}
"""

from __future__ import annotations

import itertools
import math
import warnings
from functools import cache
from typing import TYPE_CHECKING

import polars as pl

from weft.errors import ResultWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LEVELS = ("host", "switch", "tor", "leaf", "agg", "int", "spine", "core", *(f"level{n}" for n in range(16)))
"""Kinds of nodes at the ends of a link, from the bottom of a topology up; the last ones are BCube's."""

EDGES_BYTES = (10_000, 100_000, 1_000_000, 10_000_000)
"""Boundaries of the classes of `by_size`; a flow of exactly such a size is in the upper class."""

REL_TOL = 0.01
"""By how much a percentile may exceed the one returned, as a share, without being marked as a lower bound."""


def jain(column: str | pl.Expr) -> pl.Expr:
    """Jain's fairness index, (sum of x)^2 / (n * sum of x^2): an aggregation, for `select` and `agg`.

    It ranges from 1/n (one has all) to 1 (all have the same); it is null if there is nothing to share.

    Source: Jain, Chiu and Hawe, "A Quantitative Measure of Fairness and Discrimination for Resource Allocation in
    Shared Computer Systems" (1984).

    Args:
        column: Shares, none below 0, such as the column `goodput_bps` of `flows`.
    """
    share = _expression(column).cast(pl.Float64)
    return pl.when(share.max() > 0).then(share.sum().pow(2) / (share.count() * share.pow(2).sum()))


def percentiles(
    rows: pl.DataFrame,
    column: str | pl.Expr,
    percents: Sequence[float] = (50, 90, 99),
    *,
    by: str | Iterable[str] = (),
    weight: str | pl.Expr | None = None,
    at_least: str | pl.Expr | None = None,
    rel_tol: float = REL_TOL,
) -> pl.DataFrame:
    """Percentiles of a column: one row per group, with the columns of `by`, then `p50`, `p90`, `p99` and so on.

    Without weights they are interpolated linearly between the nearest two values (definition 7 of Hyndman and Fan,
    "Sample Quantiles in Statistical Packages", 1996). With weights a percentile is the smallest value up to which at
    least that share of the weight lies (their definition 1).

    With `at_least`, a row without a value counts with its known lower bound. A percentile is then the lowest possible
    one. `p50_is_lower_bound`, `p90_is_lower_bound` and so on say whether it could exceed that value by more than the
    share `rel_tol`. A last column, `unfinished`, is the number of such rows.

    Args:
        rows: Such as the table `flows`, or `queue_lengths` of the table `queues`.
        column: Values, such as `fct_s`.
        percents: From 0 to 100.
        by: Columns that distinguish groups; without any, all rows are one group.
        weight: Weights, none below 0, such as `seconds` of `queue_lengths`.
        at_least: Lower bounds for rows without a value, such as `unfinished_s` of `flows`.
        rel_tol: By how much a percentile may exceed the one returned, as a share, without being marked.

    Raises:
        ValueError: A percentage is outside 0 to 100, or both `weight` and `at_least` are given.
    """
    for percent in percents:
        if not 0 <= percent <= 100:
            raise ValueError(f"percents: {percent:g}; allowed: 0 to 100")
    if at_least is not None:
        if weight is not None:
            raise ValueError("at_least: given together with weight; remove one of the two")
        found = _censored_percentiles(rows, _expression(column), percents, by, _expression(at_least), rel_tol)
        return _warned(found, by, "percentiles", column)
    if weight is None:
        found = _aggregate(rows, by, {f"p{p:g}": _quantile(_expression(column), p) for p in percents})
        return _warned(found, by, "percentiles", column)
    # A share that misses the required one only by rounding has reached it.
    reached = {p: pl.col("fraction") >= p / 100 - 1e-12 for p in percents}
    smallest = {f"p{p:g}": pl.col("value").filter(enough).min() for p, enough in reached.items()}
    found = _with_all_groups(_aggregate(cdf(rows, column, by=by, weight=weight), by, smallest), rows, by)
    return _warned(found, by, "percentiles", column)


def cdf(
    rows: pl.DataFrame,
    column: str | pl.Expr,
    *,
    by: str | Iterable[str] = (),
    weight: str | pl.Expr | None = None,
    at_least: str | pl.Expr | None = None,
) -> pl.DataFrame:
    """Empirical distribution of a column: the columns of `by`, then `value` (each once, rising) and `fraction`.

    `fraction` is the share of the rows, or of the weight, that has at most `value`; the last one of a group is 1.
    Values without weight are left out. Drawn as steps (matplotlib's `where="post"`) the distribution is exact.

    With `at_least`, rows without a value are included in the total, so a group's last fraction is the share of rows
    with a value. The fraction is then the lowest possible one, and exact up to the smallest `at_least`.

    Args:
        rows: Such as the table `flows`, or `queue_lengths` of the table `queues`.
        column: Values, such as `fct_s`.
        by: Columns that distinguish groups; without any, all rows are one group.
        weight: Weights, none below 0, such as `seconds` of `queue_lengths`.
        at_least: Lower bounds for rows without a value, such as `unfinished_s` of `flows`.
    """
    names = _names(by)
    weights = pl.lit(1.0) if weight is None else _expression(weight).cast(pl.Float64)
    value = _expression(column)
    if at_least is not None:
        # Above all other values; removed at the end.
        value = pl.when(value.is_null() & _expression(at_least).is_not_null()).then(math.inf).otherwise(value)
    weighed = rows.select(*names, value=value, weight=weights)
    total = weighed.drop_nulls("value").group_by(*names, "value").agg(pl.col("weight").sum())
    steps = total.filter(pl.col("weight") > 0).sort(*names, "value", nulls_last=True)
    within = pl.col("weight").cum_sum()
    # The same sum, not one that is added up in another order: the last fraction is exactly 1.
    fraction = within / within.last()
    steps = steps.select(*names, "value", fraction=fraction.over(names) if names else fraction)
    return steps if at_least is None else steps.filter(pl.col("value").is_finite())


def by_size(
    flows: pl.DataFrame,
    percents: Sequence[float] = (50, 99),
    *,
    edges_bytes: Sequence[int] = EDGES_BYTES,
    by: str | Iterable[str] = (),
) -> pl.DataFrame:
    """Percentiles of the slowdown by size: one row per class of sizes that has flows, the smallest first.

    After the columns of `by` come `below_bytes` (null: the largest flows), `size` (such as "10 KB to 100 KB") and
    `flows`, their number. The other columns are those of `percentiles` with `at_least`, which are null where no flow
    has a slowdown. Flows without a size, and those that had not opened, are left out.

    For a confidence interval over seeds, have `seed` in `by` and give the result to `median_ci`.

    Args:
        flows: The table `flows` of a run or a sweep.
        percents: From 0 to 100.
        edges_bytes: Sizes between two classes, rising.
        by: Columns that distinguish groups, such as `transport`.

    Raises:
        ValueError: A column of `by` has the name of one that is added, or an earlier version wrote the table.
    """
    if "slowdown" not in flows.columns:
        raise ValueError("flows: no column slowdown, which earlier versions did not write; rerun the experiment")
    names = _names(by)
    if taken := {"below_bytes", "size", "flows"}.intersection(names):
        raise ValueError(f"by: {min(taken)!r}; allowed: names other than below_bytes, size, flows")
    size = pl.col("size_bytes")
    edges = [size_name(edge) for edge in edges_bytes]
    labels = [f"below {edges[0]}", *(f"{low} to {high}" for low, high in itertools.pairwise(edges))] if edges else []
    below = pl.coalesce(pl.when(size < edge).then(edge) for edge in edges_bytes) if edges else pl.lit(None, pl.Int64)
    opened = pl.coalesce("slowdown", "slowdown_at_least").is_not_null()
    if {"ideal_s", "fct_s", "unfinished_s"} <= set(flows.columns):
        opened |= size.is_not_null() & pl.col("ideal_s").is_null() & pl.coalesce("fct_s", "unfinished_s").is_not_null()
    classed = flows.filter(opened).with_columns(below_bytes=below)
    groups = [*names, "below_bytes"]
    counts = classed.group_by(groups).agg(flows=pl.len())
    # No flow is faster than on an idle path.
    value, at_least = pl.col("slowdown"), pl.col("slowdown_at_least").clip(lower_bound=1.0)
    summary = _censored_percentiles(classed, value, percents, groups, at_least, REL_TOL)
    _warned(summary, groups, "by_size", value)
    largest = f"from {edges[-1]}" if edges else "all"
    label = pl.col("below_bytes").replace_strict(
        dict(zip(edges_bytes, labels, strict=True)), default=None, return_dtype=pl.String
    )
    return summary.join(counts, on=groups, nulls_equal=True, maintain_order="left").select(
        *groups, label.fill_null(largest).alias("size"), "flows", pl.exclude(*groups, "flows")
    )


def size_name(size: float) -> str:
    """Returns a size in words, such as "128 KB" or "1.5 MB"."""
    for power, unit in ((9, "GB"), (6, "MB"), (3, "KB")):
        if size >= 10**power:
            return f"{size / 10**power:.3g} {unit}"
    return f"{size:.0f} B"


def queue_lengths(queues: pl.DataFrame, *, by: str | Iterable[str] = ("link", "from", "to", "layer")) -> pl.DataFrame:
    """Returns the time for which each queue had each length, one row per length.

    The columns are those of `by`, then `packets` and `seconds`.

    Queues with equal columns of `by` are combined, also across runs. For the time-weighted distribution:
    `cdf(queue_lengths(result.queues), "packets", by="link", weight="seconds")`.

    Args:
        queues: The table `queues`.
        by: Columns of it.
    """
    names = _names(by)
    lengths = pl.int_ranges(pl.col("time_at_length_s").list.len()).cast(pl.List(pl.UInt32))
    rows = queues.select(*names, packets=lengths, seconds="time_at_length_s").explode("packets", "seconds")
    return rows.group_by(*names, "packets").agg(pl.col("seconds").sum()).sort(*names, "packets", nulls_last=True)


def utilisation(links: pl.DataFrame, *, by: str | Iterable[str] = ()) -> pl.DataFrame:
    """Utilisation of each stage of a network in each direction, from 0 to 1.

    There is one row per stage and direction. After the columns of `by` come:

    - `stage`: its two ends, the lower first: "host-tor", "tor-agg", "agg-core".
    - `direction`: "up" or "down"; null between equals.
    - `links`: their number.
    - `mean`: weighted by rate, that is, the part of the stage's capacity in use.
    - `min`, `max` and `std`: over the links; `std` is null for a single link.

    Args:
        links: The table `links`.
        by: Columns that distinguish groups, such as a run's label.
    """
    names = _names(by)
    level = {name: n for n, name in enumerate(LEVELS)}
    ends = pl.col("layer").str.split("-")
    lower, upper = (
        ends.list.get(n, null_on_oob=True).replace_strict(level, default=None, return_dtype=pl.Int8) for n in (0, 1)
    )
    down = lower > upper
    stages = links.with_columns(
        stage=pl.when(down).then(ends.list.reverse().list.join("-")).otherwise("layer"),
        direction=pl.when(down).then(pl.lit("down")).when(lower < upper).then(pl.lit("up")),
    )
    use, rate = pl.col("utilisation"), pl.col("rate_bps").cast(pl.Float64)
    used = {
        "links": pl.len(),
        "mean": pl.when(use.count() > 0).then((use * rate).sum() / rate.filter(use.is_not_null()).sum()),
        "min": use.min(),
        "max": use.max(),
        "std": use.std(),
    }
    return _aggregate(stages, [*names, "stage", "direction"], used)


def loss(rows: pl.DataFrame, *, by: str | Iterable[str] = ()) -> pl.DataFrame:
    """Share of packets dropped or lost: the columns of `by`, then `packets` (these included), `drops` and `loss`.

    For the table `links`, they are packets that came to a queue, for instance with `by="layer"`. For the table
    `subflows`, they are packets that a sender sent, for instance by `("flow", "subflow")`, each of which has its own
    path under ECMP. `drops` includes packets that links lost. `loss` is null if there were no packets.

    Args:
        rows: The table `links` or `subflows`.
        by: Columns that distinguish groups.
    """
    of_links = "drops" in rows.columns
    dropped = pl.col("drops" if of_links else "packets_dropped")
    came = pl.col("packets") + dropped if of_links else pl.col("packets_sent")
    if "losses" in rows.columns:
        dropped += pl.col("losses")  # The queue had accepted these.
    counts = {"packets": came.sum(), "drops": dropped.sum()}
    share = pl.when(pl.col("packets") > 0).then(pl.col("drops") / pl.col("packets"))
    return _aggregate(rows, by, counts).with_columns(loss=share)


def time_to_floor(
    traces: pl.DataFrame, floor: float, *, after_s: float = 0.0, by: str | Iterable[str] = ("flow", "subflow")
) -> pl.DataFrame:
    """Returns the time at which each subflow's cwnd reached its floor, one row per recorded subflow.

    The columns are those of `by`, then `time_s`.

    `time_s` is the first time from `after_s` on at which cwnd was at most `floor`. It is `after_s` if cwnd was there at
    that time, and null if it never was. It is exact if the probe `flow` has no `every`; else it is late by up to that
    interval.

    Args:
        traces: The table `traces`.
        floor: In packets.
        after_s: In seconds, such as when another flow started.
        by: Columns that distinguish subflows.
    """
    names = _names(by)
    windows = traces.drop_nulls("cwnd_packets").sort("time_s", maintain_order=True)
    low, time = pl.col("cwnd_packets") <= floor, pl.col("time_s")
    then = low.filter(time <= after_s).last()
    first = pl.when(then).then(pl.lit(after_s)).otherwise(time.filter(low & (time > after_s)).first())
    return _aggregate(windows, names, {"time_s": first})


def median_ci(
    rows: pl.DataFrame, column: str | pl.Expr, *, by: str | Iterable[str] = (), confidence: float = 0.95
) -> pl.DataFrame:
    """Median of independent runs and its confidence interval: the columns of `by`, then `n`, `median`, `low`, `high`.

    Each row counts as one independent measurement, so there must be one per seed. It is a mean or a percentile of its
    flows, and not the flows themselves, which share a network. The interval lies between order statistics. It needs no
    assumption on the distribution, holds for skewed ones, and never leaves the range of the values. Between two order
    statistics it is interpolated. At 95 % it needs five rows, whose range covers the median with 93.75 %; with fewer
    rows `low` and `high` are null.

    Source: Le Boudec, "Performance Evaluation of Computer and Communication Systems" (2010), section 2.2; interpolation
    by Hettmansperger and Sheather, "Confidence intervals based on interpolated order statistics" (1986).

    >>> runs = pl.DataFrame({"cc": ["amp"] * 5 + ["xmp"] * 2, "ms": [2.0, 2.1, 1.9, 2.2, 200.0, 3.0, 5.0]})
    >>> median_ci(runs, "ms", by="cc").rows()
    [('amp', 5, 2.1, 1.9, 200.0), ('xmp', 2, 4.0, None, None)]

    Args:
        rows: One row per seed and group.
        column: Values.
        by: Columns that distinguish groups; without any, all rows are one group.
        confidence: Between 0 and 1.

    Raises:
        ValueError: `confidence` is not between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence: {confidence:g}; allowed: between 0 and 1")
    value = _expression(column).cast(pl.Float64)
    sorted_values = value.drop_nulls().sort()
    middle = {"n": value.count(), "median": value.median(), "values": sorted_values.implode()}
    of_groups = _warned(_aggregate(rows, by, middle), by, "median_ci", column, "median")
    ends = [_median_ends(values or [], confidence) for values in of_groups["values"].to_list()]
    bounds = pl.DataFrame(ends, schema={"low": pl.Float64, "high": pl.Float64}, orient="row")
    return pl.concat([of_groups.drop("values"), bounds], how="horizontal")


def _median_ends(values: Sequence[float], confidence: float) -> tuple[float | None, float | None]:
    """Returns the ends of the interval of the median of these values, which rise."""
    position = order_position(len(values), confidence)
    if position is None:
        return None, None
    rank, part = position
    outer = values[rank - 1], values[-rank]
    if part == 0:
        return outer
    return (1 - part) * outer[0] + part * values[rank], (1 - part) * outer[1] + part * values[-rank - 1]


def order_position(n: int, confidence: float) -> tuple[int, float] | None:
    """Returns the position of the ends of a median's interval among rising values; None if there are too few.

    The lower end is `part` of the way from the value of rank `rank`, counted from 1, to the next one. The upper end is
    as far from the other side.

    Args:
        n: Number of values.
        confidence: Between 0 and 1.
    """
    # A fourth more misses than asked for: five values, whose range misses the median with 1/16, are enough at 95 %.
    if n == 0 or 2.0 ** (1 - n) > 1.25 * (1 - confidence) + 1e-12:
        return None
    rank, covered = order_rank(n, confidence)
    if covered < confidence or rank * 2 >= n:
        return rank, 0.0
    inner = coverage(n, rank + 1) if 2 * (rank + 1) <= n else 0.0
    share = (covered - confidence) / (covered - inner)
    return rank, (n - rank) * share / (rank + (n - 2 * rank) * share)


def order_rank(n: int, confidence: float) -> tuple[int, float]:
    """Returns the order statistics that cover a median: the rank from both ends, at least 1, and its coverage.

    The rank is the largest with at least this coverage; it is 1 if the whole range covers less.

    Args:
        n: Number of values.
        confidence: Between 0 and 1.
    """
    rank = 1
    while 2 * (rank + 1) <= n and coverage(n, rank + 1) >= confidence:
        rank += 1
    return rank, coverage(n, rank)


@cache
def coverage(n: int, rank: int) -> float:
    """Returns the probability that a median lies between the values of this rank from below and from above."""
    return 1.0 - sum(math.comb(n, below) for below in range(rank)) / (1 << (n - 1))


def _quantile(value: pl.Expr, percent: float) -> pl.Expr:
    return value.quantile(percent / 100, interpolation="linear")


def _censored_percentiles(
    rows: pl.DataFrame,
    value: pl.Expr,
    percents: Sequence[float],
    by: str | Iterable[str],
    at_least: pl.Expr,
    rel_tol: float,
) -> pl.DataFrame:
    """Returns percentiles with unfinished rows at their lower bounds, and whether these are lower bounds."""
    names = _names(by)
    both = rows.select(*names, low=pl.coalesce(value, at_least).cast(pl.Float64), unfinished=value.is_null())
    both = both.drop_nulls("low")
    high = pl.when("unfinished").then(math.inf).otherwise("low")
    lowest = {f"p{p:g}": _quantile(pl.col("low"), p) for p in percents}
    # Interpolation between two infinities is NaN, which compares as not larger.
    higher = {
        f"p{p:g}_is_lower_bound": (_quantile(high, p).fill_nan(math.inf) > (1 + rel_tol) * _quantile(pl.col("low"), p))
        for p in percents
    }
    counted = {"unfinished": pl.col("unfinished").sum()}
    found = _aggregate(both, names, {**lowest, **higher, **counted})
    return _with_all_groups(found, rows, by).with_columns(pl.col("unfinished").fill_null(0))


def _with_all_groups(found: pl.DataFrame, rows: pl.DataFrame, by: str | Iterable[str]) -> pl.DataFrame:
    """Returns one row per group of `rows`, also for those that are not in `found`."""
    names = _names(by)
    if not names:
        return found
    groups = rows.select(names).unique().sort(names, nulls_last=True)
    return groups.join(found, on=names, how="left", nulls_equal=True, maintain_order="left")


def _warned(
    found: pl.DataFrame, by: str | Iterable[str], function: str, column: str | pl.Expr, value: str | None = None
) -> pl.DataFrame:
    """Returns `found`, and warns of its groups without a value.

    Args:
        found: A row per group.
        by: Columns that distinguish them.
        function: The function that the user called.
        column: Values that it takes.
        value: The column to look at, by default the first one after those of `by`.
    """
    names = _names(by)
    looked_at = value or next((name for name in found.columns if name not in names), None)
    empty = found.filter(pl.col(looked_at).is_null()) if looked_at else found.clear()
    if names and not empty.is_empty():
        group = ", ".join(f"{name} = {empty[name][0]}" for name in names)
        others = f" and {empty.height - 1} more groups" if empty.height > 1 else ""
        of = _expression(column).meta.output_name()
        line = f"{function}: no value of {of} for {group}{others}; their rows are null"
        warnings.warn(line, ResultWarning, stacklevel=3)
    return found


def _aggregate(rows: pl.DataFrame, by: str | Iterable[str], aggregations: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """Returns one row per group, in the order of groups; without groups, one row."""
    names = _names(by)
    if not names:
        return rows.select(**aggregations)
    return rows.group_by(names).agg(**aggregations).sort(names, nulls_last=True)


def _names(by: str | Iterable[str]) -> list[str]:
    return [by] if isinstance(by, str) else list(by)


def _expression(column: str | pl.Expr) -> pl.Expr:
    return pl.col(column) if isinstance(column, str) else column


def digits(value: float) -> str:
    """Formats a number with three significant digits, or more if it has more before the decimal point."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
