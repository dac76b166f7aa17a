"""DCTCP with marks at dequeue, compared with marks at enqueue: queues and completion times at one bottleneck.

A packet is marked at enqueue if it finds K packets, and at dequeue if it leaves K packets behind, so that its mark
reports a later queue. Wu et al., "Tuning ECN for Data Center Networks" (CoNEXT 2012), propose marks at dequeue. The
bottleneck has 10 Gbps. K = 20 packets, a limit of 400 packets and profile `linux` were chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.seed_summary import SeedSummary, over_seeds

ENQUEUE, DEQUEUE = AT = ("enqueue", "dequeue")
LONG, INCAST = "long flows", "incast"
FLOWS = {LONG: (2, 8, 32), INCAST: (20, 40, 80)}
QUICK_FLOWS = {LONG: (2, 32), INCAST: (20, 80)}
K = {ENQUEUE: 20, DEQUEUE: 20}
"""Marking thresholds in packets, equal in the claims."""
LIMIT = 400
DELAY = "10us"
LONG_MS, QUICK_LONG_MS, START_MS = 200, 60, 20
ROUNDS, QUICK_ROUNDS, INTERVAL_MS = 20, 5, 20
SIZE = "64KiB"
QUICK = f"{QUICK_LONG_MS} ms instead of {LONG_MS} ms, {QUICK_ROUNDS} rounds instead of {ROUNDS}, fewer numbers of flows"
COLOURS = {ENQUEUE: "#444444", DEQUEUE: "#0072b2"}
BETTER, ALIKE = 1.0, 0.01


def cases(scale: Scale) -> list[Case]:
    """Returns runs of long flows and of incasts, with marks at enqueue and at dequeue."""
    flows = QUICK_FLOWS if scale.quick else FLOWS
    return [
        _case(load, n, at, seed, quick=scale.quick)
        for load, counts in flows.items()
        for n in counts
        for at in AT
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: the queue in packets (mean, standard deviation, largest), goodput in Gbps, FCT in us."""
    queue = result.queues.row(0, named=True)
    times = np.array(queue["time_at_length_s"])
    lengths = np.arange(len(times))
    mean = float(np.average(lengths, weights=times))
    start, end = result.manifest["measured_s"]
    fct = result.flows.drop_nulls("fct_s")["fct_s"] * 1e6
    return pl.DataFrame(
        {
            "mean_packets": [mean],
            "std_packets": [float(np.average((lengths - mean) ** 2, weights=times)) ** 0.5],
            "max_packets": [float(queue["max_packets"])],
            "drops": [int(queue["drops"])],
            "gbps": [8e-9 * int(result.flows["measured_bytes"].sum()) / (end - start)],
            "mean_us": [fct.mean()],
            "p99_us": [fct.quantile(0.99, interpolation="linear")],
            "late": [100 * (result.flows["timeouts"] > 0).mean()],  # type: ignore[operator]
        },
        schema_overrides={"mean_us": pl.Float64, "p99_us": pl.Float64},
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Queue of long flows (mean, with its standard deviation) and longest queue of incasts, by number of flows."""
    plot = Plot(figsize=(8, 3.6), layout="constrained")
    left, right = plot.subplots(1, 2)
    for at in AT:
        mean, spread = (_cells(rows, LONG, at, column) for column in ("mean_packets", "std_packets"))
        ns = [str(n) for n in mean]
        left.errorbar(
            ns,
            [value.mean for value in mean.values()],
            [value.mean for value in spread.values()],
            fmt="o-",
            color=COLOURS[at],
            label=f"marks at {at}",
            capsize=3,
        )
        longest = _cells(rows, INCAST, at, "max_packets")
        right.plot([str(n) for n in longest], [value.mean for value in longest.values()], "o-", color=COLOURS[at])
    left.axhline(K[ENQUEUE], color="#888888", linestyle=":", linewidth=1)
    left.set_ylabel("queue of long flows (packets)")
    right.set_ylabel("longest queue of incasts (packets)")
    for axes in (left, right):
        axes.set_xlabel("flows")
        axes.grid(visible=True, alpha=0.3)
    left.legend(frameon=False, fontsize="small")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims that were expected before any run."""
    return [
        _claim(
            rows,
            LONG,
            "std_packets",
            "Long flows: the queue varies less with marks at dequeue",
            "below 1",
            lambda ratio: ratio < BETTER,
            "standard deviation of the queue over that with marks at enqueue; holds if every number of flows does. A "
            "mark arrives earlier by the time that its packet waits",
        ),
        _claim(
            rows,
            LONG,
            "mean_packets",
            "Long flows: the mean queue is not longer with marks at dequeue",
            "at most 1",
            lambda ratio: ratio <= BETTER,
            "mean length over that with marks at enqueue; holds if every number of flows does",
        ),
        _claim(
            rows,
            LONG,
            "gbps",
            "Long flows: goodput is equal",
            f"1 within {100 * ALIKE:g} %",
            lambda ratio: abs(ratio - 1) <= ALIKE,
            "goodput over that with marks at enqueue; holds if every number of flows does",
        ),
        _claim(
            rows,
            INCAST,
            "max_packets",
            "Incast: the longest queue is shorter with marks at dequeue",
            "below 1",
            lambda ratio: ratio < BETTER,
            f"longest queue over that with marks at enqueue, flows of {SIZE}; holds if every number of flows does",
        ),
        _claim(
            rows,
            INCAST,
            "p99_us",
            "Incast: the 99th percentile of the FCT is not larger with marks at dequeue",
            "at most 1",
            lambda ratio: ratio <= BETTER,
            "99th percentile of the FCT over that with marks at enqueue; holds if every number of flows does",
        ),
    ]


def _case(load: str, n: int, at: str, seed: int, *, quick: bool) -> Case:
    rounds = QUICK_ROUNDS if quick else ROUNDS
    long_ms = QUICK_LONG_MS if quick else LONG_MS
    traffic: dict[str, Any] = {"transport": "dctcp"}
    if load == LONG:
        traffic |= {"kind": "bulk", "from": f"0..{n}", "to": n, "jitter": "1ms"}
    else:
        traffic |= {"kind": "incast", "flows": n, "size": SIZE, "rounds": rounds, "interval": f"{INTERVAL_MS}ms"}
    experiment = Experiment.model_validate(
        {
            "name": f"{load}-{n}-{at}",
            "duration": f"{long_ms}ms" if load == LONG else f"{(rounds + 10) * INTERVAL_MS}ms",
            "measure": {"start": f"{START_MS}ms" if load == LONG else "0ms"},
            "topology": {"kind": "many-to-one", "senders": n, "rate": "10Gbps", "delay": DELAY},
            "queues": {
                "limit": f"{LIMIT} packets",
                "kind": {
                    "name": "red",
                    "min": f"{K[at]} packets",
                    "max": f"{K[at]} packets",
                    "probability": 1,
                    "at": at,
                },
            },
            "transports": {"dctcp": {"cc": "dctcp", "tcp": {"min_rto": "10ms"}}},
            "traffic": [traffic],
            "probes": [{"kind": "queue", "at": ["s0->r0"]}],
        }
    )
    return Case({"load": load, "flows": n, "at": at}, experiment, seed)


def _cells(rows: pl.DataFrame, load: str, at: str, column: str) -> dict[int, SeedSummary]:
    groups = rows.filter(load=load, at=at).sort("flows", maintain_order=True).group_by("flows", maintain_order=True)
    return {int(n): over_seeds(some, pl.col(column).first()) for (n,), some in groups}


def _claim(
    rows: pl.DataFrame, load: str, column: str, sentence: str, bar: str, meets: Callable[[float], bool], note: str
) -> Claim:
    at_enqueue, at_dequeue = (_cells(rows, load, at, column) for at in AT)
    ratios = {n: at_dequeue[n] / at_enqueue[n] for n in at_dequeue}
    lines = ((str(n), str(at_enqueue[n]), str(at_dequeue[n]), str(ratios[n])) for n in ratios)
    means = [ratio.mean for ratio in ratios.values()]
    return Claim(
        sentence,
        bar,
        f"{digits(min(means))} to {digits(max(means))}",
        all(meets(mean) for mean in means),
        note,
        table=Table(("flows", "at enqueue", "at dequeue", "ratio"), tuple(lines)),
    )
