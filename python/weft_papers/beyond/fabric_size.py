"""The number of subflows that a fat-tree needs and its slowest flow, for 1,000 to a million hosts and failed links.

Every host sends at full rate to another one and receives from one, with Reno over one path and LIA over several. The
runs are at the flow level, as in figures 1 to 3 of `mptcp-dc`. Some cables between aggregation and core switches,
drawn by the seed, are down from the beginning, and routing knows them.

Counting gives a bound of the throughput. A flow within a pod has at most a host's link. All flows that leave their
pods together have at most the cables that are up.
"""

from __future__ import annotations

from itertools import pairwise

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.mptcp_dc import large_scale
from weft_papers.mptcp_dc.large_scale import VLB, fat_tree
from weft_papers.seed_summary import SeedSummary, over_seeds, plot_with_band

FAILED_PERCENT = (0, 1, 5)
"""Percentages of the cables between aggregation and core switches that are down."""
SUBFLOWS = {16: tuple(range(1, 13)), 32: tuple(range(1, 13)), 64: (1, 2, 4, 8, 9, 10, 11), 160: (1, 8, 9, 10, 11)}
"""Numbers of subflows to try, by ports of the switches: the larger the network, the closer to what smaller ones need.
"""
SEEDS = {64: 2, 160: 1}
"""Maximum number of seeds by size, where a run is long."""
QUICK_SUBFLOWS = {8: SUBFLOWS[16], 16: SUBFLOWS[16]}
TARGET = 90.0
"""Percentage of the bound of the throughput, as in figure 2 of `mptcp-dc`."""
MANY = 8
"""Number of subflows with which the slowest flow is compared with that of a single path."""
COLOURS = {0: "#0072b2", 1: "#e69f00", 5: "#d55e00"}
QUICK = f"128 and 1,024 hosts instead of up to {fat_tree(max(SUBFLOWS)).hosts:,}"


