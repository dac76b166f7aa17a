"""The data behind the time slider: scenes, each with values over time such as windows and queues."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from weft.api import Result
from weft.plots import data
from weft.stats import size_name

MAX_FLOWS = 8
"""Recorded flows that get a scene of their own."""
MAX_QUEUES = 8
"""Queues in one plot."""
MAX_SPANS = 400
"""Times of suppression in one scene."""
STEPS = 400
"""Of the slider, at most."""
MIN_STEPS = 40
SERIES = {
    "windows": ("subflow", "cwnd_packets"),
    "queues": ("queue", "length_packets"),
    "buffers": ("buffer", "buffer_bytes"),
    "losses": ("of", "count"),
    "counts": ("of", "count"),
}
"""Data over time: the column that distinguishes the series, and the column of values."""


def scenes(result: Result, rows: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Scenes of a run: the life of each of its first recorded flows, and all of it.

    Args:
        result: The run.
        rows: About how many rows all scenes together may have.

    Returns:
        The scenes, and what is left out of them, in sentences.
    """
    notes: list[str] = []
    has = result.manifest["rows"]
    traces = result.traces if has.get("traces") else None
    windows = None if traces is None else traces.drop_nulls("cwnd_packets")
    flows = [] if windows is None else windows["flow"].unique(maintain_order=True).sort().to_list()
    if len(flows) > MAX_FLOWS:
        notes.append(
            f"The timeline has {MAX_FLOWS} of {len(flows):,} recorded flows: those with most suppressions and timeouts."
        )
        flows = sorted(sorted(flows, key=_eventfulness(result), reverse=True)[:MAX_FLOWS])
    queues = losses = None
    if traces is not None and traces["length_packets"].count() > 0:
        queues = _most(
            data.queues(traces, result.links), "queue", "length_packets", "sampled queues that grew longest", notes
        )
        losses = _losses(traces, result.links, notes)
    parts = {"queues": queues, "buffers": _buffers(traces, notes), "losses": losses, "counts": _counts(result)}
    share = rows // (len(flows) + 1)
    end = float(result.manifest["end_s"])
    whole = (0.0, end)
    active = _active(result, end)
    found = []
    for flow in flows:
        assert windows is not None  # noqa: S101 - there are no flows without
        _, of_flow = data.windows(windows, flow)
        low, high = float(of_flow["time_s"][0]), float(of_flow["time_s"][-1])
        edge = 0.02 * (high - low)
        life = (max(whole[0], low - edge), min(whole[1], high + edge)) if high > low else whole
        found.append(_scene(_about(result, flow), life, {"windows": of_flow, **parts}, share) | {"flow": flow})
    name = "the whole run" if active == whole else "while flows were open"
    found.append(_scene(name, active, parts, share) | {"flow": None})
    if any(scene["thinned"] for scene in found):
        notes.append(
            "Where there are more samples than a plot can show, it has the first, last, smallest and largest of each "
            "step of the slider. The values at the slider are exact."
        )
    if any(scene["cut"] for scene in found):
        notes.append(f"Where a flow was suppressed more than {MAX_SPANS} times, the longest {MAX_SPANS} have a strip.")
    # A scene without any data is left out.
    return [scene for scene in found if any(scene[name] for name in SERIES)], notes


def _active(result: Result, end: float) -> tuple[float, float]:
    """Returns the time from the first to the last start or end of a flow or change of a link, with some room.

    It is the whole run if that is not much longer.
    """
    first, last = data.active_span(result)
    times = [data.seconds_of(event["at"]) for event in result.manifest["spec"].get("events", [])]
    first, last = min([first, *times]), max([last, *times])
    room = 0.02 * (last - first)
    low, high = max(0.0, first - room), min(end, last + room)
    return (low, high) if 0 < high - low < 0.9 * end else (0.0, end)


def most_eventful(result: Result, found: Sequence[dict[str, Any]]) -> int:
    """Returns the index of the scene to show first: that of the flow with most suppressions, then most timeouts."""
    eventfulness = _eventfulness(result)
    flows = [scene["flow"] for scene in found]
    return max(range(len(flows)), key=lambda n: eventfulness(flows[n]), default=0)


def _eventfulness(result: Result) -> Callable[[int | None], tuple[int, int]]:
    """Returns a function from a flow to its numbers of suppressions and timeouts; -1 each without a flow."""
    zero = pl.lit(0)
    columns = {
        name: sum((pl.col(column) for column in parts if column in result.flows.columns), zero)
        for name, parts in (("suppressions", ("suppressions",)), ("timeouts", ("timeouts", "syn_timeouts")))
    }
    rows = result.flows.select("flow", **columns).rows()
    counts = {flow: (suppressions, timeouts) for flow, suppressions, timeouts in rows}
    return lambda flow: (-1, -1) if flow is None else counts.get(flow, (0, 0))


def _about(result: Result, flow: int) -> str:
    row = result.flows.filter(pl.col("flow") == flow)
    if row.is_empty():
        return f"flow {flow}"
    values = row.row(0, named=True)
    size = "" if values["size_bytes"] is None else f", {size_name(values['size_bytes'])}"
    return f"flow {flow}: {values['transport']}, {values['from']} to {values['to']}{size}"


