"""The part of the page that compares groups: a table of all statistics, and the templates and rows of its figures.

The page's script gives fields their roles, so that a reader can change them: `comparison.js` fills these templates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from weft import stats
from weft.plots import altair_plots
from weft.reports.comparison import CONFIDENCE, Comparison
from weft.reports.factors import ABSENT, Factor, Layout, Wishes, arrange, factor
from weft.reports.figures import CONFIG
from weft.reports.inputs import ReportInputs

MAX_LISTED = 1000
"""Maximum number of rows of the table."""
MAX_POINTS = 60_000
"""Points of all distributions of a page."""
MAX_POINTS_PER_LINE = 80
DIGITS = 5
"""Digits of a number in the page's data."""


def table(inputs: ReportInputs, comparison: Comparison) -> dict[str, Any]:
    """Returns heads and rows: a row for each group and transport, a column for each statistic.

    Values of fields are pairs of a short label and the value in full.
    """
    rows = []
    names = list(dict.fromkeys(name for labels in comparison.labels.values() for name in labels))
    fields = [factor(name, [labels.get(name, ABSENT) for labels in comparison.labels.values()]) for name in names]
    short = {field.name: dict(zip(field.values, field.labels, strict=True)) for field in fields}
    for (index, transport), labels in list(comparison.labels.items())[:MAX_LISTED]:
        group = inputs.groups[index]
        heads = [(short[name][labels.get(name, ABSENT)], str(labels.get(name, ABSENT))) for name in names]
        heads = heads or [(group.name, group.name)]
        cells = [comparison.cell(index, transport, metric) for metric in comparison.metrics]
        rows.append((heads, [(str(len(group.runs)), ""), *cells]))
    numbers = ["seeds"]
    for metric in comparison.metrics:
        unit = comparison.units[metric.title][1]
        numbers.append(f"{metric.title} ({unit})" if unit else metric.title)
    left = max(0, len(comparison.labels) - MAX_LISTED)
    return {"heads": names or ["experiment"], "numbers": numbers, "rows": rows, "left": left}


def drawings(comparison: Comparison, wishes: Wishes) -> dict[str, Any]:
    """Returns the part of the page's data from which its script draws the comparison.

    Raises:
        UsageError: The layout that the user asks for does not exist.
    """
    factors = comparison.factors
    layout = arrange(factors, wishes)
    keys = list(comparison.labels)
    most_seeds = max(comparison.rows["n"].to_list())
    return {
        "factors": [
            {"name": field.name, "labels": field.labels, "values": field.values, "numeric": field.numeric}
            for field in factors
        ],
        "series": [
            [field.values.index(labels.get(field.name, ABSENT)) for field in factors]
            for labels in comparison.labels.values()
        ],
        "metrics": [_metric(comparison, number, keys) for number in range(len(comparison.metrics))],
        "sizes": _sizes(comparison, keys),
        "cdf": _distributions(comparison, keys),
        "layout": {"roles": dict(layout.roles), "where": dict(layout.where)},
        "positions": [stats.order_position(n, max(comparison.levels)) for n in range(most_seeds + 1)],
        "confidence": CONFIDENCE,
        "colours": altair_plots.COLOURS,
        "templates": {"dots": _template(_dots()), "lines": _template(_lines()), "cdf": _template(_cdf())},
    }


def controls(comparison: Comparison, wishes: Wishes) -> dict[str, Any]:
    """Returns what the template needs for the controls: metrics and fields."""
    factors: Sequence[Factor] = comparison.factors
    layout: Layout = arrange(factors, wishes)
    fixed = {
        name: labels.pop()
        for name in dict.fromkeys(name for labels in comparison.labels.values() for name in labels)
        if len(labels := {str(values.get(name, ABSENT)) for values in comparison.labels.values()}) == 1
    }
    return {
        "metrics": [metric.title for metric in comparison.metrics],
        "first": comparison.metrics[0].title,
        "factors": factors,
        "roles": layout.roles,
        "fixed": fixed,
        "sizes": not comparison.by_size.is_empty(),
        "cdf": bool(comparison.distributions),
    }


