"""Priorities for short flows that compete with long flows, multipath or not.

The fabric is a leaf-spine of 10 Gbps. One long flow per host follows a permutation; short flows of 4 to 64 KB open as
Poisson processes at a tenth of the hosts' rate. Short flows use DCTCP over a single path and class 0, long flows class
1. The loads, K = 20 packets and limits of 100 packets per class were chosen.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.seed_summary import SeedSummary, over_seeds

FABRIC: dict[str, Any] = {
    "kind": "leaf-spine",
    "leaves": 4,
    "hosts_per_leaf": 8,
    "spines": 4,
    "rate": "10Gbps",
    "spine_rate": "20Gbps",
    "delay": "2us",
}
SMALL: dict[str, Any] = {"leaves": 2, "hosts_per_leaf": 4}
LONG: dict[str, dict[str, Any]] = {
    "dctcp": {"cc": "dctcp", "paths": "ecmp"},
    "amp": {"cc": "amp", "subflows": 4, "paths": "ecmp"},
    "xmp": {"cc": "xmp", "subflows": 4, "paths": "ecmp"},
    "warp": {"cc": "warp", "subflows": 4, "paths": "ecmp"},
    "lia": {"cc": "lia", "subflows": 4, "paths": "ecmp"},
}
"""Transports of the long flows; LIA does not respond to marks."""
LABELS = {"dctcp": "DCTCP", "amp": "AMP x 4", "xmp": "XMP x 4", "warp": "Warp x 4", "lia": "LIA x 4"}
FIFO, STRICT, EQUAL = "fifo", "strict", "equal"
QUEUES: dict[str, Any] = {
    FIFO: "fifo",
    STRICT: {"name": "priority", "classes": [{}, {}]},
    EQUAL: {"name": "priority", "classes": [{"weight": 1}, {"weight": 1}]},
}
TITLES = {FIFO: "FIFO", STRICT: "strict priority", EQUAL: "equal weights"}
COLOURS = {FIFO: "#444444", STRICT: "#0072b2", EQUAL: "#e69f00"}
END_MS, QUICK_END_MS, START_MS = 60, 30, 10
QUICK = "8 hosts instead of 32, 30 ms instead of 60 ms"
HALF, KEPT, ALIKE = 0.5, 0.95, 1.25


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each transport of long flows and each kind of queue."""
    return [
        _case(long, queue, seed, quick=scale.quick)
        for long in LONG
        for queue in QUEUES
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: FCT of short flows in us, per cent of them with a timeout, goodput of long flows in Gbps."""
    start, end = result.manifest["measured_s"]
    short = result.flows.filter(pl.col("traffic") == "short", pl.col("start_s") >= start)
    ended = short.drop_nulls("fct_s")["fct_s"] * 1e6
    long = result.flows.filter(traffic="long")["measured_bytes"].sum()
    return pl.DataFrame(
        {
            "short_mean_us": [ended.mean()],
            "short_p99_us": [ended.quantile(0.99, interpolation="linear")],
            "short_flows": [len(ended)],
            "late": [100 * (short["timeouts"] + short["syn_timeouts"] > 0).mean()],  # type: ignore[operator]
            "long_gbps": [8e-9 * int(long) / (end - start)],
        }
    )


def plot(rows: pl.DataFrame) -> Plot:
    """99th percentile of the FCT of short flows and goodput of long flows, by transport of the long flows."""
    plot = Plot(figsize=(9, 3.6), layout="constrained")
    panels = plot.subplots(1, 2)
    width = 0.8 / len(QUEUES)
    for axes, column, label in zip(
        panels,
        ("short_p99_us", "long_gbps"),
        ("99th percentile of the FCT of short flows (us)", "goodput of long flows (Gbps)"),
        strict=True,
    ):
        for step, queue in enumerate(QUEUES):
            means = [summary.mean for summary in _of(rows, queue, column, "").values()]
            centres = [n + (step - (len(QUEUES) - 1) / 2) * width for n in range(len(LONG))]
            axes.bar(centres, means, width, color=COLOURS[queue], label=TITLES[queue])
        axes.set_xticks(range(len(LONG)), list(LABELS.values()), fontsize="small")
        axes.set_ylabel(label)
        axes.grid(visible=True, axis="y", alpha=0.3)
    panels[0].legend(frameon=False, fontsize="small")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims that were expected before any run."""
    p99 = {queue: _of(rows, queue, "short_p99_us", "us") for queue in QUEUES}
    goodput = {queue: _of(rows, queue, "long_gbps", "Gbps") for queue in QUEUES}
    faster = {long: p99[STRICT][long] / p99[FIFO][long] for long in LONG}
    kept = {long: goodput[STRICT][long] / goodput[FIFO][long] for long in LONG}
    weighted = {long: p99[EQUAL][long] / p99[STRICT][long] for long in LONG}
    means = [p99[STRICT][long].mean for long in LONG]
    spread = max(means) / min(means)
    without = [p99[FIFO][long].mean for long in LONG]
    return [
        Claim(
            "Strict priority: the 99th percentile of the FCT of short flows is at most half of that with FIFOs",
            f"at most {HALF}",
            _listed(faster),
            all(ratio.mean <= HALF for ratio in faster.values()),
            "holds if it does for every kind of long flows",
            table=_table(rows),
        ),
        Claim(
            "Strict priority: long flows keep their goodput",
            f"at least {KEPT} of that with FIFOs",
            _listed(kept),
            all(ratio.mean >= KEPT for ratio in kept.values()),
            "holds if it does for every kind of long flows",
        ),
        Claim(
            "Strict priority: the tail of short flows does not depend on the congestion control of long flows",
            f"at most {ALIKE} times",
            f"{digits(spread)} times",
            spread <= ALIKE,
            "largest over smallest 99th percentile of the FCT of short flows, over the kinds of long flows. With FIFOs "
            f"it is {digits(max(without) / min(without))} times",
        ),
        Claim(
            "Equal weights are as good for the tail of short flows as strict priority",
            f"at most {ALIKE} times",
            _listed(weighted),
            all(ratio.mean <= ALIKE for ratio in weighted.values()),
            "99th percentile of the FCT over that with strict priority; short flows need a tenth of the rate, and have "
            "half of it",
        ),
    ]


def _case(long: str, queue: str, seed: int, *, quick: bool) -> Case:
    end_ms = QUICK_END_MS if quick else END_MS
    classes = {"short": {"class": 0}, "long": {"class": 1}} if queue != FIFO else {"short": {}, "long": {}}
    experiment = Experiment.model_validate(
        {
            "name": f"{long}-{queue}",
            "duration": f"{end_ms}ms",
            "measure": {"start": f"{START_MS}ms"},
            "topology": FABRIC | (SMALL if quick else {}),
            "queues": {"limit": "100 packets", "mark": "20 packets", "kind": QUEUES[queue]},
            "transports": {
                "short": {"cc": "dctcp", "paths": "ecmp", **classes["short"]},
                "long": LONG[long] | classes["long"],
            },
            "traffic": [
                {"kind": "bulk", "name": "long", "transport": "long", "pairs": "permutation"},
                {
                    "kind": "poisson",
                    "name": "short",
                    "transport": "short",
                    "pairs": "random",
                    "load": 0.1,
                    "size": {"kind": "uniform", "min": "4KB", "max": "64KB"},
                },
            ],
        }
    )
    return Case({"long": long, "queue": queue}, experiment, seed)


def _of(rows: pl.DataFrame, queue: str, column: str, unit: str) -> dict[str, SeedSummary]:
    return {long: over_seeds(rows.filter(queue=queue, long=long), pl.col(column).first(), unit) for long in LONG}


def _listed(ratios: dict[str, SeedSummary]) -> str:
    return ", ".join(f"{LABELS[long]} {ratio}" for long, ratio in ratios.items())


def _table(rows: pl.DataFrame) -> Table:
    columns = {"short_mean_us": "us", "short_p99_us": "us", "late": "%", "long_gbps": "Gbps"}
    lines = []
    for long in LONG:
        for queue in QUEUES:
            here = rows.filter(long=long, queue=queue)
            cells = (str(over_seeds(here, pl.col(column).first(), unit)) for column, unit in columns.items())
            lines.append((LABELS[long], TITLES[queue], *cells))
    heads = ("mean FCT", "99th percentile", "short flows with a timeout", "goodput of long flows")
    return Table(("long flows", "queues", *heads), tuple(lines))
