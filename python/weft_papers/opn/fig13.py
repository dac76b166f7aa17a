"""Figure 13 (section "Performance under realistic workload"): four workloads on the leaf-spine.

`weft_papers.opn.workloads` describes the choices that the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl
from matplotlib.figure import Figure as Plot

from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale
from weft_papers.opn import workloads
from weft_papers.opn.settings import LABELS, OPNS, OTHERS, SCHEMES, WITH
from weft_papers.opn.workloads import (
    LEAST,
    NAMES,
    QUICK_NAMES,
    SHARES,
    WORDS,
    cause,
    measure,
    panels,
    table,
    value_of,
    with_best_other,
)

QUICK = workloads.QUICK
LIKE = 0.1
"""Relative distance up to which throughputs are similar."""

__all__ = ["QUICK", "cases", "claims", "measure", "plot"]


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each scheme under each workload."""
    return [
        workloads.case({}, workload, name, seed, quick=scale.quick)
        for workload in SHARES
        for name in (QUICK_NAMES if scale.quick else NAMES)
        for seed in range(1, scale.seeds + 1)
    ]


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the section's claims about (a) to (d)."""
    worst = {name: max((value_of(rows, share, name, "short").mean, share) for share in SHARES)[1] for name in SCHEMES}
    return [
        *lead(rows, "short", "OPN has the least mean FCT of short flows", "least", with_table=True),
        *lead(rows, "tail", "OPN has the least 99th percentile of short flows' FCT", "least"),
        Claim(
            "Short flows' mean FCT is longest under Data Mining, with all schemes",
            "all five",
            ", ".join(f"{LABELS[name]} {WORDS[value]}" for name, value in worst.items()),
            set(worst.values()) == {"data-mining"},
            "the workload with the longest, of each scheme",
        ),
        *(_similar(rows, name) for name in OPNS),
        *lead(rows, "all", "OPN has the highest overall throughput", "highest"),
        *marked(rows, "short", "OPN has the least mean FCT of short flows", "least"),
        *marked(rows, "tail", "OPN has the least 99th percentile of short flows' FCT", "least"),
    ]


def lead(rows: pl.DataFrame, panel: str, words: str, number: str, *, with_table: bool = False) -> list[Claim]:
    """Returns the claims that OPN is better than the others under all workloads, one per timer."""
    more = f". {cause(rows, panel)}"
    return [
        Claim(
            f"{words}, {WITH[name]}",
            number,
            *against(rows, panel, name, OTHERS, more),
            table=table(rows) if with_table and name == OPNS[0] else None,
        )
        for name in OPNS
    ]


def marked(rows: pl.DataFrame, panel: str, words: str, number: str) -> list[Claim]:
    """Returns the claims that OPN is better than the others if all multipath schemes have DCTCP's cuts."""
    return [
        Claim(
            f"{words}, {WITH[timer]}, and DCTCP's cuts for all multipath schemes",
            number,
            *against(rows, panel, name, workloads.MARKED_OTHERS),
        )
        for name, timer in workloads.MARKED_OPNS.items()
        if name in workloads.names(rows)
    ]


def against(rows: pl.DataFrame, panel: str, opn: str, others: Iterable[str], more: str = "") -> tuple[str, bool, str]:
    """Returns OPN's values and the best other scheme's, whether all of OPN's are better, and the note."""
    values = with_best_other(rows, panel, opn, others)
    sign = 1 if panel in LEAST else -1
    return (
        "; ".join(
            f"{WORDS[share]} OPN {ours}, {LABELS[first]} {best}" for share, (ours, first, best) in values.items()
        ),
        all(sign * (ours.mean - best.mean) < 0 for ours, _, best in values.values()),
        f"OPN and the best other scheme; holds when OPN is better under all four workloads{more}",
    )


def _similar(rows: pl.DataFrame, name: str) -> Claim:
    long = {
        (share, to): value_of(rows, share, name, "long") / value_of(rows, share, to, "long")
        for share in SHARES
        for to in MULTIPATH
    }
    return Claim(
        f"OPN's throughput of long flows is similar to that of MPTCP and MMPTCP, {WITH[name]}",
        "similar",
        ", ".join(f"{WORDS[value]} {ratio} of {LABELS[to]}'s" for (value, to), ratio in long.items()),
        all(ratio.near(1, LIKE) for ratio in long.values()),
        f"mean goodput of a flow; holds within {LIKE:.0%}",
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Short flows' FCT and throughput by workload: means and the range of the seeds."""
    return panels(rows, "Figure 13: four workloads")


MULTIPATH = ("mptcp", "mmptcp")
