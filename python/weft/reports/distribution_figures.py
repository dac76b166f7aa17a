"""The distributions of a page about one group: FCT, slowdown, fairness and utilisation."""

from __future__ import annotations

import polars as pl

from weft import stats
from weft.api import Result
from weft.errors import UsageError
from weft.plots import altair_plots, data
from weft.reports.figures import Figures, reason
from weft.reports.inputs import Group
from weft.stats import digits

MAX_STEPS = 600
"""Maximum number of steps of a distribution."""


def add(figures: Figures, group: Group) -> None:
    """Adds the figures of the only group: the flows of all its seeds together, by transport."""
    flows, used, reasons = [], [], set()
    for run in group.runs:
        result = run.result()
        flows.append(result.flows.with_columns(group=pl.col("transport")))
        used.append(data.active_links(result))
        reasons |= {why_no_slowdown(result)} - {""}
    together = pl.concat(flows, how="diagonal_relaxed")
    _add_fct(figures, together)
    figures.missing += sorted(reasons)
    if not reasons:
        _add_slowdown(figures, together)
    try:
        rows = data.jain(together, "group")
    except UsageError as error:
        figures.missing.append(f"Jain's index: {reason(error)}")
    else:
        cells = [[row["group"], f"{row['flows']:,}", digits(row["jain"])] for row in rows.iter_rows(named=True)]
        figures.add(
            "jain",
            "Fairness",
            "1: all flows have the same goodput; 1/n: one of n flows has all.",
            altair_plots.jain(rows, "group"),
            height=max(60, 30 * rows.height),
            table=(["transport", "flows", "Jain's index"], cells),
        )
    _add_utilisation(figures, pl.concat(used, how="diagonal_relaxed"))


def why_no_slowdown(result: Result) -> str:
    """Returns why a run has no slowdown by size; empty if it has one."""
    flows = result.flows
    if not {"ideal_s", "unfinished_s"} <= set(flows.columns):
        return "slowdown by size: an earlier version of Weft made the runs; rerun them"
    if flows["size_bytes"].count() == 0:
        return "slowdown by size: no flow has a size"
    if flows["ideal_s"].count() == 0:
        return f"slowdown by size: level {result.manifest['level']} does not determine the sizes of packets"
    return ""


def _add_slowdown(figures: Figures, flows: pl.DataFrame) -> None:
    try:
        rows = data.slowdown(flows, "group")
    except UsageError as error:
        figures.missing.append(f"slowdown by size: {reason(error)}")
        return
    if rows["size"].n_unique() == 1:
        figures.missing.append(f"slowdown by size: all flows have sizes of one class, {rows['size'][0]}")
        return
    caption = "Median (solid) and 99th percentile (dashed) of the FCT over that on an idle path."
    if rows["at_least"].any():
        caption += " A triangle may be higher: flows that the run's end cut off would have taken longer."
    cells = [
        [
            row["group"],
            row["size"],
            f"{row['flows']:,}",
            row["percentile"],
            ("≥ " if row["at_least"] else "") + digits(row["value"]),
        ]
        for row in rows.iter_rows(named=True)
    ]
    table = (["transport", "size", "flows", "percentile", "slowdown"], cells)
    figures.add("slowdown", "Slowdown by size of flow", caption, altair_plots.slowdown(rows), table=table)


def _add_fct(figures: Figures, flows: pl.DataFrame) -> None:
    try:
        steps = data.fct(flows, "group")
    except UsageError as error:
        figures.missing.append(f"distribution of FCT: {reason(error)}")
        return
    shown = data.thinned_steps(steps, MAX_STEPS)
    caption = "Flows that did not end are not in it; the legend says how many of how many did."
    if shown.height < steps.height:
        caption += f" Drawn by {shown.height:,} of its {steps.height:,} steps, the slowest flows in full."
    percents = (5, 25, 50, 75, 95, 99)
    names = data.fct_names(flows, "group")
    rows = stats.percentiles(flows.drop_nulls("fct_s"), "fct_s", percents, by="group")
    cells = [
        [names[row["group"]], *(data.seconds_name(row[f"p{percent}"]) for percent in percents)]
        for row in rows.iter_rows(named=True)
    ]
    table = (["flows that ended", *(f"p{percent}" for percent in percents)], cells)
    figures.add("fct", "Flow completion times", caption, altair_plots.fct(shown), table=table)


def _add_utilisation(figures: Figures, links: pl.DataFrame) -> None:
    rows = data.utilisation(links)
    if rows["mean"].count() == 0:
        figures.missing.append("utilisation: no run has lasted")
        return
    cells = [
        [row["stage"], f"{row['links']:,}", *(digits(100 * row[name]) for name in ("mean", "min", "max"))]
        for row in rows.drop_nulls("mean").iter_rows(named=True)
    ]
    figures.add(
        "utilisation",
        "Utilisation by stage of the network",
        "Bars are the share of a stage's capacity in use while flows were open, lines its least and most used link.",
        altair_plots.utilisation(rows),
        height=max(80, 22 * rows.height + 10),
        table=(["stage and direction", "links", "mean (%)", "least (%)", "most (%)"], cells),
    )
