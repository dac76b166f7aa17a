"""Figures 2 to 4 (section "Design motivation"): windows, timeouts and FCT of MPTCP by its number of subflows.

50 hosts of a rack send one MPTCP flow each of 400 to 800 packets with 1 to 20 subflows, "to one receiver under the
other ToRs". In one reading each flow has a receiver of its own, which is judged; in the other there is one receiver
for all. Both are run. Figures 3 and 4 have 800 packets. A flow's subflows take paths by hash, as with ECMP. The
average window is that over all subflows and milliseconds in which their flow lasts.
"""

from __future__ import annotations

from itertools import pairwise

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.opn.settings import HOSTS_PER_LEAF, MSS, SPINES, experiment, transport
from weft_papers.seed_summary import SeedSummary, over_seeds

OWN, ONE = "a receiver each", "one receiver"
READINGS = (OWN, ONE)
UNBOUND = f"{OWN}, windows without a bound"
"""A variant that is not a reading; it shows the effect of ns-2's `window_`."""
PACKETS = (400, 600, 800)
MAX_PACKETS = PACKETS[-1]
SUBFLOWS = tuple(range(1, SPINES + 1))
QUICK_SUBFLOWS = (1, 2, 4, 8, 12, 16, 20)
QUICK_PACKETS = (400, 800)
QUICK = (
    f"{', '.join(str(n) for n in QUICK_SUBFLOWS)} subflows, and flows of {' and '.join(str(n) for n in QUICK_PACKETS)} "
    "packets"
)
AT_MOST_S = 10.0
"""Limit of simulated time; the last flow ends before it."""
EVERY = "1ms"
WINDOW, TOLERANCE = 5.0, 0.5
"""The paper's average window of 20 subflows of a flow of 400 packets, and its tolerance, in packets."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of every size and number of subflows, for both readings."""
    sizes, numbers = (QUICK_PACKETS, QUICK_SUBFLOWS) if scale.quick else (PACKETS, SUBFLOWS)
    return [
        _case(reading, packets, n, seed)
        for reading in READINGS
        for packets in sizes
        for n in numbers
        for seed in range(1, scale.seeds + 1)
    ] + [_case(UNBOUND, MAX_PACKETS, n, seed) for n in numbers for seed in range(1, scale.seeds + 1)]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per run: mean window in packets, number of timeouts, mean and longest FCT in ms."""
    ends = result.flows.select("flow", end=pl.col("finish_s"))
    windows = result.traces.join(ends, on="flow").filter(pl.col("time_s") <= pl.col("end"))
    flows = result.flows.select(
        timeouts=pl.col("timeouts").sum(),
        fct_ms=pl.col("fct_s").mean() * 1e3,
        longest_ms=pl.col("fct_s").max() * 1e3,
    )
    return flows.with_columns(window=pl.lit(windows["cwnd_packets"].mean(), pl.Float64))


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the section's claims, of the first reading."""
    here = rows.filter(reading=OWN)
    at = here["subflows"].unique().sort().to_list()
    windows = [_of(here, MAX_PACKETS, n, "window").mean for n in at]
    small = _of(here, PACKETS[0], at[-1], "window")
    timeouts = {n: _of(here, MAX_PACKETS, n, "timeouts") for n in at}
    fct = {n: _of(here, MAX_PACKETS, n, "fct_ms").mean for n in at}
    best = min(fct, key=lambda n: fct[n])
    other = rows.filter(reading=ONE)
    elsewhere = {n: _of(other, MAX_PACKETS, n, "fct_ms").mean for n in at}
    return [
        Claim(
            "The average window falls as the number of subflows rises",
            "falls",
            f"{digits(windows[0])} packets with {at[0]}, {digits(windows[-1])} with {at[-1]}",
            windows[-1] < windows[0] and all(b < 1.1 * a for a, b in pairwise(windows)),
            f"flows of {MAX_PACKETS} packets; holds when the last is below the first and no step rises by 10 %",
            table=_table(rows),
        ),
        Claim(
            f"With {SPINES} subflows and {PACKETS[0]} packets the average window is about {WINDOW:.0f}",
            f"about {WINDOW:.0f} packets",
            str(small),
            small.near(WINDOW, TOLERANCE),
            f"holds within {TOLERANCE:.0%}",
        ),
        Claim(
            "Timeouts rise with the number of subflows",
            "rise",
            f"{timeouts[at[0]]} with {at[0]}, {timeouts[at[-1]]} with {at[-1]}",
            timeouts[at[-1]].mean > timeouts[at[0]].mean,
            f"of all {HOSTS_PER_LEAF} flows of {MAX_PACKETS} packets; holds when the last is above the first; with one "
            f"receiver {_of(other, MAX_PACKETS, at[0], 'timeouts')} and {_of(other, MAX_PACKETS, at[-1], 'timeouts')}",
        ),
        Claim(
            "The mean FCT falls with more subflows and then rises greatly",
            "falls, then rises",
            f"{digits(fct[at[0]])} ms with {at[0]}, least with {best}: {digits(fct[best])} ms, "
            f"{digits(fct[at[-1]])} ms with {at[-1]}",
            best not in (at[0], at[-1]) and fct[at[-1]] > RISES * fct[best],
            f"flows of {MAX_PACKETS} packets; holds when the least is inside and the last {RISES} times as long at "
            "least. "
            f"With one receiver: {digits(elsewhere[at[0]])} ms, {digits(min(elsewhere.values()))} ms at least, "
            f"{digits(elsewhere[at[-1]])} ms{_unbound(rows)}",
        ),
    ]


