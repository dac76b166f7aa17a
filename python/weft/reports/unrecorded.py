"""The data that a run has not recorded, by name, so that missing data are not mistaken for zeros."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.api import TABLES
from weft.reports.inputs import Run

_PROBES = {
    "traces": 'windows, queues, marks and drops over time: no probe of kind "flow" or of kind "queue" with an interval',
    "queues": 'distributions of queue lengths: no probe of kind "queue"',
    "throughput": 'throughput over time: no probe of kind "throughput"',
    "latencies": 'one-way latencies: no probe of kind "latency"',
    "packets": 'single packets: no probe of kind "packets"',
}
BUFFERED = ("shared", "lossless")
"""Kinds of queues that use a buffer of the switch."""
ALWAYS = "timeouts over time: no probe records them; their totals are here, by flow"


def unrecorded(runs: Sequence[Run]) -> list[str]:
    """Returns the missing data as sentences, each with the number of runs if not all of them lack the data."""
    counts: dict[str, int] = {}
    for run in runs:
        for line in _of(run):
            counts[line] = counts.get(line, 0) + 1
    lines = [line if count == len(runs) else f"{line} ({count} of {len(runs)} runs)" for line, count in counts.items()]
    return [*lines, *_cut_off(runs)]


def _cut_off(runs: Sequence[Run]) -> list[str]:
    """Returns a line for flows and one for jobs that had not ended when their runs did."""
    lines = []
    for what, time in (("flows", "FCT"), ("jobs", "JCT")):
        counts = [run.manifest["unfinished"].get(what, 0) for run in runs]
        if sum(counts):
            rows = sum(run.manifest["rows"].get(what, 0) for run in runs)
            where = f" in {sum(count > 0 for count in counts):,} of {len(runs):,} runs" if len(runs) > 1 else ""
            more = "; the list of runs has the number of each" if where and what == "flows" else ""
            lines.append(f"the {time} of {sum(counts):,} of {rows:,} {what}{where}, which had not ended{more}")
    return lines


def _of(run: Run) -> list[str]:
    manifest = run.manifest
    level, rows, spec = manifest["level"], manifest["rows"], manifest["spec"]
    lines = []
    if manifest["partial"]:
        lines.append(f"what came after {manifest['end_s']:g} s: the run was stopped before its end, {spec['duration']}")
    unknown = [name for name in TABLES if name not in rows]
    if unknown:
        lines.append(f"the tables {', '.join(unknown)}: level {level} does not provide them")
    lines += [line for name, line in _PROBES.items() if rows.get(name) == 0]
    probes = spec.get("probes", [])
    if rows.get("traces"):
        kinds = {probe["kind"] for probe in probes if probe["kind"] == "flow" or probe.get("interval")}
        if "flow" not in kinds:
            lines.append('windows over time: no probe of kind "flow"')
        if "queue" not in kinds:
            lines.append('queue lengths, marks and drops over time: no probe of kind "queue" with an interval')
    if any(kind in BUFFERED for kind in _kinds(spec)) and all(probe["kind"] != "buffer" for probe in probes):
        lines.append('bytes in the buffers of switches over time: no probe of kind "buffer"')
    missing = [name for name in ("drops", "marks", "timeouts") if name not in manifest["counters"]]
    if missing:
        lines.append(f"{', '.join(missing)}: level {level} does not count them")
    else:
        lines.append(ALWAYS)
    return lines


def _kinds(spec: dict[str, Any]) -> set[str]:
    """Returns the kinds of the queues of a spec: of the network, of layers and of cables."""
    given = [spec.get("queues", {}).get("kind")]
    given += [layer.get("queue") for layer in spec.get("layers", {}).values()]
    if spec["topology"]["kind"] == "graph":
        given += [cable.get("queue") for cable in spec["topology"]["links"]]
    return {kind["name"] if isinstance(kind, dict) else kind for kind in given if kind}
