"""Figure 8's incast (section 5.2) on this machine's kernel: k flows of 128 KB at once, 200 Mbit/s instead of 10 Gbps.

Multipath flows open their further subflows at once, as the paper's do, or after 256 KB as weftd does by default
(`join_after`), so that flows of 128 KB stay on one. The packet level runs the same spec, but cannot delay joins.

A round of 40 flows takes 0.2 s without a timeout, and the kernel's minimum RTO is 0.2 s, its initial one 1 s. So rounds
start some 0.3 to 0.6 s apart, and the run goes on long enough for a SYN to be sent twice again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from weft.papers.amp.linux_settings import LEVELS, TRANSPORTS, experiment
from weft.papers.amp.settings import SHOWN
from weft.papers.figure import Claim
from weft.papers.spread import Spread, listed
from weft.sweep import Case

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Plot

    from weft.api import Result
    from weft.papers.figure import Scale
    from weft.spec import Experiment

FLOWS = (5, 10, 20, 30, 40)
"""k, the flows of a round."""
MULTIPATH = ("amp", "xmp", "dcm")
JOINS = {"at once": "0B", "delayed": "256KB"}
"""When further subflows join."""
SIZE = "128KB"
GAP = "50us"
ROUNDS_MS = 1800
"""Within it all rounds start."""
LEAST_MS, MS_A_FLOW = 300, 15
"""Between two rounds: the longer of the first and k times the second, which is three times what their bytes take."""
AFTER_MS = 1300
"""Simulated after it: room for one SYN that was lost and a timeout."""
QUICK = "k = 5 and 40, AMP and DCTCP, one second of rounds, on Linux only"
NO_WORSE = 1.05
"""Mean FCT over DCTCP's, up to which delayed joins cost nothing."""
ALIKE = 1.25
"""Mean FCTs within a quarter of one another count as alike, as for figure 8."""


def cases(scale: Scale) -> list[Case]:
    """Each algorithm and number of flows, with joins at once and delayed where there are joins and they can be."""
    return [
        Case(
            {"level": level, "algorithm": algorithm, "joins": joins, "k": k},
            _incast(level, algorithm, joins, k, 600 if scale.quick else ROUNDS_MS),
            seed,
        )
        for level in (LEVELS[:1] if scale.quick else LEVELS)
        for algorithm in (("amp", "dctcp") if scale.quick else (*MULTIPATH, "dctcp"))
        for joins in (JOINS if level == "linux" and algorithm != "dctcp" else ("at once",))
        for k in ((5, 40) if scale.quick else FLOWS)
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """One row a flow: its round, FCT in ms, subflows' timeouts and suppression episodes.

    A flow that has not ended (`ended` is false) has waited for several timeouts; its FCT is then the time until the
    run's end, which is too little.
    """
    end_s = result.manifest["simulated_s"]
    return result.flows.select(
        "round",
        fct_ms=1e3 * pl.col("fct_s").fill_null(end_s - pl.col("start_s")),
        ended=pl.col("fct_s").is_not_null(),
        timeouts=pl.col("timeouts"),
        suppressions=pl.col("suppressions"),
    )