def _metric(comparison: Comparison, number: int, keys: Sequence[tuple[int, str]]) -> dict[str, Any]:
    """Returns a metric's title, its rows by series, the series without a value, and the values of the runs by seed."""
    metric = comparison.metrics[number]
    size, unit = comparison.units[metric.title]
    series_of = {key: n for n, key in enumerate(keys)}
    rows = []
    for row in comparison.rows.filter(metric=metric.title).drop_nulls("median").iter_rows(named=True):
        bounds = [_rounded(row[name], size) for name in ("median", "low", "high")]
        rows.append([series_of[row["group"], row["transport"]], *bounds, row["n"], int(row["at_least"])])
    values: dict[int, list[list[float | None]]] = {}
    for row in comparison.values.filter(metric=metric.title).drop_nulls("value").iter_rows(named=True):
        series = series_of[row["group"], row["transport"]]
        values.setdefault(series, []).append([row["seed"], _rounded(row["value"], size)])
    return {
        "title": metric.title,
        "axis": f"{metric.title} ({unit})" if unit else metric.title,
        "unit": unit,
        "best": metric.best,
        "rows": rows,
        "missing": [series_of[key] for key in comparison.missing.get(metric.title, [])],
        "values": values,
    }


def _sizes(comparison: Comparison, keys: Sequence[tuple[int, str]]) -> dict[str, Any] | None:
    rows = comparison.by_size
    if rows.is_empty():
        return None
    series_of = {key: n for n, key in enumerate(keys)}
    order = rows.select("below_bytes", "size").unique().sort("below_bytes", nulls_last=True)["size"].to_list()
    drawn = [
        [
            series_of[row["group"], row["transport"]],
            order.index(row["size"]),
            row["percentile"],
            *(_rounded(row[name]) for name in ("median", "low", "high")),
            row["n"],
            int(row["at_least"]),
        ]
        for row in rows.drop_nulls("median").iter_rows(named=True)
    ]
    return {"labels": order, "rows": drawn}


