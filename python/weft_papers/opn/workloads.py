"""The common setting of figures 13, 15 and 16: Table 2's workloads on the leaf-spine.

Flows open as Poisson processes. Table 2 gives the shares of flows of up to 10 KB, 100 KB, 1 MB and above. Within a
class sizes are uniform here, and the largest are 10 MB. The shares of Web Search add up to 90 %; they are taken in
proportion. The paper does not give the load. Here it is half of the capacity of a rack's links to the spines while
all of them work, and receivers are drawn among all hosts. Short flows are those of up to 100 KB. Flows open for some
milliseconds, and the run lasts until all have ended. "Overall throughput" is here all flows' bytes over the sum of
their FCTs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result
from weft.sweeps.cases import Case
from weft_papers.figure import Table
from weft_papers.opn.settings import (
    COLOURS,
    GBPS,
    HOSTS_PER_LEAF,
    LABELS,
    LEAVES,
    MARKED,
    SCHEMES,
    SPINES,
    experiment,
)
from weft_papers.seed_summary import SeedSummary, listed, means_and_ranges, over_seeds, percentile

EDGES = (1, 10_000, 100_000, 1_000_000, 10_000_000)
"""Limits of the classes of Table 2, in bytes."""
SHARES = {
    "data-mining": (78, 5, 8, 9),
    "web-search": (49, 3, 18, 20),
    "cache-follower": (50, 3, 18, 29),
    "web-server": (63, 18, 19, 0),
}
"""Percentage of the flows in each class."""
WORDS = {
    "data-mining": "Data Mining",
    "web-search": "Web Search",
    "cache-follower": "Cache Follower",
    "web-server": "Web Server",
}
SHORT_BYTES = EDGES[2]
LOAD = 0.5
OPENS_MS, QUICK_OPENS_MS = 50, 20
QUICK_LEAVES = 2
AT_MOST_S = 60.0
"""Limit of simulated time; the last flow ends before it."""
QUICK = f"{QUICK_LEAVES} racks instead of {LEAVES}, flows open for {QUICK_OPENS_MS} ms instead of {OPENS_MS} ms"
QUICK_NAMES = (*SCHEMES, *MARKED)
NAMES = (*QUICK_NAMES, "opn-own")
MARKED_OPNS = {"opn-dcm": "opn", "opn-rtts-dcm": "opn-rtts"}
"""OPN with DCTCP's cuts, and the name with the same timer."""
MARKED_OTHERS = ("ecmp", "rps", "mptcp-dcm", "mmptcp-dcm")
PANELS = ("short", "tail", "long", "all")
LEAST = ("short", "tail")
"""The panels in which the least value is the best."""


def points(workload: str) -> list[tuple[float, float]]:
    """Returns sizes in bytes and their cumulative probabilities."""
    total = sum(SHARES[workload])
    found = [(float(EDGES[0]), 0.0)]
    for edge, share in zip(EDGES[1:], SHARES[workload], strict=True):
        if share > 0:
            found.append((float(edge), found[-1][1] + share / total))
    return [*found[:-1], (found[-1][0], 1.0)]


def mean_bytes(workload: str) -> float:
    """Returns the mean size of a flow."""
    at = points(workload)
    return sum((low + high) / 2 * (to - since) for (low, since), (high, to) in pairwise(at))


def failed(number: int, mbps: float) -> dict[str, Any]:
    """Returns fields of a spec that give `number` spines another rate; routing does not learn of it."""
    nodes = [f"spine{n}" for n in range(number)]
    return {"events": [{"at": "0s", "rate": f"{mbps:g}Mbps", "nodes": nodes}]}


