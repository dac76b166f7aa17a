"""Figure 5 (section 3.1): the rate of each flow in an overloaded fat-tree, VLB against Multipath TCP.

The paper does not say what loads the network. Here each host sends 5 long flows, each along a permutation of its own,
so that every host sends 5 flows and receives 5. One seed shows 5 flows from each host to hosts drawn for each, and 20
flows per host. At light load one of 8 hosts sends one flow.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result, stats
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
)
from weft_papers.seed_summary import SeedSummary, listed, over_seeds, percentile

TRANSPORTS = {"vlb": VLB, "multipath": MULTIPATH}
FLOWS = 5
LIGHT, OVERLOAD = "light", "overload"
OTHERS = {"random": "5 flows of each host to hosts drawn for each", "heavier": "20 flows per host"}
"""Other readings of overload, run with one seed."""
ONE_OF = 8
"""Number of hosts per sender at light load."""
SECONDS, WARM_UP_S = 2.0, 0.5
QUICK_SECONDS = 1.0
QUICK = f"a fat-tree of {QUICK_PORTS**3 // 4} hosts, {QUICK_SECONDS:.0f} s instead of {SECONDS:.0f} s"
SLOW = 10
"""Percentile of the flows' rates that has to be above VLB's as well."""
FULL = 0.9
"""Share of the maximum goodput from which the network counts as filled."""
LITTLE = 1.1
"""Ratio to VLB's goodput up to which the benefit is little."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of VLB and Multipath TCP under overload and light load; at full size one seed of other overloads."""
    seeds = range(1, scale.seeds + 1)
    cells = [(load, name, seed) for load in (OVERLOAD, LIGHT) for name in TRANSPORTS for seed in seeds]
    if not scale.quick:
        cells += [(load, name, 1) for load in OTHERS for name in TRANSPORTS]
    return [_case(*cell, quick=scale.quick) for cell in cells]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per flow: its rate after slow start in Mbps, and the number of hosts."""
    measured_s = result.manifest["end_s"] - WARM_UP_S
    return result.flows.select(
        rate_mbps=pl.col("measured_bytes") * 8e-6 / measured_s, hosts=pl.lit(_hosts(result)), timeouts="timeouts"
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Each flow's rate by its rank, first seed, overload."""
    plot = Plot(figsize=(5.4, 3.8), layout="constrained")
    axes = plot.subplots()
    for name in TRANSPORTS:
        first = _of(rows.filter(load=OVERLOAD), name).filter(seed=rows["seed"].min())
        rates = first["rate_mbps"].sort().to_list()
        axes.plot(range(len(rates)), rates, label=SHOWN[name].label, color=SHOWN[name].colour, linewidth=1.2)
    axes.axhline(1e3 * MAX_GBPS / FLOWS, color="#999999", linestyle=":", linewidth=1)
    axes.set(ylim=(0, None), xlabel="rank of flow", ylabel="rate of flow (Mbps)")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False)
    axes.set_title(f"Figure 5: {FLOWS} flows per host (dotted: equal shares)")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 3.1, the paragraph about load levels."""
    over, light = (rows.filter(load=load) for load in (OVERLOAD, LIGHT))
    filled = {name: _filled(over, name) for name in TRANSPORTS}
    jain = {name: _jain(over, name) for name in TRANSPORTS}
    slow = {name: percentile(_of(over, name), "rate_mbps", SLOW, "Mbps") for name in TRANSPORTS}
    slowest = {name: _slowest(over, name) for name in TRANSPORTS}
    few = over_seeds(_of(light, "multipath"), pl.col("rate_mbps").sum(), "Mbps")
    benefit = few / over_seeds(_of(light, "vlb"), pl.col("rate_mbps").sum(), "Mbps")
    return [
        Claim(
            "Under overload even VLB manages to fill the network",
            "filled",
            f"{filled['vlb']} of the most goodput",
            filled["vlb"].mean >= 100 * FULL,
            f"with {FLOWS} flows per host; holds from {FULL:.0%} on of what hosts can send together with the "
            f"acknowledgements of what they receive; Multipath TCP {filled['multipath']}{_elsewhere(rows, _filled)}",
        ),
        Claim(
            "Under overload Multipath TCP still gives better fairness",
            "fairer",
            f"Jain's index {_both(jain)}; {SLOW}th percentile {_both(slow)}",
            jain["multipath"].mean > jain["vlb"].mean and slow["multipath"].mean > slow["vlb"].mean,
            f"of the flows' rates; holds when both are above VLB's; slowest flow {_both(slowest)}"
            f"{_elsewhere(rows, _jain)}",
        ),
        Claim(
            "At very light load Multipath TCP gives little benefit over VLB in a fat-tree",
            "little benefit",
            f"goodput {benefit} times VLB's",
            benefit.mean <= LITTLE,
            f"one of {ONE_OF} hosts sends one flow; holds up to {LITTLE} times",
        ),
    ]


def _case(load: str, name: str, seed: int, *, quick: bool) -> Case:
    ports = QUICK_PORTS if quick else PORTS
    experiment = fat_tree(
        f"{load}-{name}",
        seconds=QUICK_SECONDS if quick else SECONDS,
        warm_up=WARM_UP_S,
        ports=ports,
        transports={name: TRANSPORTS[name]},
        traffic=[
            {"kind": "bulk", "transport": name, "jitter": OPENING, **value} for value in _traffic(load, ports, seed)
        ],
    )
    return Case({"load": load, "transport": name}, experiment, seed)


def _traffic(load: str, ports: int, seed: int) -> list[dict[str, Any]]:
    if load == LIGHT:
        hosts = random.Random(seed).sample(range(ports**3 // 4), ports**3 // 2 // ONE_OF)  # noqa: S311 - not a secret
        pairs = [[f"h{a}", f"h{b}"] for a, b in zip(hosts[::2], hosts[1::2], strict=True)]
        return [{"pairs": pairs}]
    if load == "random":
        return [{"pairs": "random", "count": FLOWS}]
    # Each entry has a permutation of its own.
    return [{"pairs": "permutation"}] * (20 if load == "heavier" else FLOWS)


def _hosts(result: Result) -> int:
    """Returns the number of hosts, each of which has one link up and one down."""
    return int(result.links["layer"].str.starts_with("host").sum())


def _of(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    return rows.filter(transport=name)


def _filled(rows: pl.DataFrame, name: str) -> SeedSummary:
    most = 1e3 * MAX_GBPS * pl.col("hosts").first()
    return over_seeds(_of(rows, name), 100 * pl.col("rate_mbps").sum() / most, "%")


def _jain(rows: pl.DataFrame, name: str) -> SeedSummary:
    return over_seeds(_of(rows, name), stats.jain("rate_mbps"))


def _slowest(rows: pl.DataFrame, name: str) -> SeedSummary:
    return over_seeds(_of(rows, name), pl.col("rate_mbps").min(), "Mbps")


def _both(spreads: dict[str, SeedSummary]) -> str:
    return listed((SHOWN[name].label, spreads[name]) for name in TRANSPORTS)


def _elsewhere(rows: pl.DataFrame, statistic: Callable[[pl.DataFrame, str], SeedSummary]) -> str:
    found = ((words, rows.filter(load=load)) for load, words in OTHERS.items())
    return "".join(
        f"; with {words} {_both({name: statistic(some, name) for name in TRANSPORTS})}"
        for words, some in found
        if not some.is_empty()
    )