def cases(scale: Scale) -> list[Case]:
    """Returns runs of every size, share of failed cables and number of subflows."""
    return [
        _case(ports, failed, subflows, seed)
        for ports, tried in (QUICK_SUBFLOWS if scale.quick else SUBFLOWS).items()
        for failed in FAILED_PERCENT
        for subflows in tried
        for seed in range(1, min(scale.seeds, SEEDS.get(ports, scale.seeds)) + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: rates over a link's as in figures 1 to 3, and the bound of their mean."""
    hosts = result.flows.height
    ports = round((4 * hosts) ** (1 / 3))
    pod = [pl.col(end).str.strip_prefix("h").cast(pl.Int64) // (ports**2 // 4) for end in ("from", "to")]
    leaving = int(result.flows.select((pod[0] != pod[1]).sum()).item())
    # There are as many cables to the core as hosts.
    left = hosts * (1 - sum(event["fraction"] for event in result.manifest["spec"].get("events", [])))
    best = (hosts - leaving + min(leaving, left)) / hosts
    return large_scale.measure(result).with_columns(best=pl.lit(best))


def plot(rows: pl.DataFrame) -> Plot:
    """Subflows needed for 90 % of the bound of the throughput, and the slowest flow, by hosts and failed core links."""
    plot = Plot(figsize=(8.6, 3.8), layout="constrained")
    left, right = plot.subplots(1, 2)
    sizes = sorted(rows["hosts"].unique())
    for failed in FAILED_PERCENT:
        label, colour = f"{failed} % of core links down", COLOURS[failed]
        found = [(hosts, _fewest(rows, hosts, failed)) for hosts in sizes]
        points = [(hosts, subflows) for hosts, subflows in found if subflows is not None]
        if points:
            left.plot(*zip(*points, strict=True), marker="o", label=label, color=colour)
        for subflows, style in ((VLB, ":"), (MANY, "-")):
            spreads = [_of(rows, hosts, failed, subflows, _slowest()) for hosts in sizes]
            plot_with_band(right, sizes, spreads, colour, alpha=0.2, linestyle=style, marker="o")
    left.set(ylim=(0, 13), ylabel="subflows")
    left.legend(frameon=False, loc="lower right")
    right.set(ylim=(0, None), ylabel="slowest flow (% of a host's link)")
    right.set_title(f"{MANY} subflows; dotted: one path", fontsize="medium")
    left.set_title(f"subflows for {TARGET:g} % of what can be carried", fontsize="medium")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xticks(sizes, [f"{hosts:,}" for hosts in sizes])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("hosts")
        axes.grid(visible=True, alpha=0.3)
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the measurements, without verdicts."""
    sizes = sorted(rows["hosts"].unique())
    cells = {failed: [_needed(rows, hosts, failed) for hosts in sizes] for failed in FAILED_PERCENT}
    return [
        Claim(
            f"Subflows for {TARGET:g} % of what a fat-tree can carry",
            "not in the paper",
            f"{sizes[0]:,} to {sizes[-1]:,} hosts, "
            + "; ".join(f"{failed} % down: {', '.join(needed)}" for failed, needed in cells.items()),
            None,
            "by hosts, the fewest whose mean over the seeds reaches it. The bound follows from the flows "
            "that leave their pods and the core links that are left; throughput is in per cent of that",
            table=_table(rows),
        ),
        Claim(
            f"The slowest flow with one path and with {MANY} subflows",
            "not in the paper",
            "; ".join(
                f"{failed} % down: {', '.join(_slowest_words(rows, hosts, failed) for hosts in sizes)}"
                for failed in FAILED_PERCENT
            ),
            None,
            "by hosts, of a host's link",
        ),
    ]


def _case(ports: int, failed: int, subflows: int, seed: int) -> Case:
    network = fat_tree(ports)
    event = {"at": "0s", "layer": "agg-core", "fraction": failed / 100, "state": "down"}
    experiment = large_scale.permutation(network, subflows, [event] if failed else [])
    return Case({"hosts": network.hosts, "failed": failed, "subflows": subflows}, experiment, seed)


def _throughput() -> pl.Expr:
    return (100 * pl.col("mean") / pl.col("best")).first()


def _slowest() -> pl.Expr:
    return (100 * pl.col("slowest")).first()


def _of(rows: pl.DataFrame, hosts: int, failed: int, subflows: int, statistic: pl.Expr) -> SeedSummary:
    return over_seeds(rows.filter(hosts=hosts, failed=failed, subflows=subflows), statistic, "%")


def _tried(rows: pl.DataFrame, hosts: int, failed: int) -> list[int]:
    return sorted(rows.filter(hosts=hosts, failed=failed)["subflows"].unique())


def _fewest(rows: pl.DataFrame, hosts: int, failed: int) -> int | None:
    """Returns the smallest of the tried numbers that reaches the target."""
    tried = _tried(rows, hosts, failed)
    return next((n for n in tried if _of(rows, hosts, failed, n, _throughput()).mean >= TARGET), None)


def _needed(rows: pl.DataFrame, hosts: int, failed: int) -> str:
    """Formats the number of subflows needed; "at most" if one fewer was not tried."""
    tried, found = _tried(rows, hosts, failed), _fewest(rows, hosts, failed)
    if found is None:
        return f"more than {tried[-1]}"
    skipped = found > 1 and (found - 1, found) not in pairwise(tried)
    return f"at most {found}" if skipped else str(found)


def _slowest_words(rows: pl.DataFrame, hosts: int, failed: int) -> str:
    one, many = (_of(rows, hosts, failed, subflows, _slowest()) for subflows in (VLB, MANY))
    return f"{one} and {many}"


def _table(rows: pl.DataFrame) -> Table:
    numbers = sorted(rows["subflows"].unique())

    def cells(hosts: int, failed: int) -> list[str]:
        tried = _tried(rows, hosts, failed)
        return [str(_of(rows, hosts, failed, n, _throughput())) if n in tried else "" for n in numbers]

    def line(hosts: int, failed: int) -> tuple[str, ...]:
        seeds = str(rows.filter(hosts=hosts)["seed"].n_unique())
        return (f"{hosts:,}", f"{failed} %", seeds, _needed(rows, hosts, failed), *cells(hosts, failed))

    lines = tuple(line(hosts, failed) for hosts in sorted(rows["hosts"].unique()) for failed in FAILED_PERCENT)
    columns = ("hosts", "core links down", "seeds", "subflows needed", *(f"with {n}" for n in numbers))
    return Table(columns, lines)