def _distributions(comparison: Comparison, keys: Sequence[tuple[int, str]]) -> dict[str, Any] | None:
    """Returns shares of flows that have ended within a time: medians over the seeds, and their intervals."""
    ended = [fcts for runs in comparison.distributions.values() for fcts, _ in runs if len(fcts)]
    if not ended:
        return None
    size, unit = altair_plots.time_unit(pl.concat(ended))
    points = max(12, min(MAX_POINTS_PER_LINE, MAX_POINTS // len(keys)))
    rows = []
    for number, key in enumerate(keys):
        runs = comparison.distributions.get(key, [])
        times = _times([fcts for fcts, _ in runs if len(fcts)], points)
        if not times:
            continue
        shares = [fcts.search_sorted(pl.Series(times, dtype=pl.Float64), side="right") / count for fcts, count in runs]
        table = pl.concat(
            [
                pl.DataFrame({"time": range(len(times)), "share": share}, schema_overrides={"share": pl.Float64})
                for share in shares
            ]
        )
        level = comparison.levels[key[0]]
        for row in stats.median_ci(table, "share", by="time", confidence=level).iter_rows(named=True):
            bounds = (_rounded(row[name]) for name in ("median", "low", "high"))
            rows.append([number, _rounded(times[row["time"]], size), *bounds])
    return {"axis": f"flow completion time ({unit})", "rows": rows}


def _times(fcts: Sequence[pl.Series], points: int) -> list[float]:
    """Returns times from the shortest to the longest FCT, evenly by logarithm."""
    if not fcts:
        return []
    low, high = min(float(fct[0]) for fct in fcts), max(float(fct[-1]) for fct in fcts)
    if low == high:
        return [low]
    # The last time is the longest FCT itself, whatever rounding does.
    return [*(low * (high / low) ** (n / (points - 1)) for n in range(points - 1)), high]


def _rounded(value: float | None, size: float = 1.0) -> float | None:
    return None if value is None else float(f"{value / size:.{DIGITS}g}")


_PANEL = alt.Facet("panel:N", title=None, header=alt.Header(labelFontSize=12, labelFontWeight="bold", labelPadding=4))
_SHAPE = alt.Shape("mark:N", legend=None)


def _tooltips(*names: tuple[str, str]) -> list[alt.Tooltip]:
    shown = [alt.Tooltip(f"{name}:N", title=title) for name, title in names]
    return [alt.Tooltip("series:N"), *shown, alt.Tooltip("median:Q", format=".4~g"), alt.Tooltip("interval:N")]


def _dots() -> alt.FacetChart:
    """One line per value of the field with a colour: a mark at the median, its value, and a bar over the interval."""
    where: dict[str, Any] = {
        "y": alt.Y("colour:N", title=None, axis=alt.Axis(labelLimit=150)),
        "yOffset": alt.YOffset("line:N"),
        "color": alt.Color("colour:N", legend=None),
    }
    base = alt.Chart().encode(**where)
    bars = base.mark_rule(strokeWidth=2.5, clip=True).encode(
        x=alt.X("low:Q"), x2="high:Q", strokeDash=alt.StrokeDash("line:N", legend=None)
    )
    marks = base.mark_point(filled=False, opacity=1, size=55, strokeWidth=2).encode(
        x=alt.X("median:Q"), shape=_SHAPE, tooltip=[*_tooltips(), alt.Tooltip("n:Q", title="seeds")]
    )
    values = base.mark_text(dy=-11, fontSize=11).encode(x=alt.X("median:Q"), text=alt.Text("label:N"))
    return _faceted(bars, _seeds(base, x=alt.X("points:Q")), marks, values)


def _lines() -> alt.FacetChart:
    """Lines over a field or over classes of sizes, with a mark at each median and a bar over its interval."""
    where: dict[str, Any] = {
        "x": alt.X("x:O", axis=alt.Axis(labelLimit=120)),
        "xOffset": alt.XOffset("colour:N"),
        "color": alt.Color("colour:N", legend=alt.Legend(title=None, symbolType="stroke")),
    }
    dash = alt.StrokeDash("line:N", legend=alt.Legend(title=None))
    base = alt.Chart().encode(**where)
    lines = base.mark_line(strokeWidth=2).encode(y=alt.Y("median:Q"), strokeDash=dash)
    bars = base.mark_rule(strokeWidth=1.5, clip=True).encode(y=alt.Y("low:Q"), y2="high:Q", detail="line:N")
    marks = base.mark_point(filled=True, opacity=1, size=45).encode(
        y=alt.Y("median:Q"), shape=_SHAPE, tooltip=[*_tooltips(("x", "at")), alt.Tooltip("n:Q", title="seeds")]
    )
    return _faceted(lines, bars, _seeds(base, y=alt.Y("points:Q"), detail="line:N"), marks)


def _seeds(base: alt.Chart, **where: alt.X | alt.Y | str) -> alt.Chart:
    """A small dot for each of a few seeds."""
    dots = base.transform_flatten(["points"]).mark_point(filled=True, opacity=0.5, size=14, clip=True)
    encoded: alt.Chart = dots.encode(**where)
    return encoded


def _cdf() -> alt.FacetChart:
    """Distributions: the median share of flows and, as a band, its interval."""
    colour = alt.Color("colour:N", legend=alt.Legend(title=None, symbolType="stroke"))
    base = alt.Chart().encode(x=alt.X("x:Q", scale=alt.Scale(type="log", nice=False)), color=colour)
    share = alt.Scale(domain=[0, 1])
    bands = base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", scale=share), y2="high:Q", detail="line:N")
    lines = base.mark_line(strokeWidth=2).encode(
        y=alt.Y("median:Q", title="share of flows", scale=share),
        strokeDash=alt.StrokeDash("line:N", legend=alt.Legend(title=None)),
        tooltip=_tooltips(),
    )
    return _faceted(bands, lines)


def _faceted(*layers: alt.Chart) -> alt.FacetChart:
    layered = alt.LayerChart(layer=list(layers))
    return alt.FacetChart(data=alt.NamedData("rows"), spec=layered, facet=_PANEL, columns=1)


def _template(chart: alt.FacetChart) -> dict[str, Any]:
    spec: dict[str, Any] = chart.to_dict()
    spec.pop("$schema", None)
    return spec | {"config": CONFIG | {"header": {"labelColor": "currentColor"}}}
