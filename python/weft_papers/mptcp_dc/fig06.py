"""Figure 6 (section 3.2): the cost of host-limited flows for a centralised scheduler, by its threshold.

Every host sends two long flows to its partner of a permutation. An application limits one of them to a rate just
below or just above the scheduler's threshold; the other flow sends at the rate that its path allows.

The paper neither defines the base of the loss nor the scheduler's throughput otherwise. Here the base is the goodput
of all hosts with the scheduler of section 3.2 (threshold 10 %) without host-limited flows, one flow per host. It is
the same for all thresholds, as in the paper's text, so that a threshold at which too few flows are scheduled costs
throughput. The notes also have the change over the same threshold without host-limited flows, and over the maximum of
all hosts.

The paper does not give the following, which was chosen. "Just" is 5 % of the threshold. The scheduler runs every 100
ms, as figure 4 requires. Multipath TCP has 8 subflows, for either flow. One seed shows the scheduler every 10 ms, and
a host's two flows to two hosts, each by a permutation of its own.
"""

from __future__ import annotations

import random
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.mptcp_dc.fat_tree import (
    MAX_GBPS,
    MULTIPATH,
    OPENING,
    PORTS,
    QUICK_PORTS,
    RATE_GBPS,
    SHOWN,
    VLB,
    fat_tree,
)
from weft_papers.seed_summary import SeedSummary, listed, means_and_ranges, over_seeds