def _most(rows: pl.DataFrame, by: str, value: str, what: str, notes: list[str]) -> pl.DataFrame:
    """The series that reach the largest values, where there are many."""
    largest = rows.group_by(by, maintain_order=True).agg(pl.col(value).max())
    if largest.height <= MAX_QUEUES:
        return rows
    notes.append(f"The timeline has the {MAX_QUEUES} of {largest.height:,} {what}.")
    chosen = largest.sort(value, descending=True, maintain_order=True).head(MAX_QUEUES)
    return rows.join(chosen.select(by), on=by, how="semi", maintain_order="left")


def _buffers(traces: pl.DataFrame | None, notes: list[str]) -> pl.DataFrame | None:
    """Bytes in the buffers of switches, if they were sampled."""
    if traces is None or "buffer_bytes" not in traces.columns or not traces["buffer_bytes"].count():
        return None
    return _most(data.buffers(traces), "buffer", "buffer_bytes", "sampled buffers that became fullest", notes)


def _losses(traces: pl.DataFrame, links: pl.DataFrame, notes: list[str]) -> pl.DataFrame | None:
    """Marks and drops, if the level counts them."""
    if "marks" not in traces.columns:
        return None
    rows = data.losses(traces, links)
    if rows.is_empty():
        notes.append("No sampled queue marked or dropped a packet.")
        return None
    return _most(rows, "of", "count", "largest counts of marks and drops", notes)


def _counts(result: Result) -> pl.DataFrame | None:
    """How many flows were open, and of how many connections a subflow was suppressed."""
    kinds = []
    flows = result.flows
    if flows.height > 0:
        over = pl.coalesce("finish_s", "stop_s") if "stop_s" in flows.columns else pl.col("finish_s")
        opened = flows.with_columns(over=over).filter(pl.col("start_s") <= result.manifest["end_s"])
        kinds.append(data.in_progress(opened, "start_s", "over").with_columns(of=pl.lit("flows in progress")))
    if result.manifest["rows"].get("suppressions"):
        episodes = data.in_progress(result.suppressions, "start_s", "end_s")
        kinds.append(episodes.with_columns(of=pl.lit("connections with a suppressed subflow")))
    return pl.concat(kinds) if kinds else None


def _scene(about: str, span: tuple[float, float], parts: dict[str, pl.DataFrame | None], rows: int) -> dict[str, Any]:
    within = {name: _within(frame, SERIES[name][0], span) for name, frame in parts.items() if frame is not None}
    # Each change of a window or a count has a row, so the last value holds until the end. Queues are only sampled.
    windows = parts.get("windows")
    for name, end in (("windows", None if windows is None else windows["time_s"].max()), ("counts", span[1])):
        if name in within:
            held = within[name].group_by(SERIES[name][0], maintain_order=True).last().select(within[name].columns)
            within[name] = pl.concat([within[name], held.with_columns(time_s=pl.lit(end, pl.Float64))])
    if "losses" in within and span[0] > 0:
        since = pl.col("count") - pl.col("count").first().over("of")
        within["losses"] = within["losses"].with_columns(count=since)
    lines = sum(frame[SERIES[name][0]].n_unique() for name, frame in within.items())
    steps = min(STEPS, max(MIN_STEPS, rows // (4 * max(1, lines))))
    scene: dict[str, Any] = {
        "about": about,
        "low": span[0],
        "high": span[1],
        "steps": steps,
        "thinned": False,
        "cut": False,
        "spans": None,
        **dict.fromkeys(SERIES),
    }
    # A millionth of a scene is less than a pixel however far one looks into it.
    decimals = 6 - math.floor(math.log10(max(span[1] - span[0], 1e-12)))
    for name, frame in within.items():
        by, value = SERIES[name]
        if name in ("queues", "buffers", "losses") and not frame[value].max():
            continue
        kept = data.thinned(frame, value, span, steps, by)
        scene["thinned"] |= kept.height < frame.height
        scene[name] = _columns(kept, by, decimals)
    if "windows" in within:
        spans = data.suppressed(within["windows"])
        if spans.height > MAX_SPANS:
            scene["cut"] = True
            spans = spans.sort(pl.col("to_s") - pl.col("from_s"), descending=True).head(MAX_SPANS)
        scene["spans"] = _columns(spans, "subflow", decimals)
    return scene


def _within(frame: pl.DataFrame, by: str, span: tuple[float, float]) -> pl.DataFrame:
    """Rows of that time, and of each series the last before it, which is what held when it began."""
    time = pl.col("time_s")
    before = frame.filter(time < span[0]).group_by(by, maintain_order=True).last().select(frame.columns)
    return pl.concat([before, frame.filter((time >= span[0]) & (time <= span[1]))])


def _columns(rows: pl.DataFrame, by: str, decimals: int) -> dict[str, Any]:
    """Rows as lists by column, which are half as long as text; `by` as indices into `names`."""
    names = rows[by].unique(maintain_order=True).to_list()
    columns: dict[str, Any] = {"by": by, "names": names, "rows": {}}
    for name in rows.columns:
        values = rows[name]
        if name == by:
            index = {value: n for n, value in enumerate(names)}
            columns["rows"][name] = [index[value] for value in values]
        elif name.endswith("_s"):
            columns["rows"][name] = values.round(decimals).to_list()
        elif values.dtype == pl.Boolean:
            columns["rows"][name] = values.cast(pl.Int8).to_list()
        else:
            columns["rows"][name] = values.round(3).to_list() if values.dtype.is_float() else values.to_list()
    return columns
