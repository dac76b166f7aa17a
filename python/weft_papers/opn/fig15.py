"""Figure 15 (section "Performance in asymmetric scenario"): figure 13's workloads, 8 of 20 paths at 100 Mbps.

All links of 8 spines have that rate from the beginning, and routing does not know it. "The ToR switch connected to
the sending hosts is overloaded" does not define the load better than figure 13 does. The load in bits per second is
that of figure 13.
"""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure as Plot

from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale
from weft_papers.opn import workloads
from weft_papers.opn.fig13 import lead, marked
from weft_papers.opn.workloads import NAMES, QUICK_NAMES, SHARES, failed, measure, panels

QUICK = workloads.QUICK
FAILED, MBPS = 8, 100.0

__all__ = ["QUICK", "cases", "claims", "measure", "plot"]


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each scheme under each workload."""
    return [
        workloads.case({}, workload, name, seed, quick=scale.quick, more=failed(FAILED, MBPS))
        for workload in SHARES
        for name in (QUICK_NAMES if scale.quick else NAMES)
        for seed in range(1, scale.seeds + 1)
    ]


def plot(rows: pl.DataFrame) -> Plot:
    """Short flows' FCT and throughput by workload, 8 of 20 paths at 100 Mbps: means and the range of the seeds."""
    return panels(rows, f"Figure 15: {FAILED} of 20 paths at {MBPS:g} Mbps")


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the section's claims about (a) to (d)."""
    return [
        *lead(rows, "short", "OPN has the least mean FCT of short flows", "least", with_table=True),
        *lead(rows, "tail", "OPN has the least 99th percentile of short flows' FCT", "least"),
        *lead(rows, "long", "OPN has the highest throughput of long flows", "highest"),
        *lead(rows, "all", "OPN has the highest overall throughput", "highest"),
        *marked(rows, "short", "OPN has the least mean FCT of short flows", "least"),
        *marked(rows, "tail", "OPN has the least 99th percentile of short flows' FCT", "least"),
        *marked(rows, "long", "OPN has the highest throughput of long flows", "highest"),
    ]
