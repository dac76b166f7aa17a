"""Figure 14 (section 5.3): the data mining workload; DCTCP carries flows below 100 KB, each algorithm the rest.

The paper gives the sizes and "an average inter-flow arrival time in each server" of "about 780us". The rest is in the
source of the authors' simulator (`scratch/FatTree.cc`, `PreComputePFlows`), and is followed here:

- Each server has one clock. The times between two of its flows are exponential.
- There is one flow for each ordered pair of servers, 127 from each server. The destinations of a server come in the
  order of their numbers, which is the same for all servers. So many servers send to one at about the same time.
- Sizes are in packets of 1,400 bytes, whole, and linear between the points of the distribution.
- The simulation lasts until all flows have ended, so that no length has to be chosen.

That source prints a mean time between flows of 779.8 ms at a load of 1 and 10 Gbps, because it divides the rate by
the number of destinations. The paper has 780 us, and "an intensive condition"; these are run. The source also cuts
the times between flows to whole milliseconds. One seed shows the effect.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result
from weft.sweeps.cases import Case
from weft_papers.amp.fat_tree import DELAY_US, PORTS, fat_tree, plot_cdf
from weft_papers.amp.settings import BY_SENDER, PAPER_FCT_MS, SHOWN, TOLERANCE, transport, unfinished_ms
from weft_papers.figure import Claim, Scale
from weft_papers.seed_summary import SeedSummary, listed, over_seeds, percentile

ALGORITHMS = ("amp", "xmp", "dcm", "dctcp")
MULTIPATH = ("amp", "xmp", "dcm")
OTHERS = ("xmp", "dcm")
WITHOUT = "amp-without-suppression"
"""A variant that is not in the paper; it shows which part of the difference is suppression."""
INTERVAL_MS = 0.78
PACKET_BYTES = 1400
SIZES = ((0.0, 1), (0.5, 1), (0.6, 2), (0.7, 3), (0.8, 7), (0.9, 267), (0.95, 2107), (0.99, 66667), (1.0, 666667))
"""Cumulative probabilities and sizes in packets."""
SHORT_BYTES = 100 * 1024
STARTS = ("any", "whole ms")
"""Rounding of the times between flows: none, or cut to whole milliseconds."""
QUICK_PORTS = 4
QUICK = f"a fat-tree of {QUICK_PORTS**3 // 4} hosts instead of {PORTS**3 // 4}"
AT_MOST_S = 60
"""Limit of simulated time; the last flow ends before it."""
PAPER_MS = {90: {"amp": 0.18, "xmp": 0.27, "dcm": 0.28}, 99: {"amp": 0.78, "xmp": 1.35, "dcm": 1.41}}
"""FCT of the short flows in ms, by percentile."""
ALIKE = 1.25
"""Ratio up to which goodputs count as almost identical."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each algorithm for the long flows; at full size one seed with times in whole milliseconds."""
    ports = QUICK_PORTS if scale.quick else PORTS
    runs = [
        _case(name, STARTS[0], ports, seed) for name in (*ALGORITHMS, WITHOUT) for seed in range(1, scale.seeds + 1)
    ]
    return runs if scale.quick else [*runs, *(_case(name, STARTS[1], ports, 1) for name in MULTIPATH)]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per flow: its class, FCT in ms, goodput in Gbps and timeouts.

    A flow that did not end has a null FCT, and `unfinished_ms` is the time that it had taken.
    """
    return result.flows.select(
        pl.when(pl.col("transport") == "dctcp").then(pl.lit("short")).otherwise(pl.lit("long")).alias("class"),
        fct_ms=PAPER_FCT_MS,
        unfinished_ms=unfinished_ms(result.manifest["end_s"]),
        goodput_gbps=pl.col("goodput_bps") * 1e-9,
        timeouts=pl.col("timeouts") + pl.col("syn_timeouts"),
    )


def plot(rows: pl.DataFrame) -> Plot:
    """CDFs of the short flows' FCT and of the long flows' goodput, all seeds."""
    here = rows.filter(starts=STARTS[0])
    plot = Plot(figsize=(8.6, 3.8), layout="constrained")
    short, long = plot.subplots(1, 2)
    plot_cdf(short, here.filter(pl.col("class") == "short"), "fct_ms", ALGORITHMS, at_least="unfinished_ms")
    short.set_xlabel("FCT of short flows (ms)")
    short.legend(frameon=False)
    plot_cdf(long, here.filter(pl.col("class") == "long"), "goodput_gbps", ALGORITHMS, up_to=100)
    long.set_xlabel("goodput of long flows (Gbps)")
    plot.suptitle("Figure 14: data mining workload")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of section 5.3, "General workload", last paragraph."""
    here = rows.filter(starts=STARTS[0])
    return [
        *(_percentile(rows, percent, name) for percent in PAPER_MS for name in MULTIPATH),
        *(_improvement(rows, percent) for percent in PAPER_MS),
        _goodput(here),
    ]


