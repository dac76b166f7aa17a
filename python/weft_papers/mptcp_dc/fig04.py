"""Figure 4 (section 3.2): closed-loop flows along a permutation, by VLB, Multipath TCP and a centralised scheduler.

Every host has one flow at a time to its partner. Sizes are those of the data mining workload, which is the VL2
paper's. The scheduler is the first fit of htsim, the simulator that the authors extended. At each interval it
searches for flows that took more than 10 % of their host's link. Each gets the path whose fullest link has the fewest
such flows. First fit by demands, as Hedera's text has it, is shown in addition. The paper simulates 20 s. Here one
seed does, and all seeds simulate a part of that, which has the verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale
from weft_papers.mptcp_dc.fat_tree import (
    MAX_GBPS,
    MULTIPATH,
    OPENING,
    PORTS,
    QUICK_PORTS,
    SHOWN,
    VLB,
    fat_tree,
    transport,
)
from weft_papers.seed_summary import SeedSummary, means_and_ranges, over_seeds

INTERVALS_MS = (10, 50, 100, 500, 1000)
QUICK_INTERVALS_MS = (10, 100, 500)
APPROACHES_MS, TOO_LATE_MS = 100, 500
"""Intervals at which the scheduler comes near Multipath TCP, and at which its benefit is little."""
SECONDS, LONG_S, QUICK_SECONDS = 5, 20, 2
WARM_UP_S = 0.5
QUICK = (
    f"a fat-tree of {QUICK_PORTS**3 // 4} hosts, {QUICK_SECONDS} s instead of {SECONDS} s and {LONG_S} s, "
    f"{len(QUICK_INTERVALS_MS)} of {len(INTERVALS_MS)} intervals"
)
LINUX: dict[str, Any] = {
    "vlb": transport("reno", profile="linux"),
    "multipath": transport("lia", 8, profile="linux"),
}
HEDERA = "hedera"
"""Value of the column `tcp` for first fit by demands, as Hedera's text has it."""
BETTER = 1.25
"""Ratio to VLB's throughput from which the difference counts as significant."""
NEAR = 0.9
"""Share of Multipath TCP's throughput that approaches it."""
LITTLE = 1.1
"""Ratio to VLB's throughput up to which the benefit is little."""
MATCHES = 0.95
"""Part of the scheduler's throughput from which on Multipath TCP matches it."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of VLB, Multipath TCP and the scheduler at each interval.

    At full size there is also one seed of 20 s, and of Linux's TCP.
    """
    intervals = QUICK_INTERVALS_MS if scale.quick else INTERVALS_MS
    schemes = ("vlb", "multipath", *map(scheme, intervals))
    seconds = QUICK_SECONDS if scale.quick else SECONDS
    judged = [_case(name, "ns2", seconds, seed, quick=scale.quick) for name in schemes for seed in _seeds(scale)]
    if scale.quick:
        return judged
    long = [_case(name, "ns2", LONG_S, 1, quick=False) for name in schemes]
    linux = [_case(name, "linux", SECONDS, 1, quick=False) for name in LINUX]
    hedera = [_case(scheme(ms), HEDERA, SECONDS, 1, quick=False) for ms in INTERVALS_MS]
    return [*judged, *long, *linux, *hedera]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: goodput relative to the maximum, flows that ended, median FCT of flows from 100 MB on."""
    measured_s = result.manifest["end_s"] - WARM_UP_S
    hosts = int(result.links["layer"].str.starts_with("host").sum())
    large = result.flows.filter(pl.col("size_bytes") >= 100e6)
    return pl.DataFrame(
        {
            "throughput": 100 * int(result.flows["measured_bytes"].sum()) * 8e-9 / measured_s / (hosts * MAX_GBPS),
            "flows": int(result.flows["fct_s"].count()),
            "large_s": pl.Series([large["fct_s"].median()], dtype=pl.Float64),
        }
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Throughput of the scheduler by its interval, with VLB's and Multipath TCP's: mean and range of the seeds."""
    plot = Plot(figsize=(5.4, 3.8), layout="constrained")
    axes = plot.subplots()
    for name in ("vlb", "multipath"):
        spread = _of(rows, name)
        axes.axhline(spread.mean, color=SHOWN[name].colour, label=SHOWN[name].label, linewidth=1.2)
        axes.axhspan(min(spread.values), max(spread.values), color=SHOWN[name].colour, alpha=0.15)
    spreads = {ms: _of(rows, scheme(ms)) for ms in _intervals(rows)}
    means, reach = means_and_ranges(spreads.values())
    shown = SHOWN["scheduler"]
    axes.errorbar(
        list(spreads), means, yerr=reach, label=shown.label, color=shown.colour, marker=shown.marker, capsize=3
    )
    axes.set(xscale="log", ylim=(0, 100), xlabel="scheduling interval (ms)", ylabel="throughput (% of the most)")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False)
    axes.set_title("Figure 4: VLB, Multipath TCP and first fit")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 3.2, "Scheduling and Dynamic Flow Arrivals", last paragraph."""
    vlb, multipath = _of(rows, "vlb"), _of(rows, "multipath")
    soon, late = _of(rows, scheme(APPROACHES_MS)), _of(rows, scheme(TOO_LATE_MS))
    better, approaches, benefit = multipath / vlb, soon / multipath, late / vlb
    unit = "throughputs as parts of what all hosts can send together with acknowledgements"
    return [
        Claim(
            "Multipath TCP significantly outperforms VLB",
            "significantly",
            f"Multipath TCP {multipath}, VLB {vlb}: {better} times",
            better.mean >= BETTER,
            f"{unit}; holds from {BETTER} times on; flows of 100 MB or more took {_large(rows)} at the median by "
            f"Multipath TCP{_elsewhere(rows)}",
        ),
        Claim(
            f"The scheduler has to run every {APPROACHES_MS} ms to approach Multipath TCP",
            f"near at {APPROACHES_MS} ms",
            f"every {APPROACHES_MS} ms {soon}: {approaches} times Multipath TCP's",
            approaches.mean >= NEAR,
            f"holds from {NEAR} times on; {_every(rows)}",
        ),
        Claim(
            f"Every {TOO_LATE_MS} ms the scheduler is of little benefit",
            "little benefit",
            f"every {TOO_LATE_MS} ms {late}: {benefit} times VLB's",
            benefit.mean <= LITTLE,
            f"holds up to {LITTLE} times; {_every(rows)}",
        ),
        Claim(
            "Multipath TCP outperforms or matches the scheduler at any interval",
            "outperforms or matches",
            f"Multipath TCP {multipath}; {_every(rows)}",
            all(multipath.mean >= MATCHES * _of(rows, scheme(ms)).mean for ms in _intervals(rows)),
            f"the abstract; holds from {MATCHES} times on at each interval; {unit}",
        ),
    ]


def scheme(interval_ms: int) -> str:
    """Returns the scheduler's name in rows."""
    return f"scheduler-{interval_ms}ms"


