"""Figure 2 (section 3.1): the fewest subflows that fill 90 % of a network, by its size."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure as Plot

from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.mptcp_dc import large_scale
from weft_papers.mptcp_dc.large_scale import COLOURS, Network, fat_tree, part, vl2
from weft_papers.seed_summary import over_seeds

SUBFLOWS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
TARGET = 90.0
"""Target in per cent of the cross-sectional bandwidth."""
FULL: dict[str, tuple[Network, ...]] = {
    "FatTree": tuple(map(fat_tree, (4, 8, 12, 16, 20, 24, 28, 32))),
    "VL2": tuple(map(vl2, (4, 8, 12, 16, 24, 32, 40, 48))),
}
SMALL: dict[str, tuple[Network, ...]] = {name: networks[:3] for name, networks in FULL.items()}
PAPER = {"FatTree": 8, "VL2": 2}
LARGE = 1000
"""Number of hosts from which a network counts as beyond "a certain size".

If there are only smaller networks, the largest two count.
"""
MORE = 1
"""Additional subflows of the largest network, compared with a smaller one, up to which it needs "hardly" more."""
QUICK = "networks of up to " + ", ".join(f"{row[-1].hosts} ({name})" for name, row in SMALL.items()) + " hosts"

measure = large_scale.measure


def cases(scale: Scale) -> list[Case]:
    """Returns runs of every topology, size and number of subflows."""
    sizes = SMALL if scale.quick else FULL
    return [
        large_scale.case(name, network, subflows, seed)
        for name, networks in sizes.items()
        for network in networks
        for subflows in SUBFLOWS
        for seed in range(1, scale.seeds + 1)
    ]


def plot(rows: pl.DataFrame) -> Plot:
    """Smallest number of subflows that reaches 90 %, by hosts."""
    plot = Plot(figsize=(5.4, 3.4), layout="constrained")
    axes = plot.subplots()
    for name in PAPER:
        points = [(hosts, subflows) for hosts, subflows in _needed(rows, name).items() if subflows is not None]
        axes.plot(*zip(*points, strict=True), marker="o", label=name, color=COLOURS[name])
    axes.set(xscale="log", ylim=(0, SUBFLOWS[-1] + 1), xlabel="hosts", ylabel=f"subflows for {TARGET:g} %")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False)
    axes.set_title(f"Figure 2: subflows needed for {TARGET:g} % utilisation")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 3.1 about figure 2."""
    needed = {name: _needed(rows, name) for name in PAPER}
    largest = {name: max(sizes) for name, sizes in needed.items()}
    at_most = {name: needed[name][hosts] for name, hosts in largest.items()}
    words = ", ".join(f"{name} of {largest[name]} hosts {_count(at_most[name])}" for name in PAPER)
    grown = {name: _growth(sizes) for name, sizes in needed.items()}
    return [
        Claim(
            "FatTree needs eight subflows for 90 % utilisation",
            str(PAPER["FatTree"]),
            _count(at_most["FatTree"]),
            at_most["FatTree"] is not None and abs(at_most["FatTree"] - PAPER["FatTree"]) <= MORE,
            f"in the largest network, {largest['FatTree']} hosts, mean over the seeds; holds for "
            f"{PAPER['FatTree'] - MORE} to {PAPER['FatTree'] + MORE}",
            table=_table(rows),
        ),
        Claim(
            "VL2 needs two subflows for 90 % utilisation",
            str(PAPER["VL2"]),
            _count(at_most["VL2"]),
            at_most["VL2"] == PAPER["VL2"],
            f"in the largest network, {largest['VL2']} hosts; holds for {PAPER['VL2']}",
        ),
        Claim(
            "Beyond a certain size the number of subflows needed does not increase significantly",
            "hardly",
            words,
            all(grows is not None and grows <= MORE for grows in grown.values()),
            f"holds when the largest network needs at most {MORE} more than any from {LARGE} hosts on, or, where there "
            "is one at most of those, than the next smaller one",
        ),
    ]


def _needed(rows: pl.DataFrame, name: str) -> dict[int, int | None]:
    """Returns the smallest number of subflows whose mean over the seeds reaches the target, by number of hosts.

    The value is None if no number reaches it.
    """
    found: dict[int, int | None] = {}
    of_topology = rows.filter(topology=name)
    for hosts in sorted(of_topology["hosts"].unique()):
        some = of_topology.filter(hosts=hosts)
        reached = (n for n in SUBFLOWS if over_seeds(some.filter(subflows=n), part("mean").first()).mean >= TARGET)
        found[hosts] = next(reached, None)
    return found


def _growth(needed: dict[int, int | None]) -> int | None:
    """Returns the additional subflows of the largest network, compared with the large one that needs the fewest."""
    sizes = sorted(needed)
    large = [hosts for hosts in sizes if hosts >= LARGE]
    some = [needed[hosts] for hosts in (large if len(large) > 1 else sizes[-2:])]
    known = [value for value in some if value is not None]
    last = some[-1]
    return None if last is None or len(known) < len(some) else last - min(known)


def _count(subflows: int | None) -> str:
    return f"more than {SUBFLOWS[-1]}" if subflows is None else str(subflows)


def _table(rows: pl.DataFrame) -> Table:
    cells = []
    for name in PAPER:
        for hosts, subflows in _needed(rows, name).items():
            some = rows.filter(topology=name, hosts=hosts)
            spreads = [over_seeds(some.filter(subflows=n), part("mean").first()) for n in (1, 2, 4, 8)]
            cells.append((name, str(hosts), _count(subflows), *(f"{digits(summary.mean)} %" for summary in spreads)))
    columns = ("", "hosts", "subflows needed", "1 subflow", "2", "4", "8")
    return Table(columns, tuple(cells))
