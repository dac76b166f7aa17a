"""Figure 12 (section "Fairness performance"): Jain's index of OPN flows, with LIA or OLIA, and 100 TCP flows.

"The MPTCP_OPN flows and 100 background traditional TCP flows are transmitted on each path", and measured is "on the
last hop to the receiver". In one reading all flows go to one receiver and share its link, the last hop. In the other
each of the 20 paths carries 100 TCP flows of its own, 2,000 in all, from the hosts of one rack to those of another.
Both are run, with 1 to 16 OPN flows. The index is that of two numbers: the mean goodput of an OPN flow and that of a
TCP flow. TCP is Reno without ECN; goodput is measured after slow start.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result, stats
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.opn.settings import HOSTS_PER_LEAF, RENO, SPINES, experiment, transport
from weft_papers.seed_summary import SeedSummary, over_seeds

LAST_HOP, EACH_PATH = "last hop", "each path"
TCP_FLOWS = 100
CCS = ("lia", "olia")
OPN_FLOWS = (1, 2, 4, 8, 16)
QUICK_OPN_FLOWS = (1, 4)
SECONDS, QUICK_SECONDS, WARM_UP_S = 5.0, 2.0, 1.0
QUICK = (
    f"{QUICK_SECONDS:.0f} s instead of {SECONDS:.0f} s, {', '.join(str(n) for n in QUICK_OPN_FLOWS)} OPN flows, and "
    "the reading with one receiver"
)
FAIR = 0.9
PLAIN = "mptcp"
"""MPTCP over the same subflows as OPN, which shows the effect of OPN's own parts."""
COLOURS = {"lia": "#0072b2", "olia": "#d55e00"}


