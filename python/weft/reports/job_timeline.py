"""The timeline of a job: computing and messages of each rank, and the critical path, as a drawing without a script."""

from __future__ import annotations

import math
from html import escape
from typing import Any

import polars as pl

from weft.api import Result
from weft.plots import altair_plots, data
from weft.stats import digits

MAX_RANKS = 48
"""Rows of the drawing; ranks of the critical path have precedence."""
MAX_STEPS = 3000
"""Steps that are drawn, of some 150 bytes each: those of the critical path, then the longest ones."""
MAX_PATH = 200
"""Steps of the critical path in the table."""
ROW = 18
"""Height of a rank in pixels."""
LEFT, RIGHT = 9.0, 97.0
"""Ends of the time axis in percent of the width; numbers of ranks stand to the left."""
MAX_TICKS = 5
"""Times below the drawing after 0; more would touch each other on a phone."""
COMPUTING, MESSAGE, CRITICAL = altair_plots.COLOURS[0], altair_plots.COLOURS[2], altair_plots.HEAT[-1]


def job_timeline(result: Result) -> dict[str, Any] | None:
    """Returns the drawing of the job that took longest, with its table; None if no steps were recorded.

    Args:
        result: A run, of which a probe `steps` may have recorded jobs.
    """
    if not result.manifest["rows"].get("steps"):
        return None
    steps = result.steps.filter(pl.col("end_s").is_not_null())
    jobs = result.jobs.filter(pl.col("last_rank").is_not_null()).join(
        steps.select("traffic", "job").unique(), on=["traffic", "job"], how="semi", maintain_order="left"
    )
    if jobs.is_empty():
        return None
    job = jobs.sort("jct_s", descending=True, maintain_order=True).row(0, named=True)
    steps = steps.filter(traffic=job["traffic"], job=job["job"])
    path = steps.filter("critical").sort("start_s", maintain_order=True)
    ranks = _ranks(steps, path, job["last_rank"])
    drawn = steps.filter(pl.col("rank").is_in(ranks) | pl.col("critical"))
    drawn = drawn.sort("critical", pl.col("end_s") - pl.col("start_s"), descending=True, maintain_order=True)
    notes = []
    everyone = result.ranks.filter(traffic=job["traffic"], job=job["job"]).height
    if len(ranks) < everyone:
        notes.append(f"{len(ranks)} of {everyone:,} ranks are drawn, those of the critical path first.")
    if drawn.height > MAX_STEPS:
        notes.append(f"{MAX_STEPS:,} of {drawn.height:,} steps are drawn: the critical path and the longest others.")
    return {
        "title": f"Ranks of {job['traffic']}, job {job['job']}",
        "about": _about(result, job, jobs.height),
        "drawing": _drawing(drawn.head(MAX_STEPS), ranks, (job["start_s"], job["end_s"])),
        "colours": {"computing": COMPUTING, "messages": MESSAGE, "critical path": CRITICAL},
        "notes": notes,
        "path": [
            [
                f"{row['rank']} ({row['host']})",
                "computes" if row["to_rank"] is None else f"sends to {row['to_rank']}",
                data.seconds_name(row["start_s"] - job["start_s"]),
                data.seconds_name(row["end_s"] - row["start_s"]),
                "" if row["ideal_s"] is None else data.seconds_name(row["ideal_s"]),
            ]
            for row in path.head(MAX_PATH).iter_rows(named=True)
        ],
        "left": max(0, path.height - MAX_PATH),
    }


def _ranks(steps: pl.DataFrame, path: pl.DataFrame, last: int) -> list[int]:
    """Returns the ranks that have a row, in rising order."""
    wanted = [last, *path["rank"].to_list(), *path["to_rank"].drop_nulls().to_list(), *steps["rank"].sort().to_list()]
    return sorted(list(dict.fromkeys(wanted))[:MAX_RANKS])


def _about(result: Result, job: dict[str, Any], number: int) -> str:
    """Returns what made a job slow, in sentences."""
    chosen = "" if number == 1 else f" It took longest of {number:,} jobs."
    text = f"The job took {data.seconds_name(job['jct_s'])}, and rank {job['last_rank']} was the last one.{chosen}"
    flow = result.flows.filter(flow=job["slowest_flow"]) if job["slowest_flow"] is not None else result.flows.head(0)
    if flow.height:
        row = flow.row(0, named=True)
        text += f" The slowest message of its critical path went from {row['from']} to {row['to']}"
        if row.get("slowdown") is not None:
            text += f" and took {digits(row['slowdown'])} times its time alone"
        text += "."
    if job.get("slowest_link") is not None:
        link = result.links.row(job["slowest_link"], named=True)
        text += f" The most utilised link of its paths is {link['from']} to {link['to']}."
    return text


def _ticks(width: float) -> list[float]:
    """Returns times from 0 to a width, at steps of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(width / MAX_TICKS))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor * MAX_TICKS >= width * (1 - 1e-9))
    return [number * step for number in range(int(width / step * (1 + 1e-9)) + 1)]


def _drawing(steps: pl.DataFrame, ranks: list[int], span: tuple[float, float]) -> str:
    """Returns an SVG drawing as wide as its place, so that text keeps its size."""
    low, high = span
    width = max(high - low, 1e-12)
    row_of = {rank: row for row, rank in enumerate(ranks)}
    height = ROW * len(ranks)

    def at(time: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * min(max((time - low) / width, 0.0), 1.0), 3)

    parts = []
    for time in _ticks(width):
        x = at(low + time)
        anchor = "end" if x > RIGHT - 4 else "middle"
        parts.append(f'<line class="grid" x1="{x}%" x2="{x}%" y1="0" y2="{height + 4}"/>')
        parts.append(f'<text x="{x}%" y="{height + 17}" text-anchor="{anchor}">{data.seconds_name(time)}</text>')
    for rank, row in row_of.items():
        parts.append(f'<text x="{LEFT - 1}%" y="{ROW * row + 13}" text-anchor="end">{rank}</text>')
    connections = []
    # Longer steps first, so that shorter ones are in front; the critical path comes last.
    for step in steps.sort("critical", pl.col("start_s") - pl.col("end_s")).iter_rows(named=True):
        if step["rank"] not in row_of:
            continue
        top, x, end = ROW * row_of[step["rank"]], at(step["start_s"]), at(step["end_s"])
        is_message = step["to_rank"] is not None
        kind = "message" if is_message else "computing"
        critical = " critical" if step["critical"] else ""
        y, thick = (top + 11, 4) if is_message else (top + 2, 8)
        what = f"sends to {step['to_rank']}" if is_message else "computes"
        says = f"rank {step['rank']} {what}: {data.seconds_name(step['end_s'] - step['start_s'])}"
        parts.append(
            f'<rect class="{kind}{critical}" x="{x}%" y="{y}" width="{max(round(end - x, 3), 0.05)}%" height="{thick}">'
            f"<title>{escape(says)}</title></rect>"
        )
        if critical and is_message and step["to_rank"] in row_of:
            to = ROW * row_of[step["to_rank"]] + ROW / 2
            connections.append(f'<line class="path" x1="{x}%" x2="{end}%" y1="{y + 2}" y2="{to}"/>')
    label = f"Computing and messages of {len(ranks)} ranks over {data.seconds_name(width)}"
    return (
        f'<svg class="ranks" role="img" aria-label="{escape(label)}" width="100%" height="{height + 24}">'
        f"{''.join(parts)}{''.join(connections)}</svg>"
    )
