"""Statistics of a run's tables, as Polars expressions and frames.

>>> import polars as pl
>>> from weft import statistics
>>> flows = pl.DataFrame({"transport": ["amp", "amp", "xmp"], "goodput_bps": [1e9, 3e9, 2e9]})
>>> flows.group_by("transport", maintain_order=True).agg(jain=statistics.jain("goodput_bps"))["jain"].to_list()
[0.8, 1.0]

Rows of several runs may be put together first (`polars.concat`), with columns for `by` that tell them apart. Null is
what has not happened; nulls are left out everywhere. What a run's end cut off is the exception: it would have taken
longer than most of what ended, so `percentiles` and `cdf` count it where `at_least` says how long it had taken by then.

>>> flows = pl.DataFrame({"fct_s": [1.0, 2.0, 3.0, None], "unfinished_s": [None, None, None, 2.5]})
>>> statistics.percentiles(flows, "fct_s", (50, 99), at_least="unfinished_s").row(0, named=True)
{'p50': 2.25, 'p99': 2.985, 'p50_at_least': True, 'p99_at_least': True, 'unfinished': 1}
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LEVELS = ("host", "switch", "tor", "leaf", "agg", "spine", "core")
"""What stands at the ends of a link, from the bottom of a topology up."""


def jain(column: str | pl.Expr) -> pl.Expr:
    """Jain's fairness index, (sum of x)^2 / (n * sum of x^2): an aggregation, for `select` and `agg`.

    From 1/n (one has all) to 1 (all have the same); null where there is nothing to share.

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
    apart: float = 0.01,
) -> pl.DataFrame:
    """Percentiles of a column: one row a group, with the columns of `by`, then `p50`, `p90`, `p99` and so on.

    Without weights they are interpolated linearly between the nearest two values (definition 7 of Hyndman and Fan,
    "Sample Quantiles in Statistical Packages", 1996). With weights a percentile is the smallest value up to which at
    least that share of the weight lies (their definition 1).

    With `at_least`, rows without a value count with what is known of them: no less than that. A percentile is then the
    lowest that it can be, and `p50_at_least`, `p90_at_least` and so on tell where it could be higher by more than the
    share `apart`; a last column, `unfinished`, tells how many such rows there are.

    Args:
        rows: Such as the table `flows`, or `queue_lengths` of the table `queues`.
        column: Values, such as `fct_s`.
        percents: From 0 to 100.
        by: Columns that tell groups apart; none: all rows are one group.
        weight: Weights, none below 0, such as `seconds` of `queue_lengths`.
        at_least: Of rows without a value the lowest that it can be, such as `unfinished_s` of `flows`.
        apart: By how much more than told, as a share, a percentile may be without being marked.

    Raises:
        ValueError: A percentage is outside 0 to 100, or both `weight` and `at_least` are given.
    """
    for percent in percents:
        if not 0 <= percent <= 100:
            raise ValueError(f"percents: {percent:g}; allowed: 0 to 100")
    if at_least is not None:
        if weight is not None:
            raise ValueError("at_least: given with weight; allowed: one of the two")
        return _censored_percentiles(rows, _expression(column), percents, by, _expression(at_least), apart)
    if weight is None:
        return _aggregate(rows, by, {f"p{p:g}": _quantile(_expression(column), p) for p in percents})
    # A share that misses the one asked for by no more than rounding has reached it.
    reached = {p: pl.col("fraction") >= p / 100 - 1e-12 for p in percents}
    smallest = {f"p{p:g}": pl.col("value").filter(enough).min() for p, enough in reached.items()}
    return _aggregate(cdf(rows, column, by=by, weight=weight), by, smallest)


def cdf(
    rows: pl.DataFrame,
    column: str | pl.Expr,
    *,
    by: str | Iterable[str] = (),
    weight: str | pl.Expr | None = None,
    at_least: str | pl.Expr | None = None,
) -> pl.DataFrame:
    """Empirical distribution of a column: the columns of `by`, then `value` (each once, rising) and `fraction`.

    `fraction` is the share of the rows, or of the weight, that has at most `value`; a group's last is 1. Values without
    weight are left out. As steps (matplotlib's `where="post"`) it is exact.

    With `at_least`, rows without a value count among all, so that a group's last fraction is the share that has one.
    The fraction is then the lowest that it can be, and exact up to the smallest `at_least`.

    Args:
        rows: Such as the table `flows`, or `queue_lengths` of the table `queues`.
        column: Values, such as `fct_s`.
        by: Columns that tell groups apart; none: all rows are one group.
        weight: Weights, none below 0, such as `seconds` of `queue_lengths`.
        at_least: Of rows without a value the lowest that it can be, such as `unfinished_s` of `flows`.
    """
    names = _names(by)
    weights = pl.lit(1.0) if weight is None else _expression(weight).cast(pl.Float64)
    value = _expression(column)
    if at_least is not None:
        # Beyond all others, and taken away at the end.
        value = pl.when(value.is_null() & _expression(at_least).is_not_null()).then(math.inf).otherwise(value)
    weighed = rows.select(*names, value=value, weight=weights)
    total = weighed.drop_nulls("value").group_by(*names, "value").agg(pl.col("weight").sum())
    steps = total.filter(pl.col("weight") > 0).sort(*names, "value", nulls_last=True)
    within = pl.col("weight").cum_sum()
    # The sum itself, not one added up in another order: the last fraction is exactly 1.
    fraction = within / within.last()
    steps = steps.select(*names, "value", fraction=fraction.over(names) if names else fraction)
    return steps if at_least is None else steps.filter(pl.col("value").is_finite())


