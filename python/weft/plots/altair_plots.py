"""Plots of one run as Altair charts: `result.plot.altair.fct()` and so on; and the same from rows, for the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import altair as alt
import polars as pl

from weft.plots import data

if TYPE_CHECKING:
    from weft.api import Result

COLOURS = ("#3349fe", "#fb4817", "#b278c1", "#799386", "#b8593d", "#a82ebf", "#3792fe", "#725f7a")
"""Colours of categories.

Each has a contrast of at least 3 with white and with near black. Every two of them differ by at least 20 in CIELAB,
also in the simulated vision of protanopia, deuteranopia and tritanopia (Machado, Oliveira and Fernandes, 2009).
"""
SEEN = 0.25
"""Minimum utilisation for an axis that ends at 1."""
STRIP = 7
"""Height of the strip of a subflow that shows suppression, in pixels."""
MAX_SHARE = 0.25
"""Largest share of a plot for all strips."""
HEAT = ("#848d97", "#cf7a14", "#d1242f")
"""Colours of a scale from 0 to 1."""


@dataclass(frozen=True)
class Scales:
    """Scales and axis of a plot over time."""

    time: alt.Scale
    value: alt.Scale
    axis: alt.Axis
    """Axis of the time."""


PLAIN = Scales(alt.Scale(zero=False, nice=False), alt.Scale(), alt.Axis(title="time (s)", labelOverlap="greedy"))


class Charts:
    """Plots of a run's tables; `weft.plots.Plots` describes each of them and its errors."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def fct(self, by: str = "class") -> alt.Chart:
        """Distribution of flow completion times, one line per group."""
        return fct(data.fct(self._result.flows, by))

    def slowdown(self, by: str = "transport") -> alt.LayerChart:
        """Median and 99th percentile of the FCT slowdown by size of flow."""
        return slowdown(data.slowdown(self._result.flows, by))

    def windows(self, flow: int | None = None) -> alt.LayerChart:
        """Congestion windows over time, one line per subflow; strips at the bottom show suppression."""
        chosen, rows = data.windows(self._result.traces, flow)
        return windows(inline(rows), inline(data.suppressed(rows))).properties(title=f"flow {chosen}")

    def rates(self, flow: int | None = None) -> alt.LayerChart:
        """Sending rate over time of a flow whose congestion control sets one."""
        chosen, rows = data.rates(self._result.traces, flow)
        gbps = rows.select("time_s", gbps=pl.col("rate_bps") * 1e-9, flow=pl.lit(f"flow {chosen}"))
        return layered(series(inline(gbps), "gbps", "rate (Gbps)", "flow"))

    def throughput(self, by: str = "flow") -> alt.LayerChart:
        """Goodput over time, one line per group."""
        rows = data.throughput(self._result.throughput, self._result.flows, by)
        data.check_lines(rows, "throughput", "group", "groups")
        gbps = rows.select("time_s", "group", gbps=pl.col("goodput_bps") * 1e-9)
        return layered(series(inline(gbps), "gbps", "goodput (Gbps)", "group", interpolate="step-before"))

    def queues(self) -> alt.LayerChart:
        """Lengths of sampled queues over time, one line per link."""
        rows = data.queues(self._result.traces, self._result.links)
        data.check_lines(rows, "queues", "link", "links")
        return layered(queues(inline(rows.drop("link"))))

    def jain(self, by: str = "transport") -> alt.Chart:
        """Jain's fairness index of the flows' goodputs, one bar a group."""
        return jain(data.jain(self._result.flows, by), by)

    def utilisation(self) -> alt.LayerChart:
        """Utilisation of each stage of the network, and its links' range."""
        return utilisation(data.utilisation(self._result.links))


def layered(*charts: alt.Chart | alt.LayerChart) -> alt.LayerChart:
    """One chart over the other, on the same axes."""
    return alt.LayerChart(layer=list(charts))


def inline(rows: pl.DataFrame) -> alt.InlineData:
    """Rows as a part of the chart, however many they are."""
    return alt.InlineData(values=rows.to_dicts())


def fct(steps: pl.DataFrame) -> alt.Chart:
    """Draws what `data.fct` returns."""
    size, unit = time_unit(steps["value"])
    chart: alt.Chart = (
        alt.Chart(inline(steps.with_columns(pl.col("value") / size)))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("value:Q", title=f"flow completion time ({unit})", scale=alt.Scale(type="log", nice=False)),
            y=alt.Y("fraction:Q", title="share of flows", scale=alt.Scale(domain=[0, 1])),
            color=colour("group"),
            tooltip=[
                alt.Tooltip("group:N"),
                alt.Tooltip("value:Q", title=f"FCT ({unit})", format=".5~g"),
                alt.Tooltip("fraction:Q", title="share", format=".4~f"),
            ],
        )
    )
    return chart


def time_unit(seconds: pl.Series) -> tuple[float, str]:
    """The unit in which most of these are short numbers."""
    middle = seconds.median()
    size = middle if isinstance(middle, float) else 1.0
    return next((unit for unit in ((1.0, "s"), (1e-3, "ms")) if size >= unit[0]), (1e-6, "us"))


