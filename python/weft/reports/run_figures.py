"""The part of the page about one run: its fabric, its timeline, its spec. The script fills in what is chosen."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from weft.output import file_name
from weft.plots import altair_plots, data
from weft.reports import fabric, switch_counters, timeline
from weft.reports.figures import INK, PAPER, Figures
from weft.reports.inputs import Group, Run
from weft.reports.job_timeline import job_timeline
from weft.reports.link_events import LinkEvent, link_events
from weft.stats import digits

EVENT = altair_plots.HEAT[-1]
"""Colour of link events."""
BUSIEST = ("utilisation", "packets", "marks", "drops", "losses", "trims", "pauses", "paused", "expired_pauses")
"""Columns of the table of the most used links."""
HEADS = {"utilisation": "utilisation (%)", "paused": "paused (% of time)", "expired_pauses": "expired pauses"}
"""Headings of these columns that are not the names of the columns."""
PERCENT = {"utilisation", "paused"}
"""Columns that the table shows in percent."""
CROSS = 0.3
"""Distance of an event's mark from the upper end of its cable, as a share of the cable."""


def label(name: str, run: Run) -> str:
    """Returns the name of a run on the page.

    Args:
        name: The name of its group.
        run: The run.
    """
    return f"{name}, seed {run.seed}"


def detail(group: Group, name: str, run: Run, rows: int) -> dict[str, Any]:
    """Returns what the script draws and what the template prints of one run.

    Args:
        group: The group of the run.
        name: The name of the group on the page.
        run: The run.
        rows: About how many rows its timelines may have.
    """
    result = run.result()
    flows = result.flows
    hosts = set(flows["from"].to_list()) | set(flows["to"].to_list())
    links = switch_counters.links(result, data.active_links(result))
    picture = fabric.picture(links, hosts)
    scenes, notes = timeline.scenes(result, rows)
    begins = fabric.ends(result.links, picture)
    names = {f"{row['from']} to {row['to']}": begins[row["link"]] for row in result.links.iter_rows(named=True)}
    sampled = {name for scene in scenes if scene["queues"] for name in scene["queues"]["names"]}
    if not result.links["utilisation"].count():
        notes.append("No link has a utilisation, for no time passed.")
    notes += switch_counters.victims(flows)
    notes += switch_counters.drops(result)
    busiest = links.drop_nulls("utilisation").sort("utilisation", descending=True, maintain_order=True).head(10)
    columns = [name for name in BUSIEST if name in busiest.columns and (name not in fabric.RARE or links[name].sum())]
    shares = [name for name in columns if name in PERCENT]
    name = label(name, run)
    events = link_events(run.manifest["spec"], result.links)
    spec = json.dumps(run.manifest["spec"], indent=2, ensure_ascii=False)
    file = f"{file_name(f'{group.name}-seed-{run.seed}') or 'spec'}.json"
    mark = run.manifest["spec"].get("queues", {}).get("mark")
    drawn_events = crosses(events, picture)
    for node in picture["nodes"]:
        del node["members"]
    return {
        "label": name,
        "events": [f"{data.seconds_name(event.time_s)}: {event.text}" for event in events],
        "notes": [note for note in (*notes, picture["note"]) if note],
        "busiest": {
            "heads": ["link", *(HEADS.get(name, name) for name in columns)],
            "rows": [
                [f"{row['from']} to {row['to']}", *(_cell(row[name]) for name in columns)]
                for row in busiest.with_columns(pl.col(shares) * 100).iter_rows(named=True)
            ],
        },
        "ranks": job_timeline(result),
        "spec": spec,
        "file": file,
        "command": f"weft run {file}",
        "scenes": [scene["about"] for scene in scenes],
        "drawn": {
            "label": name,
            "fabric": {name: picture[name] for name in ("nodes", "links", "tiers", "heats")},
            "events": _moments(events),
            "crosses": drawn_events,
            "first": timeline.most_eventful(result, scenes),
            "heads": {name: at for name, at in names.items() if name in sampled},
            "scenes": scenes,
            "mark": _packets(mark),
        },
    }


