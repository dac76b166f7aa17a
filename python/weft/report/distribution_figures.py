"""The part of the page with distributions: FCT, slowdown, fairness and utilisation, by group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from weft.errors import UsageError
from weft.papers.seed_summary import digits
from weft.plots import altair_plots, data
from weft.report.figures import reason
from weft.slowdown import with_slowdown

if TYPE_CHECKING:
    from weft.api import Result
    from weft.report.figures import Figures
    from weft.report.inputs import Group, ReportInputs

MAX_GROUPS = 8
"""In one plot, told apart by colour."""
MAX_STEPS = 600
"""Of one distribution."""
MAX_SLOWDOWN_LINKS = 5_000
"""Of a network on which ideal FCTs are worked out."""


def add(figures: Figures, inputs: ReportInputs) -> None:
    """Of the flows of each group, all its seeds together."""
    groups = inputs.groups[:MAX_GROUPS]
    left = len(inputs.groups) - len(groups)
    beyond = f" The first {MAX_GROUPS} of {len(inputs.groups)} groups are drawn." if left else ""
    flows, slow, used, reasons = [], [], [], set()
    for group in groups:
        for run in group.runs:
            result = run.result()
            own = result.flows.with_columns(group=_group_of(group, inputs))
            flows.append(own)
            used.append(result.links.with_columns(group=pl.lit(group.name)))
            slowdowns, why = _slowdown(result)
            if slowdowns is not None:
                slow.append(slowdowns.with_columns(group=_group_of(group, inputs)))
            reasons |= {why} - {""}
    together = pl.concat(flows, how="diagonal_relaxed")
    _add_fct(figures, together, beyond)
    figures.missing += sorted(reasons)
    if slow:
        try:
            rows = data.slowdown(pl.concat(slow, how="diagonal_relaxed"), "group")
        except UsageError as error:
            figures.missing.append(f"slowdown by size: {reason(error)}")
        else:
            caption = "Median (solid) and 99th percentile (dashed) of the FCT over that on an idle path." + beyond
            if rows["at_least"].any():
                caption += " A triangle may be higher: flows that the run's end cut off would have taken longer."
            cells = [
                [
                    it["group"],
                    it["size"],
                    f"{it['flows']:,}",
                    it["percentile"],
                    ("≥ " if it["at_least"] else "") + digits(it["value"]),
                ]
                for it in rows.iter_rows(named=True)
            ]
            table = (["group", "size", "flows", "percentile", "slowdown"], cells)
            figures.add("slowdown", "Slowdown by size of flow", caption, altair_plots.slowdown(rows), table=table)
    try:
        rows = data.jain(together, "group")
    except UsageError as error:
        figures.missing.append(f"Jain's index: {reason(error)}")
    else:
        cells = [[it["group"], f"{it['flows']:,}", digits(it["jain"])] for it in rows.iter_rows(named=True)]
        caption = "1: all flows have the same goodput; 1/n: one of n flows has all." + beyond
        figures.add(
            "jain",
            "Fairness",
            caption,
            altair_plots.jain(rows, "group"),
            height=max(60, 30 * rows.height),
            table=(["group", "flows", "Jain's index"], cells),
        )
    _add_utilisation(figures, used, beyond)


def _group_of(group: Group, inputs: ReportInputs) -> pl.Expr:
    """A group's flows go by its name; where there is one group alone, by their transports."""
    name = pl.col("transport") if len(inputs.groups) == 1 else pl.lit(group.name)
    # Sorted, groups keep their order, so that they have the same colours in all plots.
    return name.cast(pl.Enum(_group_names(inputs)))


def _group_names(inputs: ReportInputs) -> list[str]:
    groups = inputs.groups
    if len(groups) > 1:
        return [group.name for group in groups]
    return sorted({name for run in groups[0].runs for name in run.manifest["spec"]["transports"]})


def _slowdown(result: Result) -> tuple[pl.DataFrame | None, str]:
    """Flows with their slowdown, or why there is none."""
    count = result.links.height
    if count > MAX_SLOWDOWN_LINKS:
        return (
            None,
            f"slowdown by size: the network has {count:,} links, and ideal FCTs are not worked out beyond 5,000",
        )
    if "unfinished_s" not in result.flows.columns:
        return None, "slowdown by size: the runs do not tell which flows their end cut off"
    if result.flows["size_bytes"].count() == 0:
        return None, "slowdown by size: no flow has a size"
    return with_slowdown(result), ""


def _add_fct(figures: Figures, flows: pl.DataFrame, beyond: str) -> None:
    try:
        steps = data.fct(flows, "group")
    except UsageError as error:
        figures.missing.append(f"distribution of FCT: {reason(error)}")
        return
    shown = data.thinned_steps(steps, MAX_STEPS)
    caption = "Flows that did not end are not in it; the legend says how many of how many did." + beyond
    if shown.height < steps.height:
        caption += f" Drawn by {shown.height:,} of its {steps.height:,} steps, the slowest flows in full."
    percents = (5, 25, 50, 75, 95, 99)
    cells = []
    for (name,), group in steps.group_by("group", maintain_order=True):
        at = [group.filter(pl.col("fraction") >= percent / 100 - 1e-12)["value"].first() for percent in percents]
        cells.append([str(name), *(data.seconds_name(float(value)) for value in at)])  # type: ignore[arg-type]
    table = (["flows that ended", *(f"p{percent}" for percent in percents)], cells)
    figures.add("fct", "Flow completion times", caption, altair_plots.fct(shown), table=table)


def _add_utilisation(figures: Figures, used: list[pl.DataFrame], beyond: str) -> None:
    frames = []
    for (name,), links in pl.concat(used, how="diagonal_relaxed").group_by("group", maintain_order=True):
        frames.append(data.utilisation(links).with_columns(group=pl.lit(str(name))))
    rows = pl.concat(frames)
    if rows["mean"].count() == 0:
        figures.missing.append("utilisation: no run has lasted")
        return
    cells = [
        [it["group"], it["stage"], f"{it['links']:,}", *(digits(it[name]) for name in ("mean", "min", "max"))]
        for it in rows.drop_nulls("mean").iter_rows(named=True)
    ]
    if len(frames) == 1:
        rows = rows.drop("group")
    caption = (
        "Bars are the share of a stage's capacity in use while links were measured, lines its least and most used link."
    )
    figures.add(
        "utilisation",
        "Utilisation by stage of the network",
        caption + beyond,
        altair_plots.utilisation(rows),
        height=max(80, 22 * rows.height + 10 * len(frames)),
        table=(["group", "stage and direction", "links", "mean", "least", "most"], cells),
    )