def plot(rows: pl.DataFrame) -> Plot:
    """(2) average window, (3) timeouts and (4) mean FCT by subflows; one receiver per flow, range of the seeds."""
    here = rows.filter(reading=OWN)
    at = here["subflows"].unique().sort().to_list()
    sizes = here["packets"].unique().sort().to_list()
    plot = Plot(figsize=(11, 3.6), layout="constrained")
    heads = {"window": "(2) average window (packets)", "timeouts": "(3) timeouts", "fct_ms": "(4) mean FCT (ms)"}
    for axes, (column, head) in zip(plot.subplots(1, len(heads)), heads.items(), strict=True):
        for packets, colour in zip(sizes, ("#56b4e9", "#0072b2", "#444444")[-len(sizes) :], strict=True):
            found = [_of(here, packets, n, column) for n in at]
            axes.plot(
                at, [summary.mean for summary in found], label=f"{packets} packets", color=colour, marker="o", ms=3
            )
            low, high = ([bound(summary.values) for summary in found] for bound in (min, max))
            axes.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.set_xlabel("subflows")
        axes.set_title(head, fontsize="medium")
        axes.set_ylim(bottom=0)
        axes.grid(visible=True, alpha=0.3)
    plot.axes[0].legend(frameon=False, fontsize="small")
    plot.suptitle(f"Figures 2 to 4: {HOSTS_PER_LEAF} MPTCP flows")
    return plot


RISES = 1.5
"""Ratio to the smallest FCT from which the FCT is greatly increased."""


def _case(reading: str, packets: int, n: int, seed: int) -> Case:
    hosts = HOSTS_PER_LEAF
    to = (lambda _: hosts) if reading == ONE else (lambda flow: hosts + flow)
    pairs = [[f"h{flow}", f"h{to(flow)}"] for flow in range(hosts)]
    mptcp = transport("mptcp") | {"subflows": n, "paths": "ecmp"}
    if reading == UNBOUND:
        mptcp["tcp"] = {"initial_ssthresh": "unlimited", "subflow_receive_buffer": "1GiB"}
    spec = experiment(
        f"{n}-subflows",
        seconds=AT_MOST_S,
        transports=[],
        others={"mptcp": mptcp},
        traffic=[{"kind": "bulk", "transport": "mptcp", "pairs": pairs, "size": f"{packets * MSS}B", "jitter": "1ms"}],
        probes=[{"kind": "flow", "interval": EVERY}],
    )
    return Case({"reading": reading, "packets": packets, "subflows": n}, spec, seed)


def _of(rows: pl.DataFrame, packets: int, n: int, column: str) -> SeedSummary:
    return over_seeds(rows.filter(packets=packets, subflows=n), pl.col(column).mean())


def _unbound(rows: pl.DataFrame) -> str:
    """Formats FCT and timeouts in the runs in which slow start ends when queues overflow."""
    here = rows.filter(reading=UNBOUND)
    if here.is_empty():
        return ""
    at = here["subflows"].unique().sort().to_list()
    fct = {n: _of(here, MAX_PACKETS, n, "fct_ms").mean for n in at}
    best = min(fct, key=lambda n: fct[n])
    late = {n: _of(here, MAX_PACKETS, n, "timeouts") for n in (at[0], at[-1])}
    return (
        ". Without ns-2's `window_` one subflow overflows a queue at the end of its slow start, and flows wait "
        f"for RTOs: {digits(fct[at[0]])} ms with {at[0]}, least with {best}: "
        f"{digits(fct[best])} ms, {digits(fct[at[-1]])} ms with {at[-1]}; timeouts {late[at[0]]} and {late[at[-1]]}"
    )


def _table(rows: pl.DataFrame) -> Table:
    cells = []
    for reading in rows["reading"].unique(maintain_order=True):
        here = rows.filter(reading=reading)
        for packets in here["packets"].unique().sort().to_list():
            for n in here["subflows"].unique().sort().to_list():
                values = (str(_of(here, packets, n, value)) for value in ("window", "timeouts", "fct_ms", "longest_ms"))
                cells.append((reading, str(packets), str(n), *values))
    heads = ("packets", "subflows", "average window", "timeouts", "mean FCT (ms)", "longest FCT (ms)")
    return Table(("reading", *heads), tuple(cells))