def case(
    labels: dict[str, str | int | float],
    workload: str,
    name: str,
    seed: int,
    *,
    quick: bool,
    more: dict[str, Any] | None = None,
    opens_ms: float | None = None,
    leaves: int | None = None,
) -> Case:
    """Returns a scheme under a workload."""
    flows_per_s = LOAD * SPINES * GBPS * 1e9 / HOSTS_PER_LEAF / (8 * mean_bytes(workload))
    spec = experiment(
        f"{name}-{workload}",
        seconds=AT_MOST_S,
        leaves=leaves or (QUICK_LEAVES if quick else LEAVES),
        transports=[name],
        traffic=[
            {
                "kind": "poisson",
                "transport": name,
                "pairs": "random",
                "rate": flows_per_s,
                "stop": f"{opens_ms or (QUICK_OPENS_MS if quick else OPENS_MS):g}ms",
                "size": {"kind": "empirical", "points": points(workload)},
            }
        ],
        **(more or {}),
    )
    return Case({**labels, "workload": workload, "scheme": name}, spec, seed)


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per flow: its bytes, FCT in ms, goodput in Mbps, packets sent and retransmitted, and timeouts."""
    return result.flows.select(
        bytes="size_bytes",
        fct_ms=pl.col("fct_s") * 1e3,
        mbps=pl.col("goodput_bps") * 1e-6,
        sent="packets_sent",
        again="retransmitted",
        timeouts=pl.col("timeouts") + pl.col("syn_timeouts"),
    )


def names(rows: pl.DataFrame) -> list[str]:
    """Returns the schemes that have rows."""
    found = set(rows["scheme"].unique())
    return [name for name in NAMES if name in found]


def value_of(rows: pl.DataFrame, workload: str, name: str, panel: str) -> SeedSummary:
    """Returns the value in a panel of figure 13 or 15: `short`, `tail`, `long` or `all`."""
    here = rows.filter(workload=workload, scheme=name)
    short, long = (here.filter((pl.col("bytes") <= SHORT_BYTES) == want) for want in (True, False))
    match panel:
        case "short":
            return over_seeds(short, pl.col("fct_ms").mean(), "ms")
        case "tail":
            return percentile(short, "fct_ms", 99, "ms")
        case "long":
            return over_seeds(long, pl.col("mbps").mean(), "Mbps")
        case _:
            return over_seeds(here, pl.col("bytes").sum() * 8e-3 / pl.col("fct_ms").sum(), "Mbps")


def with_best_other(
    rows: pl.DataFrame, panel: str, opn: str, others: Iterable[str]
) -> dict[str, tuple[SeedSummary, str, SeedSummary]]:
    """Returns OPN's value and the best other scheme's name and value, by workload."""
    first_of: Callable[..., str] = min if panel in LEAST else max
    found = {}
    for workload in SHARES:
        values = {name: value_of(rows, workload, name, panel) for name in others if name in names(rows)}
        first = first_of(values, key=lambda name: values[name].mean)
        found[workload] = (value_of(rows, workload, opn, panel), first, values[first])
    return found


def cause(rows: pl.DataFrame, panel: str) -> str:
    """Formats the share of timeouts, and OPN and MPTCP with DCTCP's cuts, if that was run."""
    late = listed((LABELS[name], _late(rows.filter(scheme=name))) for name in SCHEMES)
    marked = [name for name in MARKED if name in names(rows)]
    means = "; ".join(
        f"{WORDS[share]}: " + listed((LABELS[name], value_of(rows, share, name, panel)) for name in marked)
        for share in SHARES
    )
    said = f"MPTCP, MMPTCP and OPN grow by LIA until queues overflow, ECMP and RPS are DCTCP. With a timeout: {late}"
    return said + (f". With DCTCP's cuts {means}" if marked else "")


def table(rows: pl.DataFrame) -> Table:
    """Returns a table of all panels, with OPN's other readings and timeouts."""
    cells = []
    for workload in SHARES:
        for name in names(rows):
            here = rows.filter(workload=workload, scheme=name)
            late = _late(here)
            again = over_seeds(here, 100 * pl.col("again").sum() / pl.col("sent").sum(), "%")
            values = (str(value_of(rows, workload, name, panel)) for panel in PANELS)
            cells.append((WORDS[workload], LABELS[name], *values, str(late), str(again)))
    heads = ("mean FCT of short flows", "p99", "long flows", "all flows", "flows with a timeout", "packets sent again")
    return Table(("workload", "scheme", *heads), tuple(cells))


def _late(rows: pl.DataFrame) -> SeedSummary:
    return over_seeds(rows, 100 * (pl.col("timeouts") > 0).mean(), "%")


def panels(rows: pl.DataFrame, title: str) -> Plot:
    """Draws the four panels: bars of the means, and the range of the seeds."""
    heads = {
        "short": "(a) mean FCT of short flows (ms)",
        "tail": "(b) 99th percentile of short flows' FCT (ms)",
        "long": "(c) throughput of long flows (Mbps)",
        "all": "(d) overall throughput (Mbps)",
    }
    plot = Plot(figsize=(11, 6.4), layout="constrained")
    width = 0.8 / len(SCHEMES)
    for axes, panel in zip(plot.subplots(2, 2).flat, PANELS, strict=True):
        for step, name in enumerate(SCHEMES):
            means, reach = means_and_ranges(value_of(rows, workload, name, panel) for workload in SHARES)
            centres = [n + (step - (len(SCHEMES) - 1) / 2) * width for n in range(len(SHARES))]
            axes.bar(centres, means, width, yerr=reach, color=COLOURS[name], label=LABELS[name])
        axes.set_xticks(range(len(SHARES)), list(WORDS.values()), fontsize="small")
        axes.set_title(heads[panel], fontsize="medium")
        axes.grid(visible=True, axis="y", alpha=0.3)
    shown = plot.axes[0].get_legend_handles_labels()
    plot.legend(*shown, loc="outside lower center", ncols=len(SCHEMES), frameon=False, fontsize="small")
    plot.suptitle(title)
    return plot