def _moments(events: Sequence[LinkEvent]) -> list[dict[str, Any]]:
    """Returns the times that timelines mark."""
    rows = []
    for event in events:
        rows.append({"at": event.time_s, "text": event.text})
        if event.detected_s is not None:
            rows.append({"at": event.detected_s, "text": f"routing learns of: {event.text}"})
    return rows


def crosses(events: Sequence[LinkEvent], picture: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns a mark on each changed cable of a picture.

    It is nearer to the upper end, because cables of a regular network cross in their middles.
    """
    at = {name: (node["x"], node["y"]) for node in picture["nodes"] for name in node["members"]}
    texts: dict[tuple[float, float], list[str]] = {}
    for event in events:
        for one, other in sorted(event.links):
            upper, lower = sorted((at[one], at[other]), key=lambda point: (-point[1], point[0]))
            x, y = (CROSS * below + (1 - CROSS) * above for above, below in zip(upper, lower, strict=True))
            words = f"{data.seconds_name(event.time_s)}: {event.text}"
            if words not in texts.setdefault((round(x, 5), round(y, 5)), []):
                texts[round(x, 5), round(y, 5)].append(words)
    return [{"x": x, "y": y, "text": "; ".join(words)} for (x, y), words in texts.items()]


def _packets(text: object) -> float | None:
    """Returns the number of a threshold in packets, and None for other thresholds."""
    number, _, unit = str(text).partition(" ")
    return float(number) if unit.startswith("packet") and number.replace(".", "", 1).isdigit() else None


def _cell(value: object) -> str:
    return digits(value) if isinstance(value, float) else f"{value:,}"


def add(figures: Figures, details: Sequence[dict[str, Any]]) -> None:
    """Adds the plots whose rows the script fills in for the chosen run and scene."""
    # A value that a run does not count must not look like a zero.
    links = [set(link) for detail in details for link in detail["drawn"]["fabric"]["links"][:1]]
    chart = _fabric_chart(set.intersection(*links) if links else set())
    signals = {"tiers": [], "highest": 1, "hottest": 1, "longest": 1, "thin": 1, "thick": 3}
    figures.add("fabric", "The fabric", "", chart, height=320, params=signals)
    label = "format(datum.value / unit, '.6~f') + ' ' + suffix"
    axis = alt.Axis(title=None, labelExpr=label, labelOverlap="greedy", tickCount=alt.ExprRef("width / 90"))
    scales = altair_plots.Scales(_scale("low", "high"), _scale(0, "top"), axis)
    now = alt.Chart(alt.InlineData(values=[{}])).mark_rule(strokeWidth=1.5, clip=True)
    now = now.encode(x=alt.XDatum(alt.ExprRef("now"), type="quantitative"))
    moments = alt.Chart(alt.NamedData("events")).mark_rule(strokeWidth=2, strokeDash=[5, 3], color=EVENT, clip=True)
    moments = moments.encode(
        x=alt.X("at:Q", scale=scales.time, axis=axis), tooltip=alt.Tooltip("text:N", title="event")
    )
    time = {"low": 0, "high": 1, "now": 0, "top": 1, "unit": 1, "suffix": "s"}
    plots: tuple[tuple[str, str, str, alt.Chart | alt.LayerChart], ...] = (
        (
            "windows",
            "Congestion windows",
            "One line per subflow. A strip at the bottom shows when it is suppressed.",
            altair_plots.windows(alt.NamedData("windows"), alt.NamedData("spans"), scales=scales),
        ),
        (
            "queues",
            "Queues",
            "One line a sampled queue. The dotted line is the marking threshold K.",
            altair_plots.layered(
                altair_plots.queues(alt.NamedData("queues"), scales=scales),
                alt.Chart(alt.NamedData("mark"))
                .mark_rule(strokeDash=[2, 3], opacity=0.7, clip=True)
                .encode(y=alt.Y("mark:Q", scale=scales.value)),
            ),
        ),
        (
            "buffers",
            "Buffers of switches",
            "Bytes that wait at all ports of a switch that use its buffer.",
            altair_plots.buffers(alt.NamedData("buffers"), scales=scales),
        ),
        (
            "losses",
            "Marks and drops",
            "Packets that sampled queues have marked and dropped since the beginning of what is shown.",
            altair_plots.series(alt.NamedData("losses"), "count", "packets", "of", scales=scales),
        ),
        (
            "counts",
            "Flows",
            "Flows that were open, and connections of which a subflow was suppressed.",
            altair_plots.series(alt.NamedData("counts"), "count", "number", "of", scales=scales),
        ),
    )
    for name, title, caption, plot in plots:
        figures.add(name, title, caption, altair_plots.layered(plot, moments, now), height=200, params=time)


def _scale(low: float | str, high: float | str, **how: Any) -> alt.Scale:  # noqa: ANN401 - what Altair takes
    """A scale between numbers and signals, which the script sets."""
    domain = [alt.ExprRef(bound) if isinstance(bound, str) else bound for bound in (low, high)]
    return alt.Scale(domain=domain, nice=False, zero=False, **how)


def _fabric_chart(columns: set[str]) -> alt.LayerChart:
    shares = dict.fromkeys(("utilisation", "least", "most", "paused"), ".2~%")
    formats = shares | dict.fromkeys(("marks", "drops", "losses", "trims", "pauses"), ",")
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, 1]))
    rows = alt.Axis(
        title=None,
        grid=False,
        domain=False,
        ticks=False,
        tickMinStep=1,
        labelExpr="tiers[datum.value] || ''",
    )
    y = alt.Y("y:Q", axis=rows, scale=_scale(-0.4, "highest"))
    heat = alt.Color(
        "heat:Q",
        scale=alt.Scale(domain=[0, 1], range=list(altair_plots.HEAT), interpolate="rgb"),
        legend=alt.Legend(
            title=None, orient="top", gradientLength=180, labelExpr="format(datum.value * hottest, '.3~p')"
        ),
    )
    links = (
        alt.Chart(alt.NamedData("links"))
        .mark_rule(strokeCap="round", strokeWidth=alt.ExprRef("thin + thick * datum.heat"))
        .encode(
            x=x,
            y=y,
            x2="x2:Q",
            y2="y2:Q",
            color=heat,
            tooltip=[
                alt.Tooltip("name:N", title="link"),
                *(alt.Tooltip(f"{name}:Q", format=how) for name, how in formats.items() if name in columns),
            ],
        )
    )
    base = alt.Chart(alt.NamedData("nodes")).encode(x=x, y=y)
    nodes = base.mark_point(filled=True, size=50, opacity=1, color=INK).encode(
        tooltip=alt.Tooltip("name:N", title="node")
    )
    text = base.encode(text="short:N")
    # Links run behind names.
    halo = text.mark_text(dy=14, fontSize=11, stroke=PAPER, strokeWidth=4, strokeJoin="round", aria=False)
    names = text.mark_text(dy=14, fontSize=11)
    queued = (
        alt.Chart(alt.NamedData("queued"))
        .mark_point(filled=True, opacity=0.75, color=altair_plots.COLOURS[0])
        .encode(
            x=x,
            y=y,
            size=alt.Size("length:Q", legend=None, scale=_scale(0, "longest", range=[0, 900])),
            tooltip=[alt.Tooltip("name:N", title="queue"), alt.Tooltip("length:Q", title="packets")],
        )
    )
    changed = (
        alt.Chart(alt.NamedData("crosses"))
        .mark_point(shape="cross", angle=45, filled=True, size=130, opacity=1, color=EVENT)
        .encode(x=x, y=y, tooltip=alt.Tooltip("text:N", title="event"))
    )
    return altair_plots.layered(links, queued, nodes, halo, names, changed)
