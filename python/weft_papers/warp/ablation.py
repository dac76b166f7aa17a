"""Warp with one thing changed at a time: competing with DCTCP, under incast, and shifting. Nothing is judged.

The changes are those that parameters and the spec can make. With another number of subflows the cells are other cells
as well. Shifting was added after the quick versions had been seen, to show the parts that move shares between paths.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.seed_summary import SeedSummary
from weft_papers.warp import coexistence, incast, shifting
from weft_papers.warp.coexistence import DCTCP_FLOWS, DELAYS_US, FLOWS, MARKS
from weft_papers.warp.incast import AT_ONCE, SINGLE
from weft_papers.warp.settings import DCTCP, WARP, transport

SUBFLOWS = 4
AS_IT_IS = "as it is"
CHANGES: dict[str, dict[str, Any]] = {
    AS_IT_IS: {},
    "kappa = 0": {"cc": {"name": "warp", "kappa": 0}},
    "kappa = 1": {"cc": {"name": "warp", "kappa": 1}},
    "tau = 1": {"cc": {"name": "warp", "tau": 1}},
    "tau = 64": {"cc": {"name": "warp", "tau": 64}},
    "alpha0 = 0": {"cc": {"name": "warp", "alpha0": 0}},
    "1 subflow": {"subflows": 1},
    "2 subflows": {"subflows": 2},
    "8 subflows": {"subflows": 8},
    "round-robin": {"scheduler": "round-robin"},
    "every segment acknowledged": {"tcp": {"ack_every": 1}},
}
SHIFTED = (AS_IT_IS, "kappa = 0", "kappa = 1", "round-robin", "every segment acknowledged")
INCAST_KIB, INCAST_FLOWS = (128, 1024), (40, 100)
QUICK_INCAST_KIB = INCAST_KIB[:1]
QUICK = (
    f"with DCTCP K = 20 and links of 5 us only, {coexistence.QUICK_END_MS} ms instead of {coexistence.END_MS} ms; "
    f"incast of {QUICK_INCAST_KIB[0]} KiB only, fewer rounds"
)


def cases(scale: Scale) -> list[Case]:
    """Returns runs of every change in every cell of either scene, and DCTCP's incast."""
    settings = [(20, 5)] if scale.quick else list(product(MARKS, DELAYS_US))
    changed = {name: transport(WARP, SUBFLOWS) | changes for name, changes in CHANGES.items()}
    seeds = range(1, scale.seeds + 1)
    beside = [
        coexistence.case(_name(name), fields, (SUBFLOWS, *setting), m, n, seed, quick=scale.quick)
        for setting in settings
        for m in FLOWS
        for n in DCTCP_FLOWS
        for name, fields in changed.items()
        for seed in seeds
    ]
    rounds = [
        incast.case(_name(name), AT_ONCE, fields, size_kib, k, seed, gap_us=gap_us, quick=scale.quick)
        for gap_us in incast.GAPS_US
        for size_kib in (QUICK_INCAST_KIB if scale.quick else INCAST_KIB)
        for k in INCAST_FLOWS
        for name, fields in {**changed, SINGLE: DCTCP}.items()
        for seed in seeds
    ]
    shifts = [
        shifting.case(_name(name), transport(WARP, 2) | CHANGES[name], *setting, seed, quick=scale.quick)
        for setting in shifting.QUICK_SETTINGS
        for name in SHIFTED
        for seed in seeds
    ]
    labels = dict.fromkeys((*coexistence.CELL, "gap_us", "size_kib", "k", "host_gbps"), 0) | {"joins": "", "scheme": ""}
    return [Case({**labels, **value.labels}, value.experiment, value.seed) for value in (*beside, *rounds, *shifts)]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row with the columns of all scenes; those of the other scenes are null."""
    traffic = set(result.flows["traffic"])
    if "upper" in traffic:
        found = shifting.measure(result).head(1)
    else:
        found = coexistence.measure(result) if "dctcp" in traffic else incast.measure(result)
    columns = ("jain", "ratio", "mean_ms", "p99_ms", "late", "unfinished", "left_ms")
    return found.select(
        (pl.col(column) if column in found.columns else pl.lit(None)).cast(pl.Float64).alias(column)
        for column in columns
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Goodput over a DCTCP flow's in every cell, and mean FCT over DCTCP's in every incast, by change."""
    plot = Plot(figsize=(10, 4.4), layout="constrained")
    left, right = plot.subplots(1, 2, sharey=True)
    for index, name in enumerate(CHANGES):
        beside = coexistence.cells(_compared(rows, name), pl.col("ratio").first())
        bursts = _bursts(rows, name)
        for axes, spreads in ((left, beside.values()), (right, bursts.values())):
            means = [summary.mean for summary in spreads]
            axes.plot(means, [index] * len(means), "o", color="#0072b2", alpha=0.4, markersize=5)
    left.axvspan(*coexistence.NEAR, color="#cccccc", alpha=0.5, linewidth=0)
    right.axvline(incast.MAX_RATIO, color="#888888", linestyle=":", linewidth=1)
    left.set_yticks(range(len(CHANGES)), list(CHANGES))
    left.invert_yaxis()
    left.set_xlabel("goodput over a DCTCP flow's, one dot per cell")
    right.set(xlabel="mean FCT over DCTCP's, one dot per size and k", xscale="log")
    for axes in (left, right):
        axes.grid(visible=True, axis="x", alpha=0.3)
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the measurements, without verdicts."""
    lines = [_line(rows, name) for name in CHANGES]
    heads = coexistence.HEADS + tuple(
        f"{size} KiB, k = {k}, {incast.GAPS_US[gap_us]}: mean FCT over DCTCP's"
        for gap_us, size, k in _bursts(rows, AS_IT_IS)
    )
    heads += tuple(f"the shift, {shifting.words(quick_setting)}" for quick_setting in shifting.QUICK_SETTINGS)
    return [
        Claim(
            "Effect of each part",
            "not judged",
            "; ".join(f"{line[0]}: {line[1]} and {line[2]}" for line in lines),
            None,
            "cells with DCTCP whose index and whose ratio meet the bars of `warp/coexistence`; 4 subflows except "
            "where the change says so, two where a flow shifts; joins at once",
            table=Table(("changed", *heads), tuple(lines)),
        )
    ]


def _name(change: str) -> str:
    """Returns a name for a transport, which has neither blanks nor signs."""
    return change.replace(" = ", "-").replace(" ", "-").replace(".", "-")


def _compared(rows: pl.DataFrame, change: str) -> pl.DataFrame:
    return rows.filter(pl.col("ratio").is_not_null(), scheme=_name(change))


def _bursts(rows: pl.DataFrame, change: str) -> dict[tuple[int, int, int], SeedSummary]:
    """Returns the ratio of the mean FCT to DCTCP's, by gap, size and k."""
    by_gap = {value: rows.filter(pl.col("k") > 0, gap_us=value) for value in incast.GAPS_US}
    ratios = {value: incast.ratio(here, _name(change), AT_ONCE, "mean_ms") for value, here in by_gap.items()}
    return {(gap_us, *cell): ratio for gap_us, found in ratios.items() for cell, ratio in found.items()}


def _line(rows: pl.DataFrame, change: str) -> tuple[str, ...]:
    bursts = _bursts(rows, change).values()
    here = rows.filter(pl.col("host_gbps") > 0, scheme=_name(change))
    shifts = (
        "" if here.is_empty() else str(shifting.took(here, _name(change), quick_setting))
        for quick_setting in shifting.QUICK_SETTINGS
    )
    return (change, *coexistence.line(_compared(rows, change)), *(str(burst) for burst in bursts), *shifts)
