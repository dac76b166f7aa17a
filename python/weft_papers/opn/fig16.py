"""Figures 16 and 17 (section "Performance in asymmetric scenario"): the rate and the number of the failed paths.

The workloads are Data Mining and Web Search. In figure 16, 8 of 20 paths have 100 Mbps to 1 Gbps; in figure 17, 1 to
8 have 100 Mbps. `weft_papers.opn.workloads` describes the other choices that the paper leaves open. There are 8 racks
instead of 40.
"""

from __future__ import annotations

from itertools import pairwise

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Result
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.opn import workloads
from weft_papers.opn.settings import COLOURS, LABELS, OPNS, OTHERS, SCHEMES, WITH
from weft_papers.opn.workloads import QUICK_LEAVES, QUICK_OPENS_MS, SHORT_BYTES, WORDS, failed
from weft_papers.seed_summary import SeedSummary, over_seeds

WORKLOADS = ("data-mining", "web-search")
MBPS = tuple(float(rate) for rate in range(100, 1001, 100))
FAILED = tuple(range(1, 9))
QUICK_MBPS, QUICK_FAILED = (100.0, 400.0, 1000.0), (2, 8)
MAX_FAILED, MIN_MBPS = 8, 100.0
LEAVES = 8
QUICK = (
    f"{QUICK_LEAVES} racks instead of {LEAVES}, {len(QUICK_MBPS)} bandwidths and {len(QUICK_FAILED)} numbers of failed "
    "paths"
)
HALF, TOLERANCE = 50, 10
"""Percent by which the paper's OPN is below the others, and the tolerance in percentage points."""
BANDWIDTH, NUMBER = "bandwidth", "number"
MARKED = "opn-dcm"
"""A variant that is not in the figure: OPN whose windows marks cut."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each scheme under each workload, with each number and bandwidth of failed paths."""
    rates, numbers = (QUICK_MBPS, QUICK_FAILED) if scale.quick else (MBPS, FAILED)
    cells = dict.fromkeys([*((MAX_FAILED, rate) for rate in rates), *((number, MIN_MBPS) for number in numbers)])
    return [
        workloads.case(
            {"failed": number, "rate_mbps": rate},
            workload,
            name,
            seed,
            quick=scale.quick,
            more=failed(number, rate),
            opens_ms=QUICK_OPENS_MS,
            leaves=QUICK_LEAVES if scale.quick else LEAVES,
        )
        for number, rate in cells
        for workload in WORKLOADS
        for name in (*SCHEMES, MARKED)
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row per run: the mean FCT of its short flows in ms."""
    short = result.flows.filter(pl.col("size_bytes") <= SHORT_BYTES)
    return short.select(fct_ms=pl.col("fct_s").mean() * 1e3)


def plot(rows: pl.DataFrame) -> Plot:
    """Short flows' mean FCT by the bandwidth of 8 failed paths, and by how many have 100 Mbps; range of the seeds."""
    heads = {BANDWIDTH: "bandwidth of 8 failed paths (Mbps)", NUMBER: "failed paths, of 100 Mbps"}
    plot = Plot(figsize=(10, 6.4), layout="constrained")
    panels = plot.subplots(len(heads), len(WORKLOADS), squeeze=False)
    for kind, row in zip(heads, panels, strict=True):
        at = _axis(rows, kind)
        for axes, workload in zip(row, WORKLOADS, strict=True):
            for name in SCHEMES:
                found = [_mean(rows, kind, workload, x, name) for x in at]
                axes.plot(
                    at, [summary.mean for summary in found], label=LABELS[name], color=COLOURS[name], marker="o", ms=3
                )
                low, high = ([bound(summary.values) for summary in found] for bound in (min, max))
                axes.fill_between(at, low, high, color=COLOURS[name], alpha=0.15, linewidth=0)
            axes.set(xlabel=heads[kind], ylabel="mean FCT (ms)")
            axes.set_title(WORDS[workload], fontsize="medium")
            axes.grid(visible=True, alpha=0.3)
    panels[0][0].legend(frameon=False, fontsize="small")
    plot.suptitle("Figures 16 and 17: short flows while paths fail")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of the section's last two paragraphs."""
    tables = {kind: _table(rows, kind) for kind in (BANDWIDTH, NUMBER)}
    cells = {kind: [(workload, x) for workload in WORKLOADS for x in _axis(rows, kind)] for kind in tables}
    return [
        *(_half(rows, name, cells[BANDWIDTH], tables[BANDWIDTH]) for name in OPNS),
        _trend(rows, BANDWIDTH, "As the failed paths' bandwidth rises, short flows' mean FCT falls", "falls", sign=-1),
        *(_least(rows, name, cells, tables[NUMBER]) for name in OPNS),
        _trend(rows, NUMBER, "As more paths fail, short flows' mean FCT rises", "rises", sign=1),
    ]


def _half(rows: pl.DataFrame, name: str, cells: list[tuple[str, float]], table: Table) -> Claim:
    below = [_below(rows, BANDWIDTH, *cell, name) for cell in cells]
    return Claim(
        f"OPN's mean FCT of short flows is about {HALF} % below that of the other schemes, {WITH[name]}",
        f"{HALF} %",
        f"{digits(min(below))} to {digits(max(below))} % below the best of the others",
        all(value >= HALF - TOLERANCE for value in below),
        f"figure 16; holds from {HALF - TOLERANCE} % on at each bandwidth, under both workloads; negative if above. "
        f"{_cause(rows, cells)}",
        table=table if name == OPNS[0] else None,
    )


def _cause(rows: pl.DataFrame, cells: list[tuple[str, float]]) -> str:
    said = "OPN grows by LIA until queues overflow, the best of the others are DCTCP"
    if MARKED not in set(rows["scheme"]):
        return said
    below = [_below(rows, BANDWIDTH, *cell, MARKED) for cell in cells]
    return f"{said}; with DCTCP's cuts OPN is {digits(min(below))} to {digits(max(below))} % below"


def _least(rows: pl.DataFrame, name: str, cells: dict[str, list[tuple[str, float]]], table: Table) -> Claim:
    least = {kind: [cell for cell in some if _below(rows, kind, *cell, name) > 0] for kind, some in cells.items()}
    return Claim(
        f"OPN has the least mean FCT of short flows, however many paths fail, {WITH[name]}",
        "least",
        f"least in {len(least[NUMBER])} of {len(cells[NUMBER])} cases",
        len(least[NUMBER]) == len(cells[NUMBER]),
        f"figure 17; compared with the other schemes; of figure 16 in {len(least[BANDWIDTH])} of "
        f"{len(cells[BANDWIDTH])}",
        table=table if name == OPNS[0] else None,
    )


def _on(rows: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Returns the rows of figure 16 or 17."""
    return rows.filter(failed=MAX_FAILED) if kind == BANDWIDTH else rows.filter(rate_mbps=MIN_MBPS)


def _column(kind: str) -> str:
    return "rate_mbps" if kind == BANDWIDTH else "failed"


def _axis(rows: pl.DataFrame, kind: str) -> list[float]:
    return _on(rows, kind)[_column(kind)].unique().sort().to_list()


def _mean(rows: pl.DataFrame, kind: str, workload: str, x: float, name: str) -> SeedSummary:
    here = _on(rows, kind).filter(pl.col(_column(kind)) == x, workload=workload, scheme=name)
    return over_seeds(here, pl.col("fct_ms").mean(), "ms")


def _below(rows: pl.DataFrame, kind: str, workload: str, x: float, opn: str) -> float:
    """Returns the percentage by which OPN is below the best of the others."""
    others = min(_mean(rows, kind, workload, x, name).mean for name in OTHERS)
    return 100 * (1 - _mean(rows, kind, workload, x, opn).mean / others)


def _trend(rows: pl.DataFrame, kind: str, words: str, number: str, *, sign: int) -> Claim:
    """Returns the claim about a trend from the first to the last value, with the number of steps against it."""
    at = _axis(rows, kind)
    lines = {
        (workload, name): [_mean(rows, kind, workload, x, name).mean for x in at]
        for workload in WORKLOADS
        for name in SCHEMES
    }
    ends = {line: sign * (found[-1] - found[0]) > 0 for line, found in lines.items()}
    against = sum(sign * (b - a) < 0 for found in lines.values() for a, b in pairwise(found))
    not_so = ", ".join(f"{LABELS[name]} under {WORDS[value]}" for (value, name), so in ends.items() if not so)
    return Claim(
        words,
        number,
        f"{sum(ends.values())} of {len(ends)} lines",
        all(ends.values()),
        f"from {at[0]:g} to {at[-1]:g}, each scheme and workload; holds when all do. Steps the other way: {against} of "
        f"{len(lines) * (len(at) - 1)}; lines the other way: {not_so or 'none'}",
    )


def _table(rows: pl.DataFrame, kind: str) -> Table:
    cells = [
        (WORDS[workload], f"{x:g}", *(str(_mean(rows, kind, workload, x, name)) for name in SCHEMES))
        for workload in WORKLOADS
        for x in _axis(rows, kind)
    ]
    head = "Mbps of 8 failed paths" if kind == BANDWIDTH else "failed paths of 100 Mbps"
    return Table(("mean FCT of short flows", head, *(LABELS[name] for name in SCHEMES)), tuple(cells))