def flow_list(hosts: int, starts: str, seed: int) -> list[tuple[int, int, float, int]]:
    """Returns the flows of the workload.

    Args:
        hosts: Number of servers; each sends one flow to each other server.
        starts: One of `STARTS`.
        seed: Seed of the times and sizes.

    Returns:
        Source, destination, start in ms and size in bytes of each flow.
    """
    draw = random.Random(seed)  # noqa: S311 - a simulation
    flows = []
    for source in range(hosts):
        start_ms = 0.0
        for destination in (host for host in range(hosts) if host != source):
            gap_ms = draw.expovariate(1 / INTERVAL_MS)
            start_ms += gap_ms if starts == STARTS[0] else int(gap_ms)
            flows.append((source, destination, start_ms, PACKET_BYTES * packets(draw.random())))
    return flows


def packets(probability: float) -> int:
    """Returns the size in packets at a cumulative probability."""
    at = max(1, bisect_left([p for p, _ in SIZES], probability))
    (low, small), (high, large) = SIZES[at - 1], SIZES[at]
    return round(small + (probability - low) / (high - low) * (large - small))


def _case(algorithm: str, starts: str, ports: int, seed: int) -> Case:
    traffic: list[dict[str, Any]] = [
        {
            "kind": "bulk",
            "transport": "dctcp" if size < SHORT_BYTES else "long",
            "from": f"h{source}",
            "to": f"h{destination}",
            "start": f"{round(1e6 * start_ms)}ns",
            "size": f"{size}B",
        }
        for source, destination, start_ms, size in flow_list(ports**3 // 4, starts, seed)
    ]
    experiment = fat_tree(
        f"data-mining-{algorithm}",
        duration=f"{AT_MOST_S}s",
        ports=ports,
        transports={"dctcp": transport("dctcp"), "long": transport(algorithm)},
        traffic=traffic,
    )
    return Case({"starts": starts, "algorithm": algorithm}, experiment, seed)


def _fct(rows: pl.DataFrame, percent: int, algorithm: str, starts: str = STARTS[0]) -> SeedSummary:
    here = rows.filter(pl.col("class") == "short", starts=starts, algorithm=algorithm)
    return percentile(here, "fct_ms", percent, "ms", at_least="unfinished_ms")


def _percentile(rows: pl.DataFrame, percent: int, algorithm: str) -> Claim:
    paper = PAPER_MS[percent][algorithm]
    measured = _fct(rows, percent, algorithm)
    here = rows.filter(pl.col("class") == "short", starts=STARTS[0], algorithm=algorithm)
    timed_out = over_seeds(here, 100 * (pl.col("timeouts") > 0).mean(), "%")
    cut = ""
    if STARTS[1] in set(rows["starts"]):
        cut = "; with times between flows in whole milliseconds and one seed "
        cut += str(_fct(rows.filter(seed=rows["seed"].min()), percent, algorithm, STARTS[1]))
    return Claim(
        f"The {percent}th percentile of short flows' FCT with long flows by {SHOWN[algorithm].label}",
        f"{paper} ms",
        str(measured),
        measured.near(paper, TOLERANCE),
        f"holds within {100 * TOLERANCE:.0f} %; {BY_SENDER}; of the short flows {timed_out} had a timeout; links of "
        f"{DELAY_US} us{cut}",
    )


def _improvement(rows: pl.DataFrame, percent: int) -> Claim:
    paper = {name: PAPER_MS[percent][name] / PAPER_MS[percent]["amp"] for name in OTHERS}
    amp = _fct(rows, percent, "amp")
    measured = {name: _fct(rows, percent, name) / amp for name in OTHERS}
    return Claim(
        f"{percent}th percentile: AMP lowers the FCT of short flows clearly against XMP and DCM",
        ", ".join(f"{name} {ratio:.2f} times AMP's" for name, ratio in paper.items()),
        f"{listed(measured.items())} times AMP's",
        all(measured[name].near(paper[name], TOLERANCE) for name in OTHERS),
        f"holds within {100 * TOLERANCE:.0f} % of both ratios. Without suppression AMP's own would be "
        f"{_fct(rows, percent, WITHOUT) / amp} times as long",
    )


def _goodput(here: pl.DataFrame) -> Claim:
    long = here.filter(pl.col("class") == "long")
    percents = (10, 50, 90)
    goodputs = {
        name: [percentile(long.filter(algorithm=name), "goodput_gbps", p, "Gbps") for p in percents]
        for name in (*ALGORITHMS, WITHOUT)
    }
    across = [[goodputs[name][n].mean for name in ALGORITHMS] for n in range(len(percents))]
    apart = [max(means) / min(means) for means in across]
    return Claim(
        "The goodput of long flows is distributed almost identically across all schemes",
        "almost identical",
        "; ".join(
            f"{p}th percentile {listed((name, goodputs[name][n]) for name in ALGORITHMS)}"
            for n, p in enumerate(percents)
        ),
        all(ratio <= ALIKE for ratio in apart),
        f"holds when the largest is at most {ALIKE} times the smallest at each of the three percentiles; they are "
        f"{', '.join(f'{ratio:.2f}' for ratio in apart)} times. AMP without suppression: "
        f"{listed((f'{p}th', goodputs[WITHOUT][n]) for n, p in enumerate(percents))}",
    )
