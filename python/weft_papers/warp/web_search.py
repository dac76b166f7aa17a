"""Web search and data mining on the leaf-spine of `beyond/all-schemes`, with its settings: short and long flows."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure as Plot

from weft.sweeps.cases import Case
from weft_papers.beyond import all_schemes
from weft_papers.beyond.all_schemes import LARGEST_CLASS, LOADS, SHORT_CLASS, Load, Scheme, flows_of, tail
from weft_papers.figure import Claim, Scale, Table
from weft_papers.seed_summary import SeedSummary, listed, means_and_ranges, over_seeds
from weft_papers.warp.settings import COLOURS, RIVALS, TURNS, WARP
from weft_papers.warp.settings import SCHEMES as ALL

WORKLOADS = {
    **{name: LOADS[name] for name in ("web-30", "web-50", "web-70")},
    "mining-50": Load("data mining, 50 %", 50, sizes="data-mining"),
}
LATER = {
    f"{name}-later": Scheme(f"{ALL[name].label}, joins after 256 KiB", ALL[name].transport | {"join_after": "256KiB"})
    for name in (WARP, TURNS, "amp")
}
"""Schemes without a verdict, added after the quick version had been seen: they show the cost of subflows.

The cost is that for short flows.
"""
SCHEMES = ALL | LATER
QUICK = (
    f"{all_schemes.QUICK_LEAVES} racks instead of {all_schemes.LEAVES}, flows open for {all_schemes.QUICK_OPENS_MS} ms "
    f"instead of {all_schemes.OPENS_MS} ms"
)
NEAR = 0.95
"""Minimum share of the highest goodput of long flows."""

measure = all_schemes.measure


def cases(scale: Scale) -> list[Case]:
    """Returns runs of every scheme under every load."""
    return [
        all_schemes.case(name, load, scheme, SCHEMES[scheme], seed, quick=scale.quick)
        for name, load in WORKLOADS.items()
        for scheme in SCHEMES
        for seed in range(1, scale.seeds + 1)
    ]


def plot(rows: pl.DataFrame) -> Plot:
    """Slowdown of short flows, 99th percentile, and goodput of long ones: mean and range of the seeds."""
    plot = Plot(figsize=(2.6 * len(WORKLOADS) + 1.6, 7), layout="constrained")
    heads = (f"p99 slowdown, {SHORT_CLASS}", f"goodput {LARGEST_CLASS} 1 MB (Mbps)")
    grid = plot.subplots(2, len(WORKLOADS), sharey=True)
    labels = [scheme.label for scheme in SCHEMES.values()]
    colours = [COLOURS.get(scheme, "#bbbbbb") for scheme in SCHEMES]
    for panels, measured, head in zip(grid, (_late, _goodput), heads, strict=True):
        for axes, (name, load) in zip(panels, WORKLOADS.items(), strict=True):
            means, reach = means_and_ranges(measured(rows, name, scheme) for scheme in SCHEMES)
            axes.barh(labels, means, xerr=reach, color=colours)
            axes.tick_params(axis="y", labelsize="x-small")
            axes.set_title(f"{load.label}:\n{head}", fontsize="small")
            axes.grid(visible=True, axis="x", alpha=0.3)
            if measured is _late:
                axes.set_xscale("log")
    plot.axes[0].invert_yaxis()
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of the two criteria under each load; the table has every scheme."""
    return [claim for name in WORKLOADS for claim in _judged(rows, name)]


def _late(rows: pl.DataFrame, name: str, scheme: str) -> SeedSummary:
    return tail(rows, name, scheme, SHORT_CLASS)


def _goodput(rows: pl.DataFrame, name: str, scheme: str) -> SeedSummary:
    return over_seeds(flows_of(rows, name, scheme, LARGEST_CLASS), pl.col("mbps").mean(), "Mbps")


def _judged(rows: pl.DataFrame, name: str) -> list[Claim]:
    load = WORKLOADS[name].label
    late = {scheme: _late(rows, name, scheme) for scheme in SCHEMES}
    rate = {scheme: _goodput(rows, name, scheme) for scheme in SCHEMES}
    soonest = min(RIVALS, key=lambda value: late[value].mean)
    fastest = max(RIVALS, key=lambda value: rate[value].mean)
    return [
        Claim(
            f"{load}: slowdown of short flows, 99th percentile",
            "at most the lowest of the rivals",
            listed((SCHEMES[value].label, late[value]) for value in (WARP, TURNS, soonest)),
            late[WARP].mean <= late[soonest].mean,
            "flows up to 100 KB; FCT over that on the idle fabric, mean over the seeds; the last one is the best rival",
            table=_table(rows, name, {"p99": late, "goodput": rate}),
        ),
        Claim(
            f"{load}: goodput of long flows",
            f"at least {NEAR} of the highest of the rivals",
            listed((SCHEMES[value].label, rate[value]) for value in (WARP, TURNS, fastest)),
            rate[WARP].mean >= NEAR * rate[fastest].mean,
            "mean of the flows above 1 MB, mean over the seeds; the last one is the best rival",
        ),
    ]


def _table(rows: pl.DataFrame, name: str, known: dict[str, dict[str, SeedSummary]]) -> Table:
    def line(scheme: str) -> tuple[str, ...]:
        median = tail(rows, name, scheme, SHORT_CLASS, 50)
        here = flows_of(rows, name, scheme)
        timeouts = over_seeds(here, 100 * (pl.col("timeouts") > 0).mean())
        cut = over_seeds(here, pl.col("at_least").count())
        spreads = (median, known["p99"][scheme], known["goodput"][scheme], timeouts, cut)
        return (SCHEMES[scheme].label, *map(str, spreads))

    heads = (
        "slowdown of short flows: median",
        "p99",
        "goodput of long flows",
        "flows with a timeout (%)",
        "unfinished",
    )
    return Table(("scheme", *heads), tuple(map(line, SCHEMES)))