def queue_lengths(queues: pl.DataFrame, *, by: str | Iterable[str] = ("link", "from", "to", "layer")) -> pl.DataFrame:
    """How long each queue had which length: the columns of `by`, then `packets` and `seconds`, one row a length.

    Queues, and those of several runs, with equal columns of `by` are put together. For the time-weighted distribution:
    `cdf(queue_lengths(result.queues), "packets", by="link", weight="seconds")`.

    Args:
        queues: The table `queues`.
        by: Columns of it.
    """
    names = _names(by)
    lengths = pl.int_ranges(pl.col("time_at_s").list.len()).cast(pl.List(pl.UInt32))
    rows = queues.select(*names, packets=lengths, seconds="time_at_s").explode("packets", "seconds")
    return rows.group_by(*names, "packets").agg(pl.col("seconds").sum()).sort(*names, "packets", nulls_last=True)


def utilisation(links: pl.DataFrame, *, by: str | Iterable[str] = ()) -> pl.DataFrame:
    """Utilisation of each stage of a network in each direction, from 0 to 1.

    One row a stage and direction, with the columns of `by`, then `stage` (its two ends, the lower first: "host-tor",
    "tor-agg", "agg-core"), `direction` ("up" or "down"; null between equals), `links` (how many), `mean` (weighted by
    their rates: the share of the stage's capacity in use), `min`, `max` and `std` (over the links; null for one).

    Args:
        links: The table `links`.
        by: Columns that tell groups apart, such as a run's label.
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
    """Share of packets dropped: the columns of `by`, then `packets` (dropped ones included), `drops` and `loss`.

    Of the table `links` they are packets that came to a queue, by path such as `by="layer"`; of the table `subflows`
    those that a sender sent, by `("flow", "subflow")`, each of which has a path of its own under ECMP. Null where there
    were none.

    Args:
        rows: The table `links` or `subflows`.
        by: Columns that tell groups apart.
    """
    of_links = "drops" in rows.columns
    dropped = pl.col("drops" if of_links else "packets_dropped")
    came = pl.col("packets") + dropped if of_links else pl.col("packets_sent")
    counts = {"packets": came.sum(), "drops": dropped.sum()}
    share = pl.when(pl.col("packets") > 0).then(pl.col("drops") / pl.col("packets"))
    return _aggregate(rows, by, counts).with_columns(loss=share)


def reached(
    traces: pl.DataFrame, floor: float, *, after_s: float = 0.0, by: str | Iterable[str] = ("flow", "subflow")
) -> pl.DataFrame:
    """When each subflow's cwnd reached its floor: the columns of `by`, then `time_s`, one row a subflow on record.

    `time_s` is the first time from `after_s` on at which cwnd was at most `floor`: `after_s` itself where it was then,
    null where it never was. It is exact where the probe `flow` has no `every`, else late by up to that interval.

    Args:
        traces: The table `traces`.
        floor: In packets.
        after_s: In seconds, such as when another flow started.
        by: Columns that tell subflows apart.
    """
    names = _names(by)
    windows = traces.drop_nulls("cwnd_packets").sort("time_s", maintain_order=True)
    low, time = pl.col("cwnd_packets") <= floor, pl.col("time_s")
    then = low.filter(time <= after_s).last()
    first = pl.when(then).then(pl.lit(after_s)).otherwise(time.filter(low & (time > after_s)).first())
    return _aggregate(windows, names, {"time_s": first})


def _quantile(value: pl.Expr, percent: float) -> pl.Expr:
    return value.quantile(percent / 100, interpolation="linear")


def _censored_percentiles(
    rows: pl.DataFrame,
    value: pl.Expr,
    percents: Sequence[float],
    by: str | Iterable[str],
    at_least: pl.Expr,
    apart: float,
) -> pl.DataFrame:
    """Percentiles with what is unfinished at its lowest, beside whether they would be others were it without end."""
    names = _names(by)
    both = rows.select(*names, low=pl.coalesce(value, at_least).cast(pl.Float64), unfinished=value.is_null())
    both = both.drop_nulls("low")
    high = pl.when("unfinished").then(math.inf).otherwise("low")
    lowest = {f"p{p:g}": _quantile(pl.col("low"), p) for p in percents}
    # Interpolation between two infinities is not a number, which is at most nothing.
    higher = {
        f"p{p:g}_at_least": (_quantile(high, p).fill_nan(math.inf) > (1 + apart) * _quantile(pl.col("low"), p))
        for p in percents
    }
    return _aggregate(both, names, {**lowest, **higher, "unfinished": pl.col("unfinished").sum()})


def _aggregate(rows: pl.DataFrame, by: str | Iterable[str], aggregations: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """One row a group, in their order; without groups one row in all."""
    names = _names(by)
    if not names:
        return rows.select(**aggregations)
    return rows.group_by(names).agg(**aggregations).sort(names, nulls_last=True)


def _names(by: str | Iterable[str]) -> list[str]:
    return [by] if isinstance(by, str) else list(by)


def _expression(column: str | pl.Expr) -> pl.Expr:
    return pl.col(column) if isinstance(column, str) else column