def cases(scale: Scale) -> list[Case]:
    """Returns runs of OPN and MPTCP with either congestion control, by the number of their flows, for both readings."""
    readings = (LAST_HOP,) if scale.quick else (LAST_HOP, EACH_PATH)
    return [
        _case(reading, scheme, cc, n, seed, quick=scale.quick)
        for reading in readings
        for scheme in ("opn", PLAIN)
        for cc in CCS
        for n in (QUICK_OPN_FLOWS if scale.quick else OPN_FLOWS)
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per kind of flow: their number, a flow's mean goodput in Mbps, and the retransmitted share.

    Goodput is measured after slow start.
    """
    measured_s = result.manifest["end_s"] - WARM_UP_S
    return result.flows.group_by("transport", maintain_order=True).agg(
        flows=pl.len(),
        mbps=(pl.col("measured_bytes") * 8e-6 / measured_s).mean(),
        again=pl.col("retransmitted").sum() / pl.col("packets_sent").sum(),
        moved=pl.col("reinjected").sum(),
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Jain's index of the mean OPN flow and the mean TCP flow, by the number of OPN flows and congestion control."""
    readings = rows["reading"].unique(maintain_order=True).to_list()
    plot = Plot(figsize=(4.6 * len(readings), 3.8), layout="constrained")
    for axes, reading in zip(plot.subplots(1, len(readings), squeeze=False)[0], readings, strict=True):
        here = rows.filter(reading=reading)
        at = _numbers(here)
        for cc in CCS:
            for scheme, style in (("opn", "-"), (PLAIN, ":")):
                found = [_jain(here, scheme, cc, n) for n in at]
                label = f"{scheme.upper()}, {cc.upper()}"
                axes.plot(
                    at, [summary.mean for summary in found], style, label=label, color=COLOURS[cc], marker="o", ms=3
                )
        axes.axhline(FAIR, color="#999999", linestyle="--", linewidth=1)
        axes.set(ylim=(0.4, 1.02), xlabel="multipath flows", ylabel="Jain's index")
        axes.set_title(reading, fontsize="medium")
        axes.grid(visible=True, alpha=0.3)
        axes.legend(frameon=False, fontsize="small")
    plot.suptitle(f"Figure 12: competing with {TCP_FLOWS} TCP flows")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of the section's last paragraph, for each reading."""
    return [
        _of_reading(rows.filter(reading=value), value)
        for value in (LAST_HOP, EACH_PATH)
        if value in set(rows["reading"])
    ]


def _case(reading: str, scheme: str, cc: str, n: int, seed: int, *, quick: bool) -> Case:
    hosts = HOSTS_PER_LEAF
    if reading == LAST_HOP:
        receiver = hosts
        ours = [[f"h{flow % hosts}", f"h{receiver}"] for flow in range(n)]
        theirs = [("tcp", [[f"h{flow % hosts}", f"h{receiver}"] for flow in range(TCP_FLOWS)])]
    else:
        ours = [[f"h{flow % hosts}", f"h{hosts + flow % hosts}"] for flow in range(n)]
        # Every host sends the same number of flows, and the flows of a path leave from all hosts.
        pairs = [[f"h{flow % hosts}", f"h{hosts + flow % hosts}"] for flow in range(TCP_FLOWS)]
        theirs = [(f"tcp{path}", pairs) for path in range(SPINES)]
    seconds = QUICK_SECONDS if quick else SECONDS
    bulk: dict[str, Any] = {"kind": "bulk", "jitter": "100ms"}
    spec = experiment(
        f"{scheme}-{cc}-{n}",
        seconds=seconds,
        transports=[scheme],
        traffic=[
            bulk | {"name": "ours", "transport": scheme, "pairs": ours},
            *(bulk | {"name": name, "transport": name, "pairs": pairs} for name, pairs in theirs),
        ],
        measure={"start": f"{WARM_UP_S:g}s"},
        others={
            scheme: transport(scheme) | {"cc": cc},
            **{name: _tcp(None if name == "tcp" else int(name[3:])) for name, _ in theirs},
        },
    )
    return Case({"reading": reading, "scheme": scheme, "cc": cc, "multipath": n}, spec, seed)


def _tcp(path: int | None) -> dict[str, Any]:
    """Returns Reno over the path of that number, or over a path drawn for each flow."""
    paths = "ecmp" if path is None else {"name": "pinned", "path": path}
    return transport("ecmp") | {"cc": RENO, "paths": paths}


def _numbers(rows: pl.DataFrame) -> list[int]:
    return rows["multipath"].unique().sort().to_list()


def _of(rows: pl.DataFrame, scheme: str, cc: str, n: int) -> pl.DataFrame:
    return rows.filter(scheme=scheme, cc=cc, multipath=n)


def _means(rows: pl.DataFrame, scheme: str) -> pl.DataFrame:
    """Returns a run's mean goodput of a multipath flow and of a TCP flow, in two rows."""
    ours = pl.col("transport") == scheme
    weighted = (pl.col("mbps") * pl.col("flows")).sum() / pl.col("flows").sum()
    return rows.group_by("seed", ours.alias("ours")).agg(mbps=weighted)


def _jain(rows: pl.DataFrame, scheme: str, cc: str, n: int) -> SeedSummary:
    return over_seeds(_means(_of(rows, scheme, cc, n), scheme), stats.jain("mbps"))


def _mean(rows: pl.DataFrame, scheme: str, cc: str, n: int, *, ours: bool) -> SeedSummary:
    return over_seeds(_means(_of(rows, scheme, cc, n), scheme).filter(ours=ours), pl.col("mbps").mean(), "Mbps")


def _of_reading(rows: pl.DataFrame, reading: str) -> Claim:
    found = {(cc, n): _jain(rows, "opn", cc, n) for cc in CCS for n in _numbers(rows)}
    plain = [_jain(rows, PLAIN, cc, n).mean for cc, n in found]
    least = min(summary.mean for summary in found.values())
    return Claim(
        f"Jain's index of OPN and TCP is above {FAIR}, {reading}",
        f"above {FAIR}",
        f"{digits(least)} to {digits(max(summary.mean for summary in found.values()))}",
        least > FAIR,
        f"of the mean goodput of an OPN flow and that of a TCP flow; holds when it is with LIA and OLIA and every "
        f"number of flows. MPTCP over the same subflows: {digits(min(plain))} to {digits(max(plain))}",
        table=_table(rows),
    )


def _table(rows: pl.DataFrame) -> Table:
    cells = []
    for scheme in ("opn", PLAIN):
        for cc in CCS:
            for n in _numbers(rows):
                goodput = (str(_mean(rows, scheme, cc, n, ours=ours)) for ours in (True, False))
                ours = _of(rows, scheme, cc, n).filter(transport=scheme)
                again = over_seeds(ours, 100 * pl.col("again").mean(), "%")
                index = str(_jain(rows, scheme, cc, n))
                cells.append((scheme.upper(), cc.upper(), str(n), index, *goodput, str(again)))
    heads = ("flows", "Jain's index", "goodput of one", "of a TCP flow", "its packets sent again")
    return Table(("scheme", "congestion control", *heads), tuple(cells))