def slowdown(rows: pl.DataFrame) -> alt.LayerChart:
    """Draws what `data.slowdown` returns."""
    sizes = rows.select("size_index", "size").unique().sort("size_index")["size"].to_list()
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("size:O", title="size of flow", sort=sizes, axis=alt.Axis(labelAngle=-30)),
        y=alt.Y("value:Q", title="FCT over that on an idle path", scale=alt.Scale(type="log", nice=False)),
        color=colour("group"),
    )
    lines = base.mark_line(strokeWidth=2).encode(
        strokeDash=alt.StrokeDash("percentile:N", legend=alt.Legend(title=None))
    )
    marks = base.mark_point(filled=True, size=70, opacity=1).encode(
        shape=alt.Shape(
            "at_least:N",
            legend=None,
            scale=alt.Scale(domain=[False, True], range=["circle", "triangle-up"]),
        ),
        tooltip=[
            alt.Tooltip("group:N"),
            alt.Tooltip("size:O"),
            alt.Tooltip("percentile:N"),
            alt.Tooltip("value:Q", title="slowdown", format=".4~g"),
            alt.Tooltip("at_least:N", title="may be higher"),
            alt.Tooltip("flows:Q", format=","),
        ],
    )
    return layered(lines, marks)


def windows(
    rows: alt.InlineData | alt.NamedData, spans: alt.InlineData | alt.NamedData, scales: Scales = PLAIN
) -> alt.LayerChart:
    """Draws what `data.windows` and `data.suppressed` return."""
    # A strip per subflow, from the bottom: thinner where there are many, so that windows keep most of the height.
    strip = f"min({STRIP}, {MAX_SHARE} * height / datum.last)"
    bottom = f"height - (datum.number - 1) * {strip}"
    strips = (
        alt.Chart(spans)
        .transform_window(sort=[alt.SortField("subflow")], number="dense_rank()")
        .transform_joinaggregate(last="max(number)")
        .mark_rect(clip=True)
        .encode(
            x=_over_time("from_s", scales),
            x2="to_s:Q",
            y=alt.value(alt.ExprRef(f"{bottom} - 0.8 * {strip}")),
            y2=alt.value(alt.ExprRef(bottom)),
            color=colour("subflow", sort="ascending"),
        )
    )
    lines = series(rows, "cwnd_packets", "cwnd (packets)", "subflow", scales)
    return layered(strips, lines)


def queues(rows: alt.InlineData | alt.NamedData, scales: Scales = PLAIN) -> alt.Chart:
    """Draws what `data.queues` returns."""
    return series(rows, "length_packets", "queue (packets)", "queue", scales)


def buffers(rows: alt.InlineData | alt.NamedData, scales: Scales = PLAIN) -> alt.Chart:
    """Draws what `data.buffers` returns."""
    return series(rows, "buffer_bytes", "buffer (bytes)", "buffer", scales)


def series(
    rows: alt.InlineData | alt.NamedData,
    value: str,
    title: str,
    by: str,
    scales: Scales = PLAIN,
    *,
    interpolate: Literal["step-after", "step-before"] = "step-after",
) -> alt.Chart:
    """Values that change in time, as steps, one line each of `by`."""
    chart: alt.Chart = (
        alt.Chart(rows)
        .mark_line(interpolate=interpolate, clip=True, strokeWidth=1.5)
        .encode(
            x=_over_time("time_s", scales),
            y=alt.Y(f"{value}:Q", title=title, scale=scales.value),
            color=colour(by, sort="ascending"),
        )
    )
    return chart


def _over_time(column: str, scales: Scales) -> alt.X:
    return alt.X(f"{column}:Q", scale=scales.time, axis=scales.axis)


def jain(rows: pl.DataFrame, by: str) -> alt.Chart:
    """Draws what `data.jain` returns."""
    chart: alt.Chart = (
        alt.Chart(inline(rows))
        .mark_bar(color=COLOURS[0], size=14)
        .encode(
            x=alt.X("jain:Q", title="Jain's index of goodputs", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("group:N", title=None if by == "group" else by, sort=None, axis=alt.Axis(labelLimit=140)),
            tooltip=[
                alt.Tooltip("group:N", title=by),
                alt.Tooltip("jain:Q", format=".4f"),
                alt.Tooltip("flows:Q", format=","),
            ],
        )
    )
    return chart


def utilisation(rows: pl.DataFrame) -> alt.LayerChart:
    """Draws what `data.utilisation` returns, perhaps of several runs, which a column `group` tells apart."""
    grouped = "group" in rows.columns
    stages = rows["stage"].unique(maintain_order=True).to_list()
    where: dict[str, Any] = {"y": alt.Y("stage:N", title=None, sort=stages, axis=alt.Axis(labelLimit=140))}
    if grouped:
        where |= {"yOffset": alt.YOffset("group:N", sort=None)}
    base = alt.Chart(inline(rows)).encode(**where)
    most = rows["max"].max()
    # Little use would not be seen on an axis to 1.
    share = alt.Scale(domain=[0, 1]) if isinstance(most, float) and most >= SEEN else alt.Scale(zero=True)
    bars = base.mark_bar(color=alt.Undefined if grouped else COLOURS[0]).encode(
        x=alt.X("mean:Q", title="utilisation", scale=share, axis=alt.Axis(format="~%")),
        **({"color": colour("group", symbol="square")} if grouped else {}),
        tooltip=[
            *([alt.Tooltip("group:N")] if grouped else []),
            alt.Tooltip("stage:N"),
            alt.Tooltip("links:Q"),
            *(alt.Tooltip(f"{name}:Q", format=".2%") for name in ("mean", "min", "max")),
        ],
    )
    ranges = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("min:Q", scale=share), x2="max:Q")
    return layered(bars, ranges)


def colour(by: str, *, sort: Literal["ascending"] | None = None, symbol: str = "stroke") -> alt.Color:
    """A colour for each value of a column."""
    legend = alt.Legend(
        title=None,
        labelLimit=260,
        symbolType=symbol,
        symbolOpacity=1,
    )
    return alt.Color(f"{by}:N", scale=alt.Scale(range=list(COLOURS)), sort=sort, legend=legend)
