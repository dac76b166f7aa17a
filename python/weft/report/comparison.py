"""Groups of runs side by side: statistics of each run's flows, and their confidence intervals over the seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from weft import stats
from weft.papers.seed_summary import digits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.report.inputs import Group

CONFIDENCE = 0.95
ABSENT = "n/a"


@dataclass(frozen=True)
class Metric:
    """A statistic of the flows of one run and one transport."""

    title: str
    needs: tuple[str, ...]
    """Columns of `flows`, without which there is none."""
    value: pl.Expr
    units: tuple[tuple[float, str], ...] = ((1.0, ""),)
    """Units and how much each is, the largest first."""
    at_least: str = ""
    """The column that tells that the value may be higher."""


_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))
_RATES = ((1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps"))
_PERCENT = ((0.01, "%"),)


def _share(part: str, whole: str) -> pl.Expr:
    return pl.when(pl.col(whole).sum() > 0).then(pl.col(part).sum() / pl.col(whole).sum())


_TO_END = pl.col("fct_s").is_not_null() | pl.col("unfinished_s").is_not_null()
METRICS = (
    Metric("FCT, median", ("fct_s", "unfinished_s"), pl.col("p50").first(), _SECONDS, "p50_is_lower_bound"),
    Metric("FCT, p99", ("fct_s", "unfinished_s"), pl.col("p99").first(), _SECONDS, "p99_is_lower_bound"),
    Metric("FCT, mean of ended flows", ("fct_s",), pl.col("fct_s").mean(), _SECONDS),
    Metric(
        "flows ended",
        ("fct_s", "unfinished_s"),
        pl.when(_TO_END.any()).then(pl.col("fct_s").count() / _TO_END.sum()),
        _PERCENT,
    ),
    Metric("goodput, mean of flows", ("goodput_bps",), pl.col("goodput_bps").mean(), _RATES),
    Metric("Jain's index of goodputs", ("goodput_bps",), stats.jain("goodput_bps")),
    Metric("timeouts a flow", ("timeouts", "syn_timeouts"), (pl.col("timeouts") + pl.col("syn_timeouts")).mean()),
    Metric("packets marked", ("marked", "packets_sent"), _share("marked", "packets_sent"), _PERCENT),
    Metric("packets sent again", ("retransmitted", "packets_sent"), _share("retransmitted", "packets_sent"), _PERCENT),
)


@dataclass(frozen=True)
class Comparison:
    """Of each group and transport every metric."""

    rows: pl.DataFrame
    """`group` (its place), `transport`, `metric`, `n` seeds, `mean`, `low`, `high` (null for one seed), `at_least`."""
    units: dict[str, tuple[float, str]]
    """Of each metric the unit in which it is shown, and how much that is."""
    absent: list[str]
    """Metrics that some group lacks."""

    @property
    def metrics(self) -> list[Metric]:
        """Those that some group has."""
        return [metric for metric in METRICS if metric.title in self.units]

    @property
    def several_transports(self) -> bool:
        """Has a group more than one transport?"""
        return bool((self.rows.group_by("group").agg(pl.col("transport").n_unique())["transport"] > 1).any())

    def cell(self, group: int, transport: str, metric: Metric) -> tuple[str, str]:
        """Such as "1.23" and "1.19 to 1.27", which is empty for one seed; without the unit."""
        found = self.rows.filter(group=group, transport=transport, metric=metric.title)
        if found.is_empty() or found["mean"][0] is None:
            return ABSENT, ""
        row = found.row(0, named=True)
        unit = self.units[metric.title][0]
        mean = ("≥ " if row["at_least"] else "") + digits(row["mean"] / unit)
        if row["low"] is None:
            return mean, ""
        return mean, f"{digits(row['low'] / unit)} to {digits(row['high'] / unit)}"


def compare(groups: Sequence[Group]) -> Comparison:
    """Reads the flows of all runs, one after the other."""
    frames = [
        statistics_of(run.result().flows).with_columns(group=pl.lit(index))
        for index, group in enumerate(groups)
        for run in group.runs
    ]
    values = pl.concat(frames)
    names = ("group", "transport", "metric")
    rows = stats.mean_ci(values, "value", by=names, confidence=CONFIDENCE)
    doubtful = values.group_by(names).agg(pl.col("at_least").any())
    rows = rows.join(doubtful, on=names, maintain_order="left")
    units = {}
    absent = []
    for metric in METRICS:
        of = rows.filter(pl.col("metric") == metric.title).drop_nulls("mean")
        if of.is_empty():
            absent.append(f"{metric.title}: no run has it")
            continue
        if missing := [groups[n].name for n in range(len(groups)) if n not in of["group"].to_list()]:
            absent.append(f"{metric.title}: not of {'; '.join(missing)}")
        middle = of["mean"].abs().median()
        size = middle if isinstance(middle, float) else 0.0
        units[metric.title] = next((unit for unit in metric.units if size >= unit[0]), metric.units[-1])
    return Comparison(rows, units, absent)


def statistics_of(flows: pl.DataFrame) -> pl.DataFrame:
    """Of one run: `transport`, `metric`, `value` (null: it cannot be told) and `at_least`, one row a metric."""
    at_least = "unfinished_s" if "unfinished_s" in flows.columns else None
    percentiles = stats.percentiles(flows, "fct_s", (50, 99), by="transport", at_least=at_least)
    joined = flows.join(percentiles, on="transport", how="left")
    frames = []
    for metric in METRICS:
        if not set(metric.needs) <= set(flows.columns):
            continue
        doubt = pl.col(metric.at_least).first().fill_null(value=False) if metric.at_least else pl.lit(value=False)
        of = joined.group_by("transport").agg(value=metric.value.cast(pl.Float64), at_least=doubt)
        frames.append(of.select("transport", pl.lit(metric.title).alias("metric"), "value", "at_least"))
    return pl.concat(frames)
