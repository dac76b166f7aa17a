"""Every scheme of the papers on one fabric, under one set of loads.

The fabric is a leaf-spine of 320 hosts, 2:1: 8 racks of 40 hosts, 20 spines, links of 1 Gbps. Web search flows open
as Poisson processes at 30, 50 and 70 % of the capacity of the links to the spines. Two loads at 50 % have in addition
an incast of 8 to 64 hosts, or 8 of the 20 spines at a tenth of their rate. Flows without an end follow a permutation.
Either all of them use one scheme, or every other one uses a single path over ECMP, with DCTCP or with Reno without
marks.

The following was chosen. K is 20 packets and queues hold 100 packets, for all schemes. TCP and the packet scheduler
are Linux's, with an RTO of at least 10 ms and delayed acknowledgements of at most 5 ms, as routes in data centres set
them. All multipath schemes have 8 subflows by hash. OPN has its own rule, one subflow per spine at first, and LIA, as
does MMPTCP. A path of OPN's is slow after a delta of 200 us, or of two smoothed RTTs: its paper has both. All other
settings are each scheme's defaults. The default window of AMP-FG goes down to one packet, which then waits for a
delayed acknowledgement; `cwnd_min = 2` would avoid that.
"""

from __future__ import annotations

import random
import textwrap
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.seed_summary import SeedSummary, over_seeds, percentile

LEAVES, HOSTS_PER_LEAF, SPINES = 8, 40, 20
QUICK_LEAVES = 2
FABRIC: dict[str, Any] = {"kind": "leaf-spine", "spines": SPINES, "rate": "1Gbps", "delay": "5us"}
TCP = {"min_rto": "10ms", "delayed_ack_timeout": "5ms"}
SUBFLOWS = 8


@dataclass(frozen=True)
class Scheme:
    """A transport with its label."""

    label: str
    transport: dict[str, Any]


def multipath(
    label: str, cc: str | dict[str, Any], paths: str | dict[str, Any] = "ecmp", subflows: int = SUBFLOWS
) -> Scheme:
    """Returns a scheme with several subflows."""
    return Scheme(label, {"cc": cc, "paths": paths, "subflows": subflows})


SCHEMES = {
    "ecmp": Scheme("DCTCP, ECMP", {"cc": "dctcp", "paths": "ecmp"}),
    "rps": Scheme("DCTCP, RPS", {"cc": "dctcp", "paths": "rps"}),
    "lia": multipath("LIA", "lia"),
    "olia": multipath("OLIA", "olia"),
    "balia": multipath("BALIA", "balia"),
    "xmp": multipath("XMP", "xmp"),
    "dcm": multipath("DCM", "dcm"),
    "amp": multipath("AMP", "amp"),
    "amp-fg": multipath("AMP-FG", "amp-fg"),
    "mmptcp": multipath("MMPTCP", "lia", "mmptcp"),
    "opn": multipath("OPN, 200 us", "lia", "opn", SPINES),
    "opn-rtts": multipath("OPN, 2 RTTs", "lia", {"name": "opn", "delta_rtts": 2}, SPINES),
}
SINGLE = {"dctcp": "DCTCP", "reno": "Reno"}
"""Congestion controls of the single paths that compete with a scheme."""


@dataclass(frozen=True)
class Load:
    """The traffic of all hosts."""

    label: str
    percent: int = 0
    """Load in percent of the capacity of the links to the spines; 0 is a permutation of flows without an end."""
    sizes: str = "web-search"
    incast: int = 0
    """Number of senders of the additional incast."""
    events: list[dict[str, Any]] = field(default_factory=list)
    beside: str = ""
    """Congestion control of the single path that every other flow of the permutation uses; empty if none does."""


