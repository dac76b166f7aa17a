"""Figure 3 (section 3.1): the slowest flow of a permutation, and Jain's index of all, in large networks."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure as Plot

from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.mptcp_dc import fig01, large_scale
from weft_papers.mptcp_dc.large_scale import COLOURS, FULL, VLB, part
from weft_papers.seed_summary import SeedSummary, listed, over_seeds

SUBFLOWS = (VLB, 2, 4, 8)
QUICK = fig01.QUICK

measure = large_scale.measure


def cases(scale: Scale) -> list[Case]:
    """Returns runs of every topology with VLB and with 2, 4 and 8 subflows."""
    return large_scale.cases(SUBFLOWS, scale)


def plot(rows: pl.DataFrame) -> Plot:
    """Slowest flow in per cent of what is achievable, and Jain's index, by subflows."""
    plot = Plot(figsize=(7.6, 3.4), layout="constrained")
    left, right = plot.subplots(1, 2)
    for name in FULL:
        for axes, statistic in ((left, _slowest), (right, _jain)):
            means = [statistic(rows, name, n).mean for n in SUBFLOWS]
            axes.plot(SUBFLOWS, means, marker="o", label=name, color=COLOURS[name])
    for axes, label in ((left, "slowest flow (% of achievable)"), (right, "Jain's index")):
        axes.set_xticks(SUBFLOWS, ["VLB", *map(str, SUBFLOWS[1:])])
        axes.set(xlabel="subflows", ylabel=label, ylim=(0, None))
        axes.grid(visible=True, alpha=0.3)
    left.legend(frameon=False)
    plot.suptitle("Figure 3: the slowest flow, and fairness")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claim of section 3.1 about figure 3."""
    jain = {name: [_jain(rows, name, n) for n in SUBFLOWS] for name in FULL}
    slowest = {name: [_slowest(rows, name, n) for n in SUBFLOWS] for name in FULL}
    return [
        Claim(
            "Multipath always improves fairness, even for the VL2 topology",
            "always",
            "; ".join(f"{name} {jain[name][0]} by VLB, {jain[name][-1]} with {SUBFLOWS[-1]}" for name in FULL),
            all(summary.mean > by_subflows[0].mean for by_subflows in jain.values() for summary in by_subflows[1:]),
            "Jain's index; holds when in each topology every number of subflows has a higher one than VLB",
            table=_table(rows),
        ),
        Claim(
            "With Multipath TCP the slowest flow is faster",
            "faster",
            "; ".join(f"{name} {slowest[name][0]} by VLB, {slowest[name][-1]} with {SUBFLOWS[-1]}" for name in FULL),
            all(summary.mean > by_subflows[0].mean for by_subflows in slowest.values() for summary in by_subflows[1:]),
            "of what should be achievable; holds when in each topology every number of subflows has a faster slowest "
            f"flow than VLB; with 2 subflows {listed((name, slowest[name][1]) for name in FULL)}",
        ),
    ]


def _slowest(rows: pl.DataFrame, name: str, subflows: int) -> SeedSummary:
    return over_seeds(rows.filter(topology=name, subflows=subflows), part("slowest").first(), "%")


def _jain(rows: pl.DataFrame, name: str, subflows: int) -> SeedSummary:
    return over_seeds(rows.filter(topology=name, subflows=subflows), pl.col("jain").first())


def _table(rows: pl.DataFrame) -> Table:
    cells = [
        (name, "VLB" if n == VLB else str(n), str(_slowest(rows, name, n)), str(_jain(rows, name, n)))
        for name in FULL
        for n in SUBFLOWS
    ]
    return Table(("", "subflows", "slowest flow", "Jain's index"), tuple(cells))
