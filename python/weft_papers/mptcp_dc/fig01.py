"""Figure 1 (section 3.1): total throughput of a permutation in large networks, VLB and 2 to 8 subflows."""

from __future__ import annotations

from itertools import pairwise

import polars as pl
from matplotlib.figure import Figure as Plot

from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.mptcp_dc import large_scale
from weft_papers.mptcp_dc.large_scale import COLOURS, FULL, SMALL, VLB, part
from weft_papers.seed_summary import SeedSummary, listed, over_seeds, plot_with_band

SUBFLOWS = (VLB, 2, 3, 4, 5, 6, 7, 8)
MAX_SUBFLOWS = SUBFLOWS[-1]
VL2_BY_VLB = 77.0
"""The paper's throughput of VLB in VL2, in per cent."""
NEAR = 0.05
"""Relative tolerance for that number."""
WORSE = 10.0
"""Percentage points below VL2 from which a topology does "much worse"."""
FILLED = 90.0
"""Throughput in per cent from which it counts as approaching what is achievable."""
QUICK = "networks of " + ", ".join(f"{value.hosts} ({name})" for name, value in SMALL.items()) + " hosts"

measure = large_scale.measure


def cases(scale: Scale) -> list[Case]:
    """Returns runs of every topology and number of subflows."""
    return large_scale.cases(SUBFLOWS, scale)


def plot(rows: pl.DataFrame) -> Plot:
    """Throughput of a permutation by subflows, in per cent of what is achievable."""
    plot = Plot(figsize=(5.4, 3.6), layout="constrained")
    axes = plot.subplots()
    for name in FULL:
        spreads = [_throughput(rows, name, subflows) for subflows in SUBFLOWS]
        plot_with_band(axes, SUBFLOWS, spreads, COLOURS[name], alpha=0.2, marker="o", label=name)
    axes.set_xticks(SUBFLOWS, ["VLB", *map(str, SUBFLOWS[1:])])
    axes.set(ylim=(0, 103), xlabel="subflows", ylabel="throughput (% of achievable)")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False, loc="lower right")
    axes.set_title("Figure 1: throughput of a permutation")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 3.1 about figure 1."""
    by_vlb = {name: _throughput(rows, name, VLB) for name in FULL}
    many = {name: _throughput(rows, name, MAX_SUBFLOWS) for name in FULL}
    sizes = dict(rows.select("topology", "hosts").unique().iter_rows())
    others = [name for name in FULL if name != "VL2"]
    return [
        Claim(
            "VLB achieves 77 % of the throughput in VL2",
            f"{VL2_BY_VLB:g} %",
            str(by_vlb["VL2"]),
            by_vlb["VL2"].near(VL2_BY_VLB, NEAR),
            f"holds within {NEAR:.0%} of the paper's number; {sizes['VL2']} hosts",
        ),
        Claim(
            "VLB performs much worse in FatTree and BCube",
            "much worse",
            listed((name, by_vlb[name]) for name in others),
            all(by_vlb[name].mean <= by_vlb["VL2"].mean - WORSE for name in others),
            f"holds when both are at least {WORSE:g} points below VL2's {by_vlb['VL2']}; "
            + ", ".join(f"{name} of {sizes[name]} hosts" for name in others),
        ),
        Claim(
            "As additional subflows are added, the overall throughput increases",
            "increases",
            listed((f"{name} with {MAX_SUBFLOWS}", many[name]) for name in FULL),
            all(_increases(rows, name) for name in FULL),
            "holds when in each topology every number of subflows has at least the throughput of the one before, "
            f"less half a point, and {MAX_SUBFLOWS} more than VLB",
            table=_table(rows),
        ),
        Claim(
            "With enough subflows Multipath TCP loads all three networks nearly to full capacity",
            "about 100 %",
            listed(many.items()),
            all(summary.mean >= FILLED for summary in many.values()),
            f"holds from {FILLED:g} % on with {MAX_SUBFLOWS} subflows",
        ),
        Claim(
            "BCube, which one path cannot fill, gives full bandwidth to Multipath TCP",
            "full bandwidth",
            f"{by_vlb['BCube']} by VLB, {many['BCube']} with {MAX_SUBFLOWS} subflows",
            by_vlb["BCube"].mean < FILLED <= many["BCube"].mean,
            f"the abstract; holds when Multipath TCP has {FILLED:g} % or more, and VLB has not",
        ),
    ]


def _throughput(rows: pl.DataFrame, name: str, subflows: int) -> SeedSummary:
    return over_seeds(rows.filter(topology=name, subflows=subflows), part("mean").first(), "%")


def _increases(rows: pl.DataFrame, name: str) -> bool:
    means = [_throughput(rows, name, subflows).mean for subflows in SUBFLOWS]
    return means[-1] > means[0] and all(b >= a - 0.5 for a, b in pairwise(means))


def _table(rows: pl.DataFrame) -> Table:
    cells = [(name, *(str(_throughput(rows, name, subflows)) for subflows in SUBFLOWS)) for name in FULL]
    return Table(("", "VLB", *(f"{n} subflows" for n in SUBFLOWS[1:])), tuple(cells))