SLOW, MBPS = 8, 100
LOADS = {
    **{f"web-{percent}": Load(f"web search, {percent} %", percent) for percent in (30, 50, 70)},
    **{f"incast-{n}": Load(f"incast of {n} on web search, 50 %", 50, incast=n) for n in (8, 16, 32, 64)},
    "slow": Load(
        f"web search, 50 %, {SLOW} of {SPINES} spines at {MBPS} Mbps",
        50,
        events=[{"at": "0s", "rate": f"{MBPS}Mbps", "nodes": [f"spine{n}" for n in range(SLOW)]}],
    ),
    "permutation": Load("permutation"),
    **{f"beside-{cc}": Load(f"permutation, half of it {name}", beside=cc) for cc, name in SINGLE.items()},
}
OPENS_MS, QUICK_OPENS_MS = 400, 20
"""Time in which flows open."""
WEB_MS = 4000
"""End of the runs with web search: a lost SYN takes a second, and a large flow over a slow spine as long."""
INCAST_EVERY_MS, INCAST_AT_MS, INCAST_KB = 50, 5, 64
SETTLED_MS, LONG_MS = 50, 200
QUICK_SETTLED_MS, QUICK_LONG_MS = 20, 40
"""Times between which flows without an end are measured."""
QUICK = (
    f"{QUICK_LEAVES} racks instead of {LEAVES}, flows open for {QUICK_OPENS_MS} ms instead of {OPENS_MS} ms, and flows "
    f"without an end are measured for {QUICK_LONG_MS - QUICK_SETTLED_MS} ms instead of {LONG_MS - SETTLED_MS} ms"
)
OURS, THEIRS, BURST = "ours", "single", "incast"
"""Names of the traffic entries."""
CLASSES = {"up to 100 KB": (0, 100_000), "to 1 MB": (100_000, 1_000_000), "above": (1_000_000, 10**12)}
"""Ranges of web search flow sizes, including the upper end."""
SHORT_CLASS, LARGEST_CLASS = next(iter(CLASSES)), list(CLASSES)[-1]


