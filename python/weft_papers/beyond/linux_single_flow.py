"""One Reno or CUBIC flow alone on a drop-tail bottleneck, on this machine's kernel and at the packet level.

Both algorithms are the kernel's own; no program of Weft runs there. So differences come from the packet level's
transport and network. Slow start is left out, because its overshoot would be most of the loss.
"""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale
from weft_papers.seed_summary import SeedSummary, over_seeds

JITTERED = "packet-jitter"
LEVELS = {"linux": "Linux", "packet": "packet level", JITTERED: "packet level, jitter of 60 us"}
JITTER = "60us"
"""Approximate variation of the time that the testbed's processors take for a packet. Chosen after runs had been seen.
"""
ALGORITHMS = {"reno": "Reno", "cubic": "CUBIC"}
RATES_MBPS = (50, 200)
LIMITS = (20, 100)
"""Packets that the queue holds."""
SECONDS, QUICK_SECONDS = 12, 4
FROM_S, QUICK_FROM_S = 2, 1
"""Time at which the measured part begins."""
QUICK = f"{QUICK_SECONDS} s instead of {SECONDS} s, {RATES_MBPS[0]} Mbit/s and {LIMITS[0]} packets only"
ALIKE = 0.1
"""Relative distance up to which goodputs, and shares of lost packets, count as equal."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each algorithm, rate and limit at both levels."""
    cells = [(rate, limit) for rate in RATES_MBPS for limit in LIMITS]
    return [
        _case(level, algorithm, rate, limit, seed, scale)
        for level in LEVELS
        for algorithm in ALGORITHMS
        for rate, limit in (cells[:1] if scale.quick else cells)
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: goodput in Mbit/s, percent of the packets at the bottleneck that were dropped, and timeouts."""
    bottleneck = result.links.filter(pl.col("from") == "s0", pl.col("to") == "r0").row(0, named=True)
    flow = result.flows.row(0, named=True)
    return pl.DataFrame(
        {
            "goodput_mbps": flow["goodput_bps"] * 1e-6,
            "loss_percent": 100 * bottleneck["drops"] / (bottleneck["packets"] + bottleneck["drops"]),
            "timeouts": flow["timeouts"],
        }
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Goodput and loss of each algorithm by rate and limit, on Linux and at the packet level."""
    plot = Plot(figsize=(10, 3.8), layout="constrained")
    panels = plot.subplots(1, 2)
    shown = (("goodput_mbps", "goodput (Mbit/s)"), ("loss_percent", "packets lost (%)"))
    for axes, (column, label) in zip(panels, shown, strict=True):
        for index, (level, colour) in enumerate(zip(LEVELS, ("#0072b2", "#56b4e9", "#bbbbbb"), strict=True)):
            means = _cells(rows.filter(level=level), pl.col(column).first())
            at = [x + 0.27 * index for x in range(len(means))]
            axes.bar(at, [spread.mean for spread in means.values()], 0.25, label=LEVELS[level], color=colour)
            for x, spread in zip(at, means.values(), strict=True):
                axes.vlines(x, min(spread.values), max(spread.values), color="#222222", linewidth=1)
        axes.set_xticks([x + 0.27 for x in range(len(means))], [name.replace(", ", "\n") for name in means], fontsize=7)
        axes.set_ylabel(label)
    panels[0].legend(frameon=False)
    plot.suptitle("One flow behind a drop-tail queue")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims that compare the packet level with a kernel."""
    return [
        _agrees(rows, "goodput", pl.col("goodput_mbps").first()),
        _agrees(rows, "loss", pl.col("loss_percent").first()),
        _agrees(rows, "loss", pl.col("loss_percent").first(), JITTERED),
    ]


def _case(level: str, algorithm: str, rate: int, limit: int, seed: int, scale: Scale) -> Case:
    spec = Experiment.model_validate(
        {
            "name": f"{algorithm}-alone",
            "level": "linux" if level == "linux" else "packet",
            "duration": f"{QUICK_SECONDS if scale.quick else SECONDS}s",
            "measure": {"start": f"{QUICK_FROM_S if scale.quick else FROM_S}s"},
            "topology": {
                "kind": "many-to-one",
                "senders": 1,
                "rate": f"{rate}Mbps",
                "sender_rate": f"{2 * rate}Mbps",
                "delay": "20us",
            },
            "queues": {"limit": f"{limit} packets", "mark": "off"},
            # The testbed's hosts send through ports like those of its switches.
            "hosts": {"qdisc": "switch"} | ({"jitter": JITTER} if level == JITTERED else {}),
            "transports": {algorithm: {"profile": "linux", "cc": algorithm}},
            "traffic": [{"kind": "bulk", "transport": algorithm, "from": "h0", "to": "r0"}],
        }
    )
    return Case({"level": level, "algorithm": algorithm, "rate_mbps": rate, "limit": limit}, spec, seed)


def _cells(rows: pl.DataFrame, value: pl.Expr) -> dict[str, SeedSummary]:
    """Formats a value by algorithm, rate and limit."""
    return {
        f"{ALGORITHMS[str(name)]}, {rate} Mbit/s, {limit} packets": over_seeds(cell, value)
        for (name, rate, limit), cell in rows.group_by("algorithm", "rate_mbps", "limit", maintain_order=True)
    }


def _agrees(rows: pl.DataFrame, what: str, value: pl.Expr, level: str = "packet") -> Claim:
    linux, packet = (_cells(rows.filter(level=item), value) for item in ("linux", level))
    # Runs of the two levels share no random draws, so a ratio seed by seed would say nothing.
    ratios = {cell: linux[cell].mean / packet[cell].mean if packet[cell].mean else float("inf") for cell in linux}
    shown = "; ".join(f"{cell}: {linux[cell]} over {packet[cell]}" for cell in linux)
    return Claim(
        f"One flow by Reno and by CUBIC: {what} at the {LEVELS[level]} is the kernel's",
        "the same",
        "; ".join(f"{cell} {ratio:.3g}" for cell, ratio in ratios.items()),
        all(abs(ratio - 1) <= ALIKE for ratio in ratios.values()),
        f"mean {what} of the seeds on Linux over that at the packet level; holds within {ALIKE:.0%} of 1 in each cell. "
        f"{shown} {'Mbit/s' if what == 'goodput' else '%'}",
    )