PAPER = {
    (5, "over"): -21,
    (5, "under"): -22,
    (10, "over"): -17,
    (10, "under"): -21,
    (20, "over"): -22,
    (20, "under"): -23,
    (50, "over"): -51,
    (50, "under"): -45,
}
"""Change of throughput in percent, by threshold (percent of a host's link) and side of the host-limited flows."""
THRESHOLDS = tuple(dict.fromkeys(threshold for threshold, _ in PAPER))
SWEET = 10
"""The threshold of Hedera and of the paper."""
JUST = {"over": 1.05, "under": 0.95}
"""Rate of host-limited flows relative to the threshold."""
SIDE = {"over": "just above", "under": "just below"}
NONE = "none"
"""Load without host-limited flows, in which a host has one flow."""
TRANSPORTS = {"vlb": VLB, "multipath": MULTIPATH, "scheduler": VLB}
HERE = "paper"
"""The reading of the claims."""
HEDERA = "hedera"
OTHERS = {
    "often": "the scheduler every 10 ms",
    "apart": "a permutation for each of a host's flows",
    HEDERA: "first fit by demands, as Hedera's text has it",
}
"""Other readings, run with one seed at a threshold of 10 %."""
INTERVAL, OFTEN = "100ms", "10ms"
SECONDS, WARM_UP_S = 1.5, 0.5
QUICK_SECONDS = 0.8
QUICK = f"a fat-tree of {QUICK_PORTS**3 // 4} hosts, {QUICK_SECONDS} s instead of {SECONDS} s"
POINTS = 5
"""Percentage points within which a loss counts as the paper's."""
HIGH = 0.9
"""Share of Multipath TCP's throughput without host-limited flows from which its throughput is high."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of the scheduler and Multipath TCP at each threshold, and without host-limited flows.

    With one seed there are also the other readings.
    """
    seeds = range(1, scale.seeds + 1)
    cells: list[tuple[str, str, int, str]] = [
        *((HERE, "scheduler", threshold, load) for threshold in THRESHOLDS for load in (*JUST, NONE)),
        *((HERE, "multipath", threshold, load) for threshold, load in (*PAPER, (SWEET, NONE))),
    ]
    once: list[tuple[str, str, int, str]] = []
    if not scale.quick:
        once = [(HERE, "vlb", SWEET, load) for load in (*JUST, NONE)]
        once += [(reading, "scheduler", SWEET, load) for reading in OTHERS for load in (*JUST, NONE)]
    runs = [(cell, seed) for cell in cells for seed in seeds] + [(cell, seeds[0]) for cell in once]
    return [_case(*cell, seed, quick=scale.quick) for cell, seed in runs]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: goodput of all hosts relative to the maximum, and goodput of a host's limited and other flow.

    The latter two are means in Mbit/s, and null if there is no such flow.
    """
    measured_s = result.manifest["end_s"] - WARM_UP_S
    hosts = int(result.links["layer"].str.starts_with("host").sum())
    mbps = pl.col("measured_bytes") * 8e-6 / measured_s
    limited = pl.col("traffic") == "limited"
    return result.flows.select(
        throughput=100 * mbps.sum() / (1e3 * hosts * MAX_GBPS),
        limited_mbps=mbps.filter(limited).mean(),
        free_mbps=mbps.filter(~limited).mean(),
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Change of throughput by threshold, first fit and Multipath TCP: mean and range of the seeds; the paper's."""
    plot = Plot(figsize=(7, 3.8), layout="constrained")
    axes = plot.subplots()
    indices = range(len(PAPER))
    for step, name in ((-0.27, "scheduler"), (0, "multipath")):
        means, reach = means_and_ranges(_change(rows, name, *cell) for cell in PAPER)
        shown = SHOWN[name]
        at = [index + step for index in indices]
        axes.bar(at, means, 0.27, yerr=reach, color=shown.colour, label=shown.label, capsize=2)
    axes.bar([index + 0.27 for index in indices], list(PAPER.values()), 0.27, color="#999999", label="First fit, paper")
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(indices, [f"{threshold} %,\n{load}" for threshold, load in PAPER])
    axes.set_ylabel("change of throughput (%)")
    axes.grid(visible=True, axis="y", alpha=0.3)
    axes.legend(frameon=False, fontsize="small")
    axes.set_title("Figure 6: host-limited flows just over and just under the threshold")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of figure 6 and section 3.2, "Host-limited Flows"."""
    return [*(_loss(rows, *cell) for cell in PAPER), _sweet_spot(rows), _consistent(rows)]


def _case(reading: str, name: str, threshold: int, load: str, seed: int, *, quick: bool) -> Case:
    ports = QUICK_PORTS if quick else PORTS
    interval = OFTEN if reading == "often" else INTERVAL
    kind = "first-fit" if reading == HEDERA else "least-allocated"
    controller = {"kind": kind, "interval": interval, "threshold": threshold / 100}
    experiment = fat_tree(
        f"host-limited-{name}-{threshold}-{load}",
        seconds=QUICK_SECONDS if quick else SECONDS,
        warm_up=WARM_UP_S,
        ports=ports,
        transports={name: TRANSPORTS[name]},
        traffic=[
            {"kind": "bulk", "transport": name, "jitter": OPENING, **flow}
            for flow in _flows(threshold, load, ports**3 // 4, seed, apart=reading == "apart")
        ],
        controller=controller if name == "scheduler" else None,
    )
    return Case({"reading": reading, "scheme": name, "threshold": threshold, "load": load}, experiment, seed)


def _flows(threshold: int, load: str, hosts: int, seed: int, *, apart: bool) -> list[dict[str, Any]]:
    """Returns one flow of every host and, if some flows are host-limited, one of these."""
    order = random.Random(seed).sample(range(hosts), hosts)  # noqa: S311 - not a secret
    partner = [[f"h{a}", f"h{b}"] for a, b in zip(order, order[1:] + order[:1], strict=True)]
    free: dict[str, Any] = {"name": "free", "pairs": partner}
    if load == NONE:
        return [free]
    mbps = 1e3 * RATE_GBPS * threshold / 100 * JUST[load]
    # Each entry has a permutation of its own.
    return [free, {"name": "limited", "pairs": "permutation" if apart else partner, "rate": f"{mbps:g}Mbps"}]


def _of(
    rows: pl.DataFrame, name: str, threshold: int, load: str, column: str = "throughput", *, reading: str = HERE
) -> SeedSummary:
    here = rows.filter(reading=reading, scheme=name, threshold=threshold, load=load)
    return over_seeds(here, pl.col(column).first(), "%" if column == "throughput" else "Mbit/s")


def _change(
    rows: pl.DataFrame, name: str, threshold: int, load: str, *, against: int = SWEET, reading: str = HERE
) -> SeedSummary:
    """Returns the change of throughput in percent.

    The base is the scheduler's throughput without host-limited flows at threshold `against`.
    """
    part = _of(rows, name, threshold, load, reading=reading) / _of(rows, "scheduler", against, NONE, reading=reading)
    return SeedSummary(tuple(100 * (value - 1) for value in part.values), "%")


def _loss(rows: pl.DataFrame, threshold: int, load: str) -> Claim:
    here = _change(rows, "scheduler", threshold, load)
    paper = PAPER[threshold, load]
    return Claim(
        f"Threshold of {threshold} %: change of throughput by host-limited flows {SIDE[load]} it",
        f"{paper} %",
        str(here),
        abs(here.mean - paper) <= POINTS,
        f"over the scheduler with a threshold of {SWEET} % and without host-limited flows, which has "
        f"{_of(rows, 'scheduler', SWEET, NONE)} of the most; holds within {POINTS} points; over the same threshold "
        f"without them {_change(rows, 'scheduler', threshold, load, against=threshold)}, over the most "
        f"{_of(rows, 'scheduler', threshold, load).mean - 100:.3g} %. Of what the applications "
        f"write, {1e3 * RATE_GBPS * threshold / 100 * JUST[load]:g} Mbit/s, host-limited flows get "
        f"{_of(rows, 'scheduler', threshold, load, 'limited_mbps')}"
        + (_elsewhere(rows, load) if threshold == SWEET else ""),
    )


def _sweet_spot(rows: pl.DataFrame) -> Claim:
    means = {
        threshold: sum(_change(rows, "scheduler", threshold, load).mean for load in JUST) / len(JUST)
        for threshold in THRESHOLDS
    }
    return Claim(
        f"A threshold of {SWEET} % is a sweet spot; others schedule too few flows, or more that cannot expand",
        "the least loss",
        ", ".join(f"{threshold} %: {mean:.3g} %" for threshold, mean in means.items()),
        max(means, key=lambda threshold: means[threshold]) == SWEET,
        "means of the losses just above and just below; holds when that is the least",
        table=_table(rows),
    )


def _consistent(rows: pl.DataFrame) -> Claim:
    whole = _of(rows, "multipath", SWEET, NONE)
    loads = {cell: _of(rows, "multipath", *cell) for cell in PAPER}
    lowest = min(loads, key=lambda cell: loads[cell].mean)
    above = all(loads[cell].mean > _of(rows, "scheduler", *cell).mean for cell in PAPER)
    return Claim(
        "Multipath TCP consistently obtains high throughput with host-limited flows",
        "consistently high",
        f"at least {loads[lowest]} of the most, without host-limited flows {whole}",
        above and loads[lowest].mean >= HIGH * whole.mean,
        f"the lowest of eight; holds from {HIGH} of that without host-limited flows on, where all eight are above the "
        f"scheduler's, too; {'they are' if above else 'not all are'}",
    )


def _table(rows: pl.DataFrame) -> Table:
    columns = (
        "threshold",
        "host-limited flows",
        "scheduler: throughput",
        "change",
        "change over the same threshold",
        "Multipath TCP: throughput",
    )

    def row(threshold: int, load: str) -> tuple[str, ...]:
        name = SIDE.get(load, "none")
        changes = (_change(rows, "scheduler", threshold, load, against=value) for value in (SWEET, threshold))
        multipath = str(_of(rows, "multipath", SWEET if load == NONE else threshold, load))
        return (f"{threshold} %", name, str(_of(rows, "scheduler", threshold, load)), *map(str, changes), multipath)

    return Table(columns, tuple(row(threshold, load) for threshold in THRESHOLDS for load in (*JUST, NONE)))


def _elsewhere(rows: pl.DataFrame, load: str) -> str:
    """Formats the change in the other readings, and VLB's throughput."""
    found = set(rows["reading"].unique())
    words = "".join(
        f"; with {what} {_change(rows, 'scheduler', SWEET, load, reading=reading)}"
        for reading, what in OTHERS.items()
        if reading in found
    )
    if rows.filter(scheme="vlb").is_empty():
        return words
    vlb = listed(
        (name, _of(rows, "vlb", SWEET, value)) for value, name in ((load, "with them"), (NONE, "without them"))
    )
    return f"{words}; VLB's throughput {vlb}"
