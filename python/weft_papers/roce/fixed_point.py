"""Long DCQCN flows on one bottleneck, compared with the fixed point of the paper's fluid model.

All flows begin at once at the rate of the bottleneck, so that pauses hold them back until they have slowed down. The
results of that time are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.roce.fluid import Dcqcn
from weft_papers.roce.settings import DCQCN, QUEUES, RATE, TRANSPORTS
from weft_papers.seed_summary import SeedSummary, over_seeds

FLOWS, QUICK_FLOWS = (2, 4, 8, 16), (2, 8)
END_MS, QUICK_END_MS, START_MS, QUICK_START_MS = 300, 120, 100, 80
QUICK = f"{QUICK_END_MS} ms instead of {END_MS} ms, {len(QUICK_FLOWS)} numbers of flows instead of {len(FLOWS)}"
FAIR, FULL, NEAR = 0.95, 0.95, 0.25
MODEL = Dcqcn()
HEADER = 62
GOODPUT = 40 * (1 - HEADER / MODEL.packet)
"""Goodput of the bottleneck in Gbps without the headers."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of several numbers of flows."""
    flows = QUICK_FLOWS if scale.quick else FLOWS
    return [_case(n, seed, quick=scale.quick) for n in flows for seed in range(1, scale.seeds + 1)]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: Jain's index, goodput in Gbps, the queue in KB (mean, 99th percentile), pauses and losses."""
    start, end = result.manifest["measured_s"]
    rates = result.flows["measured_bytes"].to_numpy() * 8e-9 / (end - start)
    queue = result.queues.row(0, named=True)
    times = np.array(queue["time_at_length_s"])
    share = np.cumsum(times) / times.sum()
    packet = MODEL.packet / 1e3
    return pl.DataFrame(
        {
            "jain": [float(rates.sum() ** 2 / (len(rates) * (rates**2).sum()))],
            "gbps": [float(rates.sum())],
            "mean_kb": [packet * float(np.average(np.arange(len(times)), weights=times))],
            "p99_kb": [packet * int(np.searchsorted(share, 0.99))],
            "marked": [float(queue["marks"] / queue["packets"])],
            "drops": [int(result.links["drops"].sum())],
            "pauses": [int(result.links["pauses"].sum())],
        }
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Mean queue and 99th percentile of long DCQCN flows, and the fixed point of the fluid model."""
    plot = Plot(figsize=(5, 3.4), layout="constrained")
    axes = plot.subplots()
    counts = _counts(rows)
    model = range(1, max(counts) + 1)
    axes.plot(model, [_model(n) for n in model], color="#444444", label="fluid model")
    for column, label, colour in (("mean_kb", "mean", "#0072b2"), ("p99_kb", "99th percentile", "#d55e00")):
        axes.plot(counts, [_of(rows, n, column).mean for n in counts], "o", color=colour, label=label)
    axes.set(xlabel="flows", ylabel="queue (KB)", ylim=(0, None))
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False)
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims that were expected before any run."""
    counts = _counts(rows)
    jain = {n: _of(rows, n, "jain") for n in counts}
    full = {n: _of(rows, n, "gbps") for n in counts}
    queue = {n: _of(rows, n, "mean_kb", "KB") for n in counts}
    tail = {n: _of(rows, n, "p99_kb", "KB") for n in counts}
    drops, pauses = int(rows["drops"].sum()), int(rows["pauses"].sum())
    return [
        Claim(
            "DCQCN: long flows share a bottleneck equally",
            f"Jain's index of goodputs at least {FAIR}",
            _listed(jain),
            all(index.mean >= FAIR for index in jain.values()),
            "the fluid model has one fixed point, at which all rates are equal; holds if every number of flows does",
            table=_table(rows),
        ),
        Claim(
            "DCQCN: the mean queue is that of the fluid model's fixed point",
            f"within {100 * NEAR:g} %: " + ", ".join(f"{_model(n):.1f} KB with {n}" for n in counts),
            _listed(queue),
            all(mean.near(_model(n), NEAR) for n, mean in queue.items()),
            "section 5.2; holds if every number of flows does. The packet being sent does not count",
        ),
        Claim(
            "DCQCN: the 99th percentile of the queue is below the end of the ramp",
            f"below {MODEL.kmax / 1e3:g} KB",
            _listed(tail),
            all(high.mean < MODEL.kmax / 1e3 for high in tail.values()),
            "holds if every number of flows does",
        ),
        Claim(
            "DCQCN: the bottleneck is used",
            f"goodput at least {FULL} of {GOODPUT:.1f} Gbps",
            _listed(full),
            all(goodput.mean >= FULL * GOODPUT for goodput in full.values()),
            "holds if every number of flows does",
        ),
        Claim(
            "DCQCN: once rates have converged, nothing is dropped and no link is paused",
            "0 drops; 0 pauses",
            f"{drops} drops and {pauses} pauses",
            drops == 0 and pauses == 0,
            "sums over all runs in the measured time",
        ),
    ]


def _case(n: int, seed: int, *, quick: bool) -> Case:
    end, start = (QUICK_END_MS, QUICK_START_MS) if quick else (END_MS, START_MS)
    spec: dict[str, Any] = {
        "name": f"fixed-point-{n}",
        "duration": f"{end}ms",
        "measure": {"start": f"{start}ms"},
        "topology": {"kind": "many-to-one", "senders": n, "rate": RATE, "delay": "1us"},
        "queues": QUEUES,
        "transports": {DCQCN: TRANSPORTS[DCQCN]},
        "traffic": [{"kind": "bulk", "transport": DCQCN, "from": f"0..{n}", "to": n}],
        "probes": [{"kind": "queue", "at": ["s0->r0"]}],
    }
    return Case({"flows": n}, Experiment.model_validate(spec), seed)


def _model(n: int) -> float:
    return MODEL.queue(n) / 1e3


def _counts(rows: pl.DataFrame) -> list[int]:
    return sorted(rows["flows"].unique().to_list())


def _of(rows: pl.DataFrame, n: int, column: str, unit: str = "") -> SeedSummary:
    return over_seeds(rows.filter(flows=n), pl.col(column).first(), unit)


def _listed(values: dict[int, SeedSummary]) -> str:
    return ", ".join(f"{value} with {n}" for n, value in values.items())


def _table(rows: pl.DataFrame) -> Table:
    lines = []
    for n in _counts(rows):
        share = f"{100 * _of(rows, n, 'marked').mean:.2g} %"
        model = f"{100 * MODEL.probability(n):.2g} %"
        columns = (("jain", ""), ("gbps", "Gbps"), ("mean_kb", "KB"), ("p99_kb", "KB"))
        cells = [str(_of(rows, n, column, unit)) for column, unit in columns]
        lines.append((str(n), *cells, f"{digits(_model(n))} KB", share, model))
    heads = ("flows", "Jain's index", "goodput", "mean queue", "99th percentile", "model", "marked", "marked, model")
    return Table(heads, tuple(lines))
