"""Warp's incasts over a grid of rates, buffers, sizes and numbers of flows, compared with DCTCP's.

Grid and criterion were fixed before the first run. Flows of a round open 20 us apart; subflows join at once, the
default of the simulator, or after 256 KB, the default of `weftd`.
"""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure as Plot

from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.amp.incast import INTERVAL_S
from weft_papers.figure import Claim, Scale, Table
from weft_papers.seed_summary import SeedSummary, over_seeds
from weft_papers.warp.incast import AT_ONCE, SINGLE, measure, rounds_of
from weft_papers.warp.settings import DCTCP, WARP, bottleneck, transport

__all__ = ["QUICK", "cases", "claims", "measure", "plot"]

MARKS = {10: 10, 25: 15, 100: 40}
"""K in packets, by the rate of the links in Gbps."""
LIMITS, QUICK_LIMITS = (60, 100, 140, 200), (60, 200)
"""Packets that a port holds."""
SIZES_KIB, QUICK_SIZES_KIB = (32, 128, 256, 1024), (128,)
FLOWS, QUICK_FLOWS = (5, 10, 20, 40, 70, 100), (5, 20, 70)
SUBFLOWS, DELAY_US, GAP_US = 4, 2, 20
ROUNDS, SILENCE_S = 3, 8
AFTER = "after 256 KB"
JOINS = {AT_ONCE: "0B", AFTER: "256KB"}
MAX_RATIO = 1.1
"""Maximum ratio of the mean FCT to DCTCP's."""
MIN_PART = 0.95
"""Minimum part of the cells with at most this ratio."""
QUICK = (
    f"limits of {' and '.join(map(str, QUICK_LIMITS))} packets, {QUICK_SIZES_KIB[0]} KiB and "
    f"k = {', '.join(map(str, QUICK_FLOWS))} only"
)

Cell = tuple[int, int, int, int]
"""Gbps, limit, KiB, flows."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of DCTCP and of Warp with either time of joining, for each cell."""
    limits, sizes, flows = (QUICK_LIMITS, QUICK_SIZES_KIB, QUICK_FLOWS) if scale.quick else (LIMITS, SIZES_KIB, FLOWS)
    schemes = [(SINGLE, AT_ONCE, DCTCP)]
    schemes += [(WARP, joins, transport(WARP, SUBFLOWS, join_after=size)) for joins, size in JOINS.items()]
    return [
        _case(name, joins, fields, (gbps, limit, size_kib, k), seed)
        for gbps in MARKS
        for limit in limits
        for size_kib in sizes
        for k in flows
        for name, joins, fields in schemes
        for seed in range(1, scale.seeds + 1)
    ]


def plot(rows: pl.DataFrame) -> Plot:
    """Mean FCT over DCTCP's, by the first windows of all flows (10 packets each) over the limit; a dot is a cell."""
    plot = Plot(figsize=(9, 6), layout="constrained")
    for joins, panels in zip(JOINS, plot.subplots(len(JOINS), len(MARKS), sharex=True, sharey=True), strict=True):
        ratios = ratio(rows, joins)
        for axes, gbps in zip(panels, MARKS, strict=True):
            for size_kib in rows["size_kib"].unique().sort():
                here = {cell: value.mean for cell, value in ratios.items() if cell[0] == gbps and cell[2] == size_kib}
                load = [10 * cell[3] / cell[1] for cell in here]
                axes.plot(load, list(here.values()), "o", label=f"{size_kib} KiB", markersize=3, alpha=0.7)
            axes.axhline(MAX_RATIO, color="#888888", linestyle=":", linewidth=1)
            axes.set(xscale="log", yscale="log")
            axes.set_title(f"{gbps} Gbps, joins {joins}", fontsize="medium")
            axes.grid(visible=True, alpha=0.3)
        panels[0].set_ylabel("mean FCT over DCTCP's")
    for axes in plot.axes[-len(MARKS) :]:
        axes.set_xlabel("first windows over the limit")
    plot.axes[0].legend(frameon=False, fontsize="x-small")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claim of the criterion, for either time of joining."""
    return [_claim(rows, joins) for joins in JOINS]


def _case(name: str, joins: str, transport: dict[str, object], cell: Cell, seed: int) -> Case:
    gbps, limit, size_kib, k = cell
    experiment = bottleneck(
        f"incast-{name}-{k}x{size_kib}KiB-{gbps}Gbps-{limit}",
        senders=k,
        delay_us=DELAY_US,
        mark=MARKS[gbps],
        duration=f"{(ROUNDS - 1) * INTERVAL_S + SILENCE_S}s",
        transports={name: transport},
        traffic=[rounds_of(name, k, size_kib, gap_us=GAP_US, rounds=ROUNDS)],
        gbps=gbps,
        limit=limit,
    )
    labels: dict[str, str | int | float] = {"gbps": gbps, "limit": limit, "size_kib": size_kib, "k": k}
    return Case({**labels, "scheme": name, "joins": joins}, experiment, seed)


def ratio(rows: pl.DataFrame, joins: str) -> dict[Cell, SeedSummary]:
    """Returns the ratio of Warp's mean FCT to DCTCP's, seed by seed, by cell."""
    found, base = _cells(rows.filter(scheme=WARP, joins=joins)), _cells(rows.filter(scheme=SINGLE))
    return {cell: found[cell] / base[cell] for cell in found}


def _cells(rows: pl.DataFrame) -> dict[Cell, SeedSummary]:
    groups = rows.group_by("gbps", "limit", "size_kib", "k", maintain_order=True)
    return {(cell[0], cell[1], cell[2], cell[3]): over_seeds(some, pl.col("mean_ms").first()) for cell, some in groups}


def _claim(rows: pl.DataFrame, joins: str) -> Claim:
    ratios = ratio(rows, joins)
    late = {
        name: rows.filter(scheme=name, joins=of).group_by("gbps", "limit", "size_kib", "k").agg(pl.col("late").mean())
        for name, of in ((WARP, joins), (SINGLE, AT_ONCE))
    }
    above = {cell: value for cell, value in ratios.items() if value.mean > MAX_RATIO}
    part = 1 - len(above) / len(ratios)
    worst = max(ratios, key=lambda cell: ratios[cell].mean)

    def timeouts(name: str, cell: Cell) -> str:
        gbps, limit, size_kib, k = cell
        return digits(late[name].filter(gbps=gbps, limit=limit, size_kib=size_kib, k=k)["late"].item())

    return Claim(
        f"joins {joins}: at most {MAX_RATIO} times DCTCP's mean FCT in {MIN_PART:.0%} of the cells",
        f"at least {MIN_PART:.0%}",
        f"{len(ratios) - len(above)} of {len(ratios)} cells ({part:.1%}); highest {digits(ratios[worst].mean)} with "
        f"{_words(worst)}",
        part >= MIN_PART,
        "mean over the seeds of each seed's ratio; the table has the cells above it, with the per cent of flows with a "
        "timeout, those of SYNs included",
        table=Table(
            ("cell", "mean FCT over DCTCP's", "Warp's flows with a timeout (%)", "DCTCP's"),
            tuple((_words(cell), str(above[cell]), timeouts(WARP, cell), timeouts(SINGLE, cell)) for cell in above),
        ),
    )


def _words(cell: Cell) -> str:
    gbps, limit, size_kib, k = cell
    return f"{gbps} Gbps, {limit} packets, {size_kib} KiB, k = {k}"