def _case(name: str, tcp: str, seconds: int, seed: int, *, quick: bool) -> Case:
    single, _, interval = name.partition("-")
    transports: Mapping[str, Any] = LINUX if tcp == "linux" else {"vlb": VLB, "scheduler": VLB, "multipath": MULTIPATH}
    kind = "first-fit" if tcp == HEDERA else "least-allocated"
    experiment = fat_tree(
        f"closed-loop-{name}",
        seconds=seconds,
        warm_up=WARM_UP_S,
        ports=QUICK_PORTS if quick else PORTS,
        transports={single: transports[single]},
        traffic=[
            {
                "kind": "closed-loop",
                "transport": single,
                "pairs": "permutation",
                "size": {"kind": "empirical", "cdf": "data-mining"},
                "jitter": OPENING,
            }
        ],
        controller={"kind": kind, "interval": interval} if interval else None,
    )
    return Case({"scheme": name, "tcp": tcp, "seconds": seconds}, experiment, seed)


def _seeds(scale: Scale) -> range:
    return range(1, scale.seeds + 1)


def _of(rows: pl.DataFrame, name: str) -> SeedSummary:
    """Returns the throughput in the judged runs, which are the shorter ones."""
    here = rows.filter(tcp="ns2", seconds=rows["seconds"].min(), scheme=name)
    return over_seeds(here, pl.col("throughput").first(), "%")


def _large(rows: pl.DataFrame) -> str:
    found = rows.filter(tcp="ns2", scheme="multipath")["large_s"].drop_nulls()
    return f"{digits(float(found.mean()))} s" if len(found) else "longer than the run"  # type: ignore[arg-type]


def _intervals(rows: pl.DataFrame) -> list[int]:
    return [ms for ms in INTERVALS_MS if scheme(ms) in rows["scheme"]]


def _every(rows: pl.DataFrame) -> str:
    return ", ".join(f"every {ms} ms {_of(rows, scheme(ms))}" for ms in _intervals(rows))


def _elsewhere(rows: pl.DataFrame) -> str:
    """Describes throughputs over 20 s, with Linux's TCP, and with Hedera's first fit."""
    others = {
        f"{LONG_S} s of one seed": rows.filter(seconds=LONG_S),
        "Linux's TCP and one seed": rows.filter(tcp="linux"),
        "Hedera's first fit and one seed": rows.filter(tcp=HEDERA),
    }
    words = ""
    for what, some in others.items():
        throughputs = ", ".join(
            f"{name} {digits(value)} %" for name, value in some.select("scheme", "throughput").rows()
        )
        words += f"; with {what} {throughputs}" if throughputs else ""
    return words
