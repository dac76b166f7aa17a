"""The part of the page that compares groups: a table of all statistics, and a figure for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from weft.plots import altair_plots
from weft.report.comparison import ABSENT, CONFIDENCE, Comparison

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.report.figures import Figures
    from weft.report.inputs import Group, ReportInputs

MAX_LISTED = 100
"""Groups in the table."""


def table(inputs: ReportInputs, comparison: Comparison) -> dict[str, Any]:
    """Heads and rows: a row for each group and transport, a column for each statistic."""
    rows = []
    pairs = comparison.rows.select("group", "transport").unique().sort("group", "transport")
    several = comparison.several_transports
    for index, transport in pairs.iter_rows():
        group = inputs.groups[index]
        if index >= MAX_LISTED:
            break
        labels = [str(group.labels.get(axis, ABSENT)) for axis in inputs.axes] or [group.name]
        cells = [comparison.cell(index, transport, metric) for metric in comparison.metrics]
        rows.append((labels + ([transport] if several else []), [(str(len(group.runs)), ""), *cells]))
    heads = (inputs.axes or ["experiment"]) + (["transport"] if several else [])
    numbers = ["seeds"]
    for metric in comparison.metrics:
        unit = comparison.units[metric.title][1]
        numbers.append(f"{metric.title} ({unit})" if unit else metric.title)
    return {"heads": heads, "numbers": numbers, "rows": rows, "left": max(0, len(inputs.groups) - MAX_LISTED)}


def add(figures: Figures, inputs: ReportInputs, comparison: Comparison) -> None:
    """A plot for each metric: means and their intervals over the axis with the most values, colours for the others."""
    groups = inputs.groups
    axes = inputs.axes
    values = {axis: list(dict.fromkeys(str(group.labels.get(axis, ABSENT)) for group in groups)) for axis in axes}
    across = max(
        axes, key=lambda axis: (len(values[axis]) > 1 and _numeric(groups, axis), len(values[axis])), default=""
    )
    others = [axis for axis in axes if axis != across]
    several = comparison.several_transports

    def colour(group: Group, transport: str) -> str:
        parts = [str(group.labels.get(axis, ABSENT)) for axis in others] + ([transport] if several else [])
        return ", ".join(parts) or "all"

    for number, metric in enumerate(comparison.metrics):
        unit, name = comparison.units[metric.title]
        rows = []
        for row in comparison.rows.filter(pl.col("metric") == metric.title).drop_nulls("mean").iter_rows(named=True):
            group = groups[row["group"]]
            bounds = {bound: None if row[bound] is None else row[bound] / unit for bound in ("low", "high")}
            rows.append(
                {
                    "x": str(group.labels.get(across, group.name)),
                    "colour": colour(group, row["transport"]),
                    "mean": row["mean"] / unit,
                    "n": row["n"],
                    "at_least": row["at_least"],
                    **bounds,
                }
            )
        title = f"{metric.title} ({name})" if name else metric.title
        colours = list(dict.fromkeys(row["colour"] for row in rows))
        order = values.get(across) or [group.name for group in groups]
        chart = _intervals(rows, title, across or "experiment", order, colours)
        caption = f"Marks are means over the seeds, bars their {CONFIDENCE:.0%} confidence intervals (Student's t)."
        if any(row["at_least"] for row in rows):
            caption += " A triangle may be higher: flows that the run's end cut off would have taken longer."
        figures.add(f"metric-{number}", title, caption, chart, height=260)


def _numeric(groups: Sequence[Group], axis: str) -> bool:
    return all(isinstance(group.labels.get(axis), int | float) for group in groups)


def _intervals(
    rows: list[dict[str, Any]], title: str, across: str, order: list[str], colours: list[str]
) -> alt.LayerChart:
    where: dict[str, Any] = {
        "x": alt.X(
            "x:O", title=across, sort=order, axis=alt.Axis(labelAngle=0 if len(order) < 9 else -40, labelLimit=120)
        )
    }
    if len(colours) > 1:
        where["xOffset"] = alt.XOffset("colour:N", sort=colours)
        where["color"] = alt.Color(
            "colour:N",
            sort=colours,
            scale=alt.Scale(range=list(altair_plots.COLOURS)),
            legend=alt.Legend(title=None),
        )
    base = alt.Chart(alt.InlineData(values=rows)).encode(**where)
    plain: dict[str, Any] = {} if len(colours) > 1 else {"color": altair_plots.COLOURS[0]}
    bars = base.mark_rule(strokeWidth=2, **plain).encode(y=alt.Y("low:Q", title=title), y2="high:Q")
    marks = base.mark_point(filled=True, opacity=1, size=70, **plain).encode(
        y=alt.Y("mean:Q", title=title, scale=alt.Scale(zero=False)),
        shape=alt.Shape(
            "at_least:N", legend=None, scale=alt.Scale(domain=[False, True], range=["circle", "triangle-up"])
        ),
        tooltip=[
            alt.Tooltip("x:O", title=across),
            *([alt.Tooltip("colour:N", title="of")] if len(colours) > 1 else []),
            *(alt.Tooltip(f"{name}:Q", format=".4~g") for name in ("mean", "low", "high")),
            alt.Tooltip("n:Q", title="seeds"),
        ],
    )
    return altair_plots.layered(bars, marks)
