"""The cost of failing links: a fat-tree and a leaf-spine of 1,024 hosts, by transport and path policy.

Every host sends flows of 1 MB to its partner of a permutation, one after the other. A share of the links between
switches, drawn by the seed, goes down or falls to a tenth of its rate. That happens before the first flow, or while
flows are open. Routing knows failed links at once from the beginning, and after `DETECT_MS` if they fail later; it
never knows slow links.

The following was chosen. Hosts have 1 Gbps; K is 20 packets and queues hold 100 packets. DCTCP is used wherever there
is a single path, over ECMP, sprayed packet by packet, or by flowlets. MMPTCP sprays the first 100 kB of a flow over
one subflow; then eight subflows take over by LIA, as in its paper. The TCP is Linux's, with an RTO of at least 10 ms
and delayed acknowledgements of at most 5 ms, as routes in data centres set them.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.seed_summary import SeedSummary, means_and_ranges, over_seeds, percentile

TOPOLOGIES: dict[str, dict[str, Any]] = {
    "fat-tree": {"kind": "fat-tree", "k": 16, "rate": "1Gbps", "delay": "5us"},
    "leaf-spine": {
        "kind": "leaf-spine",
        "leaves": 32,
        "hosts_per_leaf": 32,
        "spines": 8,
        "rate": "1Gbps",
        "spine_rate": "4Gbps",
        "delay": "5us",
    },
}
SMALL: dict[str, dict[str, Any]] = {
    "fat-tree": {"k": 4},
    "leaf-spine": {"leaves": 4, "hosts_per_leaf": 16, "spines": 4},
}
"""Parameters of the quick version: 16 and 64 hosts."""
LAYERS = {"fat-tree": ("tor-agg", "agg-core"), "leaf-spine": ("leaf-spine",)}
"""Layers of links between switches."""
TCP = {"min_rto": "10ms", "delayed_ack_timeout": "5ms"}
POLICIES: dict[str, dict[str, Any]] = {
    "ecmp": {"cc": "dctcp", "paths": "ecmp"},
    "rps": {"cc": "dctcp", "paths": "rps"},
    "flowlet": {"cc": "dctcp", "paths": "flowlet"},
    "lia": {"cc": "lia", "subflows": 8, "paths": "ecmp"},
    "amp": {"cc": "amp", "subflows": 8, "paths": "ecmp"},
    "mmptcp": {"cc": "lia", "subflows": 9, "paths": "mmptcp"},
}
LABELS = {
    "ecmp": "ECMP",
    "rps": "RPS",
    "flowlet": "flowlets",
    "lia": "LIA x 8",
    "amp": "AMP x 8",
    "mmptcp": "MMPTCP",
}
COLOURS = {
    "ecmp": "#444444",
    "rps": "#d55e00",
    "flowlet": "#e69f00",
    "lia": "#cc79a7",
    "amp": "#0072b2",
    "mmptcp": "#009e73",
}
DOWN, SLOWER = "down", "slow"
KINDS = {DOWN: "down", SLOWER: "at a tenth of their rate"}
PERCENTS = (1, 10)
"""Percentages of the links that fail."""
SLOW = {"fat-tree": "100Mbps", "leaf-spine": "400Mbps"}
"""A tenth of the rate of links between switches."""
WHENS = ("start", "mid-flow")
NONE, CORE = "none", "core"
"""Cases without failed links, and with one core switch of 64 down, in the fat-tree only."""
SIZE = "1MB"
FAILS_MS, DETECT_MS, SETTLED_MS, END_MS = 30, 10, 80, 100
"""Times of the failure, until routing knows it, from which goodput is measured, and of the end, in ms."""
QUICK = "16 and 64 hosts instead of 1,024, 10 % of the links, failing in mid-flow"
KEEPS = 0.9
"""Share of the goodput that the remaining links could carry that counts as kept."""
RTO_MS = 10
"""The minimum RTO."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs with failed links in mid-flow for all seeds.

    For one seed there are also slow links, and both kinds from the beginning.
    """
    seeds = range(1, scale.seeds + 1)
    percents = PERCENTS[-1:] if scale.quick else PERCENTS
    often = [(NONE, 0, "mid-flow"), *((DOWN, percent, "mid-flow") for percent in percents)]
    once = [(kind, percent, when) for kind in KINDS for percent in percents for when in WHENS]
    once = [value for value in once if value not in often]
    if scale.quick:
        often, once = [*often, (SLOWER, percents[0], "mid-flow")], []
    cells = [
        (topology, failure, policy, seed)
        for failures, some in ((often, seeds), (once, seeds[:1]))
        for topology in TOPOLOGIES
        for failure in failures
        for policy in POLICIES
        for seed in some
    ]
    cells += [("fat-tree", (CORE, 0, "mid-flow"), "lia", seed) for seed in seeds]
    return [_case(*cell, quick=scale.quick) for cell in cells]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per flow: its FCT in ms, or a lower bound, and its remaining time after a failure.

    Both are null for flows that ended before the failure. Every row has the goodput of all hosts long after the
    failure.
    """
    end_ms, fails_ms = result.manifest["end_s"] * 1e3, float(FAILS_MS)
    goodput = int(result.flows["measured_bytes"].sum()) * 8e-6 / (END_MS - SETTLED_MS)
    finish = pl.col("finish_s") * 1e3
    met = finish.is_null() | (finish > fails_ms)
    started = pl.col("start_s") * 1e3
    under_way = met & (started <= fails_ms)
    return result.flows.filter(started < end_ms).select(
        goodput_gbps=pl.lit(goodput),
        core_switches=pl.lit(result.links.filter(layer="core-agg")["from"].n_unique()),
        timeouts="timeouts",
        fct_ms=pl.when(met).then(pl.col("fct_s") * 1e3),
        unfinished_ms=pl.when(met).then(pl.col("unfinished_s") * 1e3),
        after_ms=pl.when(under_way).then(finish - fails_ms),
        after_at_least_ms=pl.when(under_way & finish.is_null()).then(end_ms - fails_ms),
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Goodput after links failed in mid-flow, relative to that without failures: mean and range of the seeds."""
    failures = [failure for failure in _failures(rows) if failure[0] != NONE and failure[2] == "mid-flow"]
    plot = Plot(figsize=(5.4 * len(TOPOLOGIES), 3.8), layout="constrained")
    panels = plot.subplots(1, len(TOPOLOGIES), sharey=True)
    width = 0.8 / len(POLICIES)
    for axes, topology in zip(panels, TOPOLOGIES, strict=True):
        for step, policy in enumerate(POLICIES):
            means, reach = means_and_ranges(_kept(rows, topology, failure, policy) for failure in failures)
            centres = [n + (step - (len(POLICIES) - 1) / 2) * width for n in range(len(failures))]
            axes.bar(centres, means, width, yerr=reach, color=COLOURS[policy], label=LABELS[policy])
        axes.set_xticks(range(len(failures)), [f"{percent} % {kind}" for kind, percent, _ in failures])
        axes.set_title(topology)
        axes.grid(visible=True, axis="y", alpha=0.3)
    panels[0].set_ylabel("goodput (part of that without failures)")
    shown = panels[0].get_legend_handles_labels()
    plot.legend(*shown, loc="outside lower center", ncols=len(POLICIES), frameon=False, fontsize="small")
    plot.suptitle("Links that fail in mid-flow: down, or at a tenth of their rate")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims that were expected before any run; the tables have all measurements."""
    keeps = [_keeps(rows, topology) for topology in TOPOLOGIES]
    # Only one seed has slow links.
    slow = [_sprayed(rows)] if SLOWER in rows["kind"] else []
    return [_one_core(rows), *keeps, *slow, _sooner(rows)]


def _case(topology: str, failure: tuple[str, int, str], policy: str, seed: int, *, quick: bool) -> Case:
    kind, percent, when = failure
    experiment = Experiment.model_validate(
        {
            "name": f"{topology}-{kind}-{percent}-{when}-{policy}",
            "duration": f"{END_MS}ms",
            "measure": {"start": f"{SETTLED_MS}ms"},
            "topology": TOPOLOGIES[topology] | (SMALL[topology] if quick else {}),
            "queues": {"limit": "100 packets", "mark": "20 packets"},
            "transports": {policy: {**POLICIES[policy], "tcp": TCP}},
            "traffic": [
                {"kind": "closed-loop", "transport": policy, "pairs": "permutation", "size": SIZE, "jitter": "1ms"}
            ],
            "events": _events(topology, kind, percent, when),
        }
    )
    labels: dict[str, str | int | float] = {"topology": topology, "kind": kind, "percent": percent, "when": when}
    return Case(labels | {"policy": policy}, experiment, seed)


def _events(topology: str, kind: str, percent: int, when: str) -> list[dict[str, Any]]:
    at = {"at": "0s"} if when == "start" else {"at": f"{FAILS_MS}ms"}
    if kind == SLOWER:
        change = at | {"rate": SLOW[topology]}
    else:
        change = at | {"state": "down"} | ({} if when == "start" else {"detection_delay": f"{DETECT_MS}ms"})
    match kind:
        case "none":
            return []
        case "core":
            return [change | {"nodes": ["core0.0"]}]
        case _:
            return [change | {"layer": layer, "fraction": percent / 100} for layer in LAYERS[topology]]


def _failures(rows: pl.DataFrame) -> list[tuple[str, int, str]]:
    """Returns the failures that ran on all topologies; the case without failures is first."""
    found = rows.filter(pl.col("kind") != CORE).select("kind", "percent", "when").unique()
    order = [NONE, *KINDS]
    return sorted(found.rows(), key=lambda row: (order.index(row[0]), row[1], WHENS.index(row[2])))


def _of(rows: pl.DataFrame, topology: str, failure: tuple[str, int, str], policy: str) -> pl.DataFrame:
    kind, percent, when = failure
    return rows.filter(topology=topology, kind=kind, percent=percent, when=when, policy=policy)


def _goodput(rows: pl.DataFrame) -> SeedSummary:
    return over_seeds(rows, pl.col("goodput_gbps").first(), "Gbps")


def _kept(rows: pl.DataFrame, topology: str, failure: tuple[str, int, str], policy: str) -> SeedSummary:
    """Returns the goodput over that of the same seeds without failures."""
    here = _of(rows, topology, failure, policy)
    whole = _of(rows, topology, (NONE, 0, "mid-flow"), policy).filter(
        pl.col("seed").is_in(here["seed"].unique().implode())
    )
    return _goodput(here) / _goodput(whole)


def _recovered(rows: pl.DataFrame) -> SeedSummary:
    """Returns the time after the failure in which 99 % of the flows open at that time ended."""
    return percentile(rows, "after_ms", 99, "ms", at_least="after_at_least_ms")


def _one_core(rows: pl.DataFrame) -> Claim:
    failed = rows.filter(kind=CORE)
    cores = int(failed["core_switches"].max())  # type: ignore[arg-type]
    kept = _kept(rows, "fat-tree", (CORE, 0, "mid-flow"), "lia")
    return Claim(
        f"LIA x 8 keeps its goodput when one of a fat-tree's core switches fails, after {SETTLED_MS - FAILS_MS} ms",
        f"{KEEPS} of the {cores - 1}/{cores} left",
        f"{kept} of that without the failure",
        kept.mean >= KEEPS * (cores - 1) / cores,
        f"goodput of {SETTLED_MS} to {END_MS} ms, the switch fails at {FAILS_MS} ms and routing knows {DETECT_MS} ms "
        f"later; recovered after {_recovered(failed)}",
    )


def _keeps(rows: pl.DataFrame, topology: str) -> Claim:
    failure = (DOWN, PERCENTS[-1], "mid-flow")
    kept = {policy: _kept(rows, topology, failure, policy) for policy in POLICIES}
    return Claim(
        f"{topology}: with {PERCENTS[-1]} % of the links down, multipath keeps the goodput that the others can carry",
        f"{KEEPS} of {1 - PERCENTS[-1] / 100}",
        f"of that without failures {_listed(kept)}",
        all(kept[policy].mean >= KEEPS * (1 - PERCENTS[-1] / 100) for policy in ("lia", "amp")),
        "holds when LIA and AMP do. In the table, of each way of sending: goodput, the 99th percentile of the FCT of "
        f"flows of {SIZE} that met the failure, and the time after it (without one: after {FAILS_MS} ms) until 99 % "
        "of the flows then under way had ended",
        table=_table(rows, topology),
    )


def _table(rows: pl.DataFrame, topology: str) -> Table:
    def cell(failure: tuple[str, int, str], policy: str) -> str:
        some = _of(rows, topology, failure, policy)
        fct = percentile(some, "fct_ms", 99, "ms", at_least="unfinished_ms")
        return f"{_goodput(some)}; {fct}; {_recovered(some)}"

    def name(kind: str, percent: int, when: str) -> str:
        return "nothing" if kind == NONE else f"{percent} % {KINDS[kind]}, {when}"

    lines = ((name(*failure), *(cell(failure, policy) for policy in POLICIES)) for failure in _failures(rows))
    return Table(("links that fail", *LABELS.values()), tuple(lines))


def _sprayed(rows: pl.DataFrame) -> Claim:
    failure = (SLOWER, PERCENTS[-1], "mid-flow")
    kept = {
        topology: {policy: _kept(rows, topology, failure, policy) for policy in POLICIES} for topology in TOPOLOGIES
    }
    return Claim(
        f"Packet spraying suffers most when {PERCENTS[-1]} % of the links have a tenth of their rate",
        "the lowest part kept",
        "; ".join(f"{topology} {_listed(spreads)}" for topology, spreads in kept.items()),
        all(min(spreads, key=lambda policy: spreads[policy].mean) == "rps" for spreads in kept.values()),
        "of goodput without failures; holds when RPS keeps the smallest part on both topologies",
    )


def _sooner(rows: pl.DataFrame) -> Claim:
    failure = (DOWN, PERCENTS[-1], "mid-flow")
    after = {
        topology: {policy: _recovered(_of(rows, topology, failure, policy)) for policy in POLICIES}
        for topology in TOPOLOGIES
    }
    return Claim(
        f"With {PERCENTS[-1]} % of the links down, multipath recovers sooner than a single path by ECMP",
        "sooner",
        "; ".join(f"{topology} {_listed(spreads)}" for topology, spreads in after.items()),
        all(
            spreads[policy].mean < spreads["ecmp"].mean and not spreads[policy].at_least
            for spreads in after.values()
            for policy in ("lia", "amp")
        ),
        f"from the failure until 99 % of the flows then under way have ended; routing knows after {DETECT_MS} ms, and "
        f"an RTO is at least {RTO_MS} ms; holds when LIA and AMP do on both topologies, "
        "and is unknown, so does not, where the run ended before",
    )


def _listed(spreads: dict[str, SeedSummary]) -> str:
    return ", ".join(f"{LABELS[policy]} {spread}" for policy, spread in spreads.items())