def cases(scale: Scale) -> list[Case]:
    """Returns runs of every scheme under every load."""
    return [
        case(name, load, scheme, SCHEMES[scheme], seed, quick=scale.quick)
        for name, load in LOADS.items()
        for scheme in SCHEMES
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per flow.

    Its columns are entry, size, slowdown, goodput in Mbps, timeouts, and packets sent and retransmitted. If the end
    of the run cut a flow off, its slowdown is null, and its lower bound is in a column of its own.
    """
    return result.flows.select(
        "slowdown",
        entry="traffic",
        bytes="size_bytes",
        at_least="slowdown_at_least",
        mbps=pl.col("goodput_bps") * 1e-6,
        timeouts=pl.col("timeouts") + pl.col("syn_timeouts"),
        sent="packets_sent",
        again=pl.col("retransmitted") + pl.col("reinjected"),
    )


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the measurements and the best schemes, without verdicts."""
    found = [(load, what, _best(rows, name, load, what)) for name, load in LOADS.items() for what in _asked(load)]
    return [
        Claim(
            "Which scheme is best under which load",
            "no paper compares all",
            "; ".join(f"{load.label}: {what} {best}" for load, what, best in found),
            None,
            "slowdown: FCT over that on the idle fabric; short flows have up to 100 KB, long ones more than 1 MB. "
            "Of permutations the mean goodput of a flow, and where half of the flows are single paths how near the "
            "mean goodput of the scheme's is to theirs. In the table, slowdowns are medians and 99th percentiles, and "
            f"the goodput of web search is that of flows above 1 MB. All flows of an incast have {INCAST_KB} KB. "
            "Packets sent again are retransmissions, and data that Linux's scheduler gave to an idle subflow as well",
            table=_table(rows),
        )
    ]


def plot(rows: pl.DataFrame) -> Plot:
    """Every scheme under every load: p99 of short flows' slowdown, mean goodput of long ones; the best is dark."""
    plot = Plot(figsize=(12, 8.4), layout="constrained")
    above, below = plot.subplots(2, 1)
    web = [name for name, load in LOADS.items() if load.percent]
    tails = {(name, scheme): tail(rows, name, scheme, _shown(LOADS[name])).mean for name in web for scheme in SCHEMES}
    _heat(
        above, "99th percentile of the slowdown of flows up to 100 KB; of an incast, of its flows", web, tails, low=True
    )
    rates = {(name, scheme): _goodput(rows, name, scheme).mean for name in LOADS for scheme in SCHEMES}
    _heat(below, "mean goodput of a flow above 1 MB, or without an end (Mbps)", list(LOADS), rates, low=False)
    return plot


def case(name: str, load: Load, label: str, scheme: Scheme, seed: int, *, quick: bool) -> Case:
    """Returns a scheme, which rows call `label`, under a load of that name."""
    leaves = QUICK_LEAVES if quick else LEAVES
    opens = QUICK_OPENS_MS if quick else OPENS_MS
    settled, end = (QUICK_SETTLED_MS, QUICK_LONG_MS) if quick else (SETTLED_MS, LONG_MS)
    transports = {OURS: scheme.transport}
    if load.beside:
        transports[THEIRS] = {"cc": load.beside, "paths": "ecmp"}
    spec: dict[str, Any] = {
        "name": f"{name}-{label}",
        "duration": f"{WEB_MS if load.percent else end}ms",
        "topology": FABRIC | {"leaves": leaves, "hosts_per_leaf": HOSTS_PER_LEAF},
        "queues": {"limit": "100 packets", "mark": "20 packets"},
        "transports": {value: {**transport, "tcp": TCP} for value, transport in transports.items()},
        "traffic": _opening(load, leaves, opens) if load.percent else _permutation(load, leaves, seed),
        "events": load.events,
    }
    if not load.percent:
        spec["measure"] = {"start": f"{settled}ms"}
    return Case({"load": name, "scheme": label}, Experiment.model_validate(spec), seed)


def _opening(load: Load, leaves: int, opens: float) -> list[dict[str, Any]]:
    hosts = leaves * HOSTS_PER_LEAF
    # This share of the flows to random hosts leaves its rack.
    leave = (hosts - HOSTS_PER_LEAF) / (hosts - 1)
    of_own_link = load.percent / 100 * SPINES / HOSTS_PER_LEAF / leave
    web: dict[str, Any] = {
        "kind": "poisson",
        "name": OURS,
        "transport": OURS,
        "pairs": "random",
        "load": of_own_link,
        "stop": f"{opens}ms",
        "size": {"kind": "empirical", "cdf": load.sizes},
    }
    if not load.incast:
        return [web]
    burst = {
        "kind": "incast",
        "name": BURST,
        "transport": OURS,
        "flows": load.incast,
        "size": f"{INCAST_KB}KB",
        "start": f"{INCAST_AT_MS}ms",
        "interval": f"{INCAST_EVERY_MS}ms",
        "rounds": max(1, opens // INCAST_EVERY_MS),
    }
    return [web, burst]


def _permutation(load: Load, leaves: int, seed: int) -> list[dict[str, Any]]:
    """Returns flows from every host to the next one of a circle drawn by the seed; two entries take turns in it."""
    hosts = list(range(leaves * HOSTS_PER_LEAF))
    random.Random(seed).shuffle(hosts)  # noqa: S311 - not a secret
    pairs = [[f"h{a}", f"h{b}"] for a, b in zip(hosts, [*hosts[1:], hosts[0]], strict=True)]
    entries = [(OURS, pairs[::2]), (THEIRS, pairs[1::2])] if load.beside else [(OURS, pairs)]
    return [
        {"kind": "bulk", "name": entry, "transport": entry, "pairs": some, "jitter": "1ms"} for entry, some in entries
    ]


def _asked(load: Load) -> list[str]:
    """Returns the measures by which the best scheme under a load is chosen."""
    if load.beside:
        return ["fairest"]
    return (
        ["p99 of its flows", "long flows"]
        if load.incast
        else ["short flows", "long flows"]
        if load.percent
        else ["all"]
    )


def _best(rows: pl.DataFrame, name: str, load: Load, what: str) -> str:
    if what == "fairest":
        ratios = {scheme: _fairness(rows, name, scheme) for scheme in SCHEMES}
        best = min(ratios, key=lambda value: abs(ratios[value].mean - 1))
        return f"{SCHEMES[best].label}, {ratios[best]} of a single path's goodput"
    if what in ("long flows", "all"):
        rates = {scheme: _goodput(rows, name, scheme) for scheme in SCHEMES}
        best = max(rates, key=lambda value: rates[value].mean)
        return f"{SCHEMES[best].label}, {rates[best]}"
    tails = {scheme: tail(rows, name, scheme, _shown(load)) for scheme in SCHEMES}
    best = min(tails, key=lambda value: tails[value].mean)
    return f"{SCHEMES[best].label}, slowdown {tails[best]}"


def _shown(load: Load) -> str:
    return BURST if load.incast else SHORT_CLASS


def flows_of(rows: pl.DataFrame, name: str, scheme: str, which: str = OURS) -> pl.DataFrame:
    """Returns the flows of an entry, or of a class of sizes."""
    here = rows.filter(load=name, scheme=scheme, entry=OURS if which in CLASSES else which)
    if which not in CLASSES:
        return here
    above, most = CLASSES[which]
    return here.filter((pl.col("bytes") > above) & (pl.col("bytes") <= most))


def tail(rows: pl.DataFrame, name: str, scheme: str, which: str, percent: float = 99) -> SeedSummary:
    """Returns a percentile of the slowdown of an entry, or of a class of sizes."""
    return percentile(flows_of(rows, name, scheme, which), "slowdown", percent, at_least="at_least")


def _goodput(rows: pl.DataFrame, name: str, scheme: str) -> SeedSummary:
    """Returns the mean goodput of a flow; for web search, of the largest flows."""
    which = LARGEST_CLASS if LOADS[name].percent else OURS
    return over_seeds(flows_of(rows, name, scheme, which), pl.col("mbps").mean(), "Mbps")


def _fairness(rows: pl.DataFrame, name: str, scheme: str) -> SeedSummary:
    """Returns the mean goodput of a flow of the scheme over that of a single path's."""
    ours, theirs = (over_seeds(flows_of(rows, name, scheme, value), pl.col("mbps").mean()) for value in (OURS, THEIRS))
    return ours / theirs


def _table(rows: pl.DataFrame) -> Table:
    lines = []
    for name, load in LOADS.items():
        for scheme in SCHEMES:
            entries = [OURS, BURST] if load.incast else [OURS]
            lines += [_line(rows, name, load, scheme, entry) for entry in entries]
    slowdowns = (f"slowdown {which}" for which in CLASSES)
    heads = (*slowdowns, "goodput", "of a single path's", "flows with a timeout", "sent again", "unfinished")
    return Table(("load", "scheme", *heads), tuple(lines))


def _line(rows: pl.DataFrame, name: str, load: Load, scheme: str, entry: str) -> tuple[str, ...]:
    here = flows_of(rows, name, scheme, entry)
    late = over_seeds(here, 100 * (pl.col("timeouts") > 0).mean(), "%")
    again = over_seeds(here, 100 * pl.col("again").sum() / pl.col("sent").sum(), "%")
    cut = over_seeds(here, pl.col("at_least").count())

    def slowdown(which: str) -> str:
        if flows_of(rows, name, scheme, which)["seed"].n_unique() < rows["seed"].n_unique():
            return ""
        return "; ".join(str(tail(rows, name, scheme, which, percent)) for percent in (50, 99))

    if entry == BURST:
        cells = (slowdown(BURST), "", "", "", "")
        return (f"{load.label}: the incast", SCHEMES[scheme].label, *cells, str(late), str(again), str(cut))
    slowdowns = tuple(slowdown(which) if load.percent else "" for which in CLASSES)
    fairness = str(_fairness(rows, name, scheme)) if load.beside else ""
    goodput = str(_goodput(rows, name, scheme))
    return (load.label, SCHEMES[scheme].label, *slowdowns, goodput, fairness, str(late), str(again), str(cut))


def _heat(axes: Axes, title: str, loads: list[str], values: dict[tuple[str, str], float], *, low: bool) -> None:
    """Draws a cell for each scheme and load; its shade is its rank under that load."""
    columns = [[values[name, scheme] for scheme in SCHEMES] for name in loads]
    ranks = [[sorted(column, reverse=low).index(value) for value in column] for column in columns]
    axes.imshow(list(zip(*ranks, strict=True)), cmap="Blues", aspect="auto", vmin=0, vmax=1.6 * len(SCHEMES))
    for x, column in enumerate(columns):
        for y, value in enumerate(column):
            axes.text(x, y, digits(value), ha="center", va="center", fontsize="small")
    labels = [textwrap.fill(LOADS[name].label, 16) for name in loads]
    axes.set_xticks(range(len(loads)), labels, fontsize="x-small")
    axes.set_yticks(range(len(SCHEMES)), [scheme.label for scheme in SCHEMES.values()], fontsize="small")
    axes.set_title(title, fontsize="medium")
