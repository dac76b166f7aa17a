"""Groups of runs next to each other: statistics of each run's flows, and confidence intervals over the seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from weft import stats
from weft.api import Result
from weft.measures import PLAIN, RATES, SECONDS, Measure, Units, parse
from weft.plots import data
from weft.reports.factors import ABSENT, Factor, Value, factor
from weft.reports.inputs import Group
from weft.stats import digits
from weft.sweeps.precision import confidence

CONFIDENCE = confidence(0)
SLOWDOWN_BOUND = pl.col("slowdown_at_least").clip(lower_bound=1.0)
"""Lower bound of the slowdown of a flow that was cut off: no flow is faster than on an idle path."""
SERIES = ("group", "transport")
"""Columns that identify a series: the flows of one transport in the runs of one group."""


@dataclass(frozen=True)
class Metric:
    """A statistic of the flows of one run and one transport."""

    title: str
    needs: tuple[str, ...]
    """Columns of `flows` that it is computed from."""
    value: pl.Expr
    units: Units = PLAIN
    """Units of the values."""
    at_least: str = ""
    """The column that says whether the value may be higher."""
    best: Literal["lowest", "highest", ""] = "lowest"
    """The best value; empty if no value is better than others."""
    subset: str = ""
    """The sizes of flows to which it is restricted, a key of `SUBSETS`."""
    applies: pl.Expr = field(default_factory=lambda: pl.lit(value=True))
    """Whether a flow has such a value if it ends; a group with such flows and no value cannot be compared."""


_PERCENT = ((0.01, "%"),)

_BYTES = pl.col("size_bytes")
SUBSETS = {
    "flows below 100 KB": _BYTES < 100_000,
    "flows of 100 KB to 10 MB": (_BYTES >= 100_000) & (_BYTES < 10_000_000),
    "flows from 10 MB": _BYTES >= 10_000_000,
    "all flows": pl.lit(value=True),
}
"""Sizes of flows with statistics of their own, as in pFabric (Alizadeh et al., SIGCOMM 2013, section 5)."""
ALL = "all flows"


def _share(part: str, whole: str) -> pl.Expr:
    return pl.when(pl.col(whole).sum() > 0).then(pl.col(part).sum() / pl.col(whole).sum())


def _slowdown(subset: str, name: str, percent: int) -> Metric:
    column = f"{subset} p{percent}"
    needs = ("slowdown", "slowdown_at_least")
    return Metric(
        f"{name} slowdown, {subset}",
        needs,
        pl.col(column).first(),
        at_least=f"{column}_is_lower_bound",
        subset=subset,
        applies=_BYTES.is_not_null() & SUBSETS[subset],
    )


def _goodput(subset: str) -> Metric:
    chosen = _BYTES.is_not_null() & SUBSETS[subset]
    mean = pl.col("goodput_bps").filter(chosen).mean()
    title = f"goodput, mean of {subset}"
    return Metric(title, ("goodput_bps",), mean, RATES, best="highest", subset=subset, applies=chosen)


_TO_END = pl.col("fct_s").is_not_null() | pl.col("unfinished_s").is_not_null()
_FCT = ("fct_s", "unfinished_s")
METRICS = (
    *(_slowdown(subset, name, percent) for subset in SUBSETS for name, percent in (("p99", 99), ("median", 50))),
    Metric("FCT, median", _FCT, pl.col("p50").first(), SECONDS, "p50_is_lower_bound", applies=_BYTES.is_not_null()),
    Metric("FCT, p99", _FCT, pl.col("p99").first(), SECONDS, "p99_is_lower_bound", applies=_BYTES.is_not_null()),
    Metric("FCT, mean of ended flows", ("fct_s",), pl.col("fct_s").mean(), SECONDS, applies=_BYTES.is_not_null()),
    Metric(
        "flows ended",
        _FCT,
        pl.when(_TO_END.any()).then(pl.col("fct_s").count() / _TO_END.sum()),
        _PERCENT,
        best="highest",
        applies=_BYTES.is_not_null(),
    ),
    Metric("goodput, mean of flows", ("goodput_bps",), pl.col("goodput_bps").mean(), RATES, best="highest"),
    *(_goodput(subset) for subset in SUBSETS if subset != ALL),
    Metric("Jain's index of goodputs", ("goodput_bps",), stats.jain("goodput_bps"), best="highest"),
    Metric("timeouts per flow", ("timeouts", "syn_timeouts"), (pl.col("timeouts") + pl.col("syn_timeouts")).mean()),
    Metric("packets marked", ("marked", "packets_sent"), _share("marked", "packets_sent"), _PERCENT, best=""),
    Metric(
        "packets retransmitted", ("retransmitted", "packets_sent"), _share("retransmitted", "packets_sent"), _PERCENT
    ),
)


@dataclass(frozen=True)
class Comparison:
    """All statistics of each group and transport."""

    rows: pl.DataFrame
    """`group` (its index), `transport`, `metric`, `n`, `median`, `low`, `high` (null below five seeds), `at_least`."""
    values: pl.DataFrame
    """`group`, `transport`, `seed`, `metric`, `value` and `at_least`, one row per run."""
    by_size: pl.DataFrame
    """`group`, `transport`, `below_bytes`, `size`, `percentile`, `n`, `median`, `low`, `high` and `at_least`."""
    distributions: dict[tuple[int, str], list[tuple[pl.Series, int]]]
    """For each group and transport and each of its runs the FCTs, rising, and the number of opened flows."""
    metrics: list[Metric]
    """Statistics that some group has."""
    units: dict[str, tuple[float, str]]
    """The unit in which each metric is shown, and its size."""
    absent: list[str]
    """Metrics that some group lacks."""
    missing: dict[str, list[tuple[int, str]]]
    """For each metric the groups and transports that have flows to which it applies, and no value."""
    labels: dict[tuple[int, str], dict[str, Value]] = field(default_factory=dict)
    """The fields that distinguish each group and transport."""
    levels: tuple[float, ...] = ()
    """Confidence of the intervals of each group, which is corrected if it was looked at repeatedly."""

    @property
    def factors(self) -> list[Factor]:
        """The fields that have several values."""
        names = list(dict.fromkeys(name for labels in self.labels.values() for name in labels))
        found = [factor(name, [labels.get(name, ABSENT) for labels in self.labels.values()]) for name in names]
        return [candidate for candidate in found if len(candidate.values) > 1]

    def cell(self, group: int, transport: str, metric: Metric) -> tuple[str, str]:
        """Returns a median and its interval, such as "1.23" and "1.19 to 1.27" (empty below five seeds), no unit."""
        found = self.rows.filter(group=group, transport=transport, metric=metric.title)
        if found.is_empty() or found["median"][0] is None:
            return ABSENT, ""
        row = found.row(0, named=True)
        unit = self.units[metric.title][0]
        middle = ("≥ " if row["at_least"] else "") + digits(row["median"] / unit)
        if row["low"] is None:
            return middle, ""
        return middle, f"{digits(row['low'] / unit)} to {digits(row['high'] / unit)}"


def compare(groups: Sequence[Group], of: str | None = None) -> Comparison:
    """Reads the tables of all runs, one after the other.

    Args:
        groups: The groups.
        of: A measure, which becomes the first metric.

    Raises:
        UsageError: It is not a measure, or runs have no such table.
    """
    measure = None if of is None else parse(of)
    first = [] if measure is None else [Metric(measure.title, (), pl.lit(None), measure.units, best=measure.best)]
    values, sizes, stages = [], [], []
    distributions: dict[tuple[int, str], list[tuple[pl.Series, int]]] = {}
    subsets: set[str] = set()
    for index, group in enumerate(groups):
        for run in group.runs:
            result = run.result()
            flows = result.flows
            labels = {"group": pl.lit(index), "seed": pl.lit(run.seed)}
            values.append(statistics_of(flows).with_columns(**labels))
            if measure is not None:
                values.append(_measured(measure, result, values[-1]))
            subsets |= {name for name, chosen in SUBSETS.items() if name != ALL and flows.select(chosen.any()).item()}
            if "unfinished_s" in flows.columns:
                sizes.append(stats.by_size(flows, by="transport").with_columns(**labels))
                opened = flows.filter(_TO_END)
                for (transport,), rows in opened.group_by("transport"):
                    fcts = rows["fct_s"].drop_nulls().sort()
                    distributions.setdefault((index, str(transport)), []).append((fcts, rows.height))
            used = stats.utilisation(data.active_links(result)).drop_nulls("mean")
            stage = pl.concat_str("stage", "direction", separator=" ", ignore_nulls=True)
            no = pl.lit(value=False)
            used = used.select(metric=pl.format("utilisation, {}", stage), value="mean", at_least=no, applies=no)
            transports = flows.select(pl.col("transport").unique())
            stages.append(transports.join(used, how="cross").with_columns(**labels))
    measured = pl.concat(values)
    if len(subsets) < 2:
        # The statistics of all flows are those of the only sizes that there are.
        names = [metric.title for metric in METRICS if metric.subset not in ("", ALL)]
        measured = measured.filter(~pl.col("metric").is_in(names))
    stage_values = pl.concat(stages).select(measured.columns)
    measured = pl.concat([measured, stage_values])
    titles = stage_values["metric"].unique(maintain_order=True)
    metrics = [*first, *METRICS, *(Metric(title, (), pl.lit(None), _PERCENT, best="") for title in titles)]
    keys = (*SERIES, "metric")
    levels = tuple(confidence(group.looks) for group in groups)
    rows = _over_seeds(measured, keys, "value", levels)
    units, absent = _units(metrics, rows)
    found = _labels(groups, rows.select(SERIES).unique(maintain_order=True).rows())
    missing = _missing(measured, units)
    return Comparison(
        rows,
        measured.select(*SERIES, "seed", "metric", "value", "at_least"),
        _sizes(sizes, levels),
        distributions,
        [metric for metric in metrics if metric.title in units],
        units,
        [*absent, *(_missing_line(groups, title, missing[title], found) for title in _major(metrics, missing))],
        missing,
        found,
        levels,
    )


def _measured(measure: Measure, result: Result, like: pl.DataFrame) -> pl.DataFrame:
    """Returns a measure of each transport of a run, in the columns of other statistics."""
    table = result.table(measure.quantity.table)
    if "transport" in table.columns:
        found = measure.values(table, ["transport"])
    else:
        transports = result.flows.select(pl.col("transport").unique())
        found = transports.join(measure.values(table, []), how="cross")
    labels = like.select("group", "seed").head(1)
    return (
        found.with_columns(metric=pl.lit(measure.title), applies=pl.lit(value=True))
        .join(labels, how="cross")
        .select(like.columns)
    )


def _over_seeds(values: pl.DataFrame, by: Sequence[str], column: str, levels: Sequence[float]) -> pl.DataFrame:
    parts = []
    for level in dict.fromkeys(levels):
        groups = [index for index, own in enumerate(levels) if own == level]
        parts.append(stats.median_ci(values.filter(pl.col("group").is_in(groups)), column, by=by, confidence=level))
    rows = pl.concat(parts).sort(by, nulls_last=True)
    doubtful = values.group_by(by).agg(pl.col("at_least").any())
    return rows.join(doubtful, on=by, maintain_order="left", nulls_equal=True)


def _missing(measured: pl.DataFrame, titles: Iterable[str]) -> dict[str, list[tuple[int, str]]]:
    """Returns for each of these metrics the groups without a value that have flows to which it applies."""
    lacking = measured.group_by(*SERIES, "metric").agg(
        lacks=(pl.col("value").count() == 0) & pl.col("applies").any(),
    )
    rows = lacking.filter("lacks", pl.col("metric").is_in(list(titles))).sort(*SERIES)
    found: dict[str, list[tuple[int, str]]] = {}
    for group, transport, metric in rows.select(*SERIES, "metric").iter_rows():
        found.setdefault(metric, []).append((group, transport))
    return {title: found[title] for title in titles if title in found}


def _major(metrics: Sequence[Metric], titles: Iterable[str]) -> list[str]:
    """Returns those of these titles that are not restricted to a class of sizes."""
    minor = {metric.title for metric in metrics if metric.subset not in ("", ALL)}
    return [title for title in titles if title not in minor]


def _missing_line(
    groups: Sequence[Group],
    metric: str,
    lacking: Sequence[tuple[int, str]],
    labels: Mapping[tuple[int, str], Mapping[str, Value]],
) -> str:
    names = []
    for group, transport in lacking:
        several = "transport" in labels[group, transport] or "flow transport" in labels[group, transport]
        names.append(f"{groups[group].name}, {transport}" if several else groups[group].name)
    return f"{metric}: not of {'; '.join(dict.fromkeys(names))}"


def _units(metrics: Sequence[Metric], rows: pl.DataFrame) -> tuple[dict[str, tuple[float, str]], list[str]]:
    """Returns the unit of each metric that some group has, and a line of those that no group has."""
    units: dict[str, tuple[float, str]] = {}
    absent = []
    for metric in metrics:
        values = rows.filter(pl.col("metric") == metric.title).drop_nulls("median")
        minor = metric.subset not in ("", ALL)
        if values.is_empty():
            absent += [] if minor else [metric.title]
            continue
        middle = values["median"].abs().median()
        size = middle if isinstance(middle, float) else 0.0
        units[metric.title] = next((unit for unit in metric.units if size >= unit[0]), metric.units[-1])
    return units, [f"{'; '.join(absent)}: no run has {'it' if len(absent) == 1 else 'them'}"] if absent else []


def _sizes(frames: Sequence[pl.DataFrame], levels: Sequence[float]) -> pl.DataFrame:
    """Returns the slowdown by size over the seeds; no rows if there is one class of sizes only."""
    by = (*SERIES, "below_bytes", "size")
    measured = pl.concat(frames) if frames else pl.DataFrame(schema=dict.fromkeys(by, pl.String))
    if measured["size"].n_unique() < 2:
        return pl.DataFrame(schema=dict.fromkeys((*by, "percentile"), pl.String))
    parts = []
    for name in ("p99", "p50"):
        values = measured.with_columns(at_least=f"{name}_is_lower_bound")
        parts.append(_over_seeds(values, by, name, levels).with_columns(percentile=pl.lit(name)))
    return pl.concat(parts)


def _labels(groups: Sequence[Group], keys: Sequence[tuple[int, str]]) -> dict[tuple[int, str], dict[str, Value]]:
    several = len({index for index, _ in keys}) < len(keys)
    found: dict[tuple[int, str], dict[str, Value]] = {}
    for index, transport in keys:
        labels = dict(groups[index].labels)
        if several:
            labels["flow transport" if "transport" in labels else "transport"] = transport
        found[index, transport] = labels
    return found


def statistics_of(flows: pl.DataFrame) -> pl.DataFrame:
    """Returns a row per metric and transport: `transport`, `metric`, `value` or null, `at_least` and `applies`."""
    at_least = "unfinished_s" if "unfinished_s" in flows.columns else None
    percentiles = stats.percentiles(flows, "fct_s", (50, 99), by="transport", at_least=at_least)
    joined = flows.join(percentiles, on="transport", how="left")
    if {"slowdown", "slowdown_at_least"} <= set(flows.columns):
        for name, chosen in SUBSETS.items():
            percentiles_of = stats.percentiles(
                flows.filter(chosen), "slowdown", (50, 99), by="transport", at_least=SLOWDOWN_BOUND
            )
            named = percentiles_of.rename(
                {column: f"{name} {column}" for column in percentiles_of.columns if column != "transport"}
            )
            joined = joined.join(named, on="transport", how="left")
    frames = []
    for metric in METRICS:
        doubt = pl.col(metric.at_least).first().fill_null(value=False) if metric.at_least else pl.lit(value=False)
        value = metric.value.cast(pl.Float64)
        if not set(metric.needs) <= set(flows.columns):
            doubt, value = pl.lit(value=False), pl.lit(None, pl.Float64)
        applies = metric.applies.any()
        values = joined.group_by("transport").agg(value=value, at_least=doubt, applies=applies)
        frames.append(values.select("transport", pl.lit(metric.title).alias("metric"), "value", "at_least", "applies"))
    return pl.concat(frames)
