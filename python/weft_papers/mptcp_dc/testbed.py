"""Section 4's table at the packet level: VLB, a scheduler and Multipath TCP in six hosts with two paths.

As there, the scheduler's paths are laid out by hand: in TM1 so that no two flows share a link. In TM2 the testbed's
VLANs make both directions of a pair take one path, so some pairs have to share. In another reading, with a path for
each direction, no flows share.

The paper gives neither the shape and mean of the Pareto distribution, nor the queues' limit. These were chosen, as
were Reno for single paths and that subflows take data in turn. Loss recovery is that of Linux in 2010, as in figure
8; the notes have today's Linux.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale
from weft_papers.mptcp_dc.fat_tree import LINUX_2010, SHOWN
from weft_papers.mptcp_dc.testbed_linux import (
    BETTER,
    HOSTS,
    LIMIT,
    MATRICES,
    MAX_LOAD,
    MEAN_MS,
    NEAR,
    PAPER_MAX_GBPS,
)
from weft_papers.seed_summary import SeedSummary, means_and_ranges, over_seeds

PAPER_GBPS = {
    ("TM1", "vlb"): 2.7,
    ("TM1", "scheduler"): 4.7,
    ("TM1", "multipath"): 4.2,
    ("TM2", "vlb"): 2.7,
    ("TM2", "scheduler"): 2.7,
    ("TM2", "multipath"): 4.2,
}
"""Goodputs of the paper's table."""
SCHEMES = ("vlb", "scheduler", "multipath")
FREE = "scheduler-free"
"""Scheduler in TM2 with a path for each direction."""
TRANSPORTS: dict[str, dict[str, Any]] = {
    "vlb": {"cc": "reno", "paths": "vlb"},
    "multipath": {"cc": "lia", "subflows": 2, "paths": "consecutive"},
}
# Racks are h0 and h1, h2 and h3, h4 and h5. In TM2 h0 and h3, h1 and h4, h2 and h5 are pairs.
LAID_OUT = {("TM1", "scheduler"): (0, 1) * 3, ("TM2", "scheduler"): (0, 1, 0, 0, 1, 0), ("TM2", FREE): (0, 1) * 3}
"""Number of the path that each host's flow takes."""
TODAY = "today"
SECONDS, QUICK_SECONDS = 20, 2
QUICK = f"{QUICK_SECONDS} s instead of {SECONDS} s"
NO_BETTER = 1.1
"""Ratio to VLB's goodput up to which goodput is not better."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of the table's cells, and of the scheduler with a path for each direction.

    At full size there is one seed of today's Linux.
    """
    seconds = QUICK_SECONDS if scale.quick else SECONDS
    cells = [*PAPER_GBPS, ("TM2", FREE)]
    seeds = range(1, scale.seeds + 1)
    judged = [_case(*cell, "2010", seed, seconds) for cell in cells for seed in seeds]
    return judged if scale.quick else [*judged, *(_case(*cell, TODAY, 1, seconds) for cell in cells)]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: all hosts' goodput in Gbit/s, files that ended, and timeouts."""
    flows = result.flows
    return pl.DataFrame(
        {
            "goodput_gbps": int(flows["delivered_bytes"].sum()) * 8e-9 / result.manifest["end_s"],
            "files": int(flows["fct_s"].count()),
            "timeouts": int(flows["timeouts"].sum()),
        }
    )


def plot(rows: pl.DataFrame) -> Plot:
    """All hosts' goodput by matrix, mean and range of the seeds, with the paper's; dotted: theoretical maximum."""
    plot = Plot(figsize=(7, 3.8), layout="constrained")
    axes = plot.subplots()
    for index, (matrix, name) in enumerate(PAPER_GBPS):
        means, reach = means_and_ranges([_total(rows, matrix, name)])
        first = index == 0
        axes.bar(index - 0.2, means, 0.4, yerr=reach, color="#56b4e9", label="packet level" if first else None)
        paper = PAPER_GBPS[matrix, name] / PAPER_MAX_GBPS * MAX_LOAD
        axes.bar(index + 0.2, paper, 0.4, color="#999999", label="paper" if first else None)
    axes.axhline(MAX_LOAD, color="black", linewidth=0.8, linestyle=":")
    axes.set_xticks(range(len(PAPER_GBPS)), [f"{matrix}\n{_label(name)}" for matrix, name in PAPER_GBPS])
    axes.set_ylabel("goodput of all hosts (Gbit/s)")
    axes.grid(visible=True, axis="y", alpha=0.3)
    axes.legend(frameon=False, fontsize="small", loc="lower right")
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims about section 4's table."""
    return [*(_cell(rows, *cell) for cell in PAPER_GBPS), _better(rows), _no_schedule(rows)]


def _case(matrix: str, name: str, tcp: str, seed: int, seconds: int) -> Case:
    patch: dict[str, Any] = {"scheduler": "round-robin", "tcp": LINUX_2010} if tcp == "2010" else {}
    pairs = [[f"h{i}", f"h{(i + MATRICES[matrix]) % HOSTS}"] for i in range(HOSTS)]
    if name in TRANSPORTS:
        entries = {name: (TRANSPORTS[name], pairs)}
    else:
        paths = LAID_OUT[matrix, name]
        entries = {
            f"path-{n}": (
                {"cc": "reno", "paths": {"name": "pinned", "path": n}},
                [pair for pair, path in zip(pairs, paths, strict=True) if path == n],
            )
            for n in (0, 1)
        }
    experiment = Experiment.model_validate(
        {
            "name": f"{matrix.lower()}-{name}",
            "duration": f"{seconds}s",
            "topology": {"kind": "two-paths", "rate": "1Gbps", "delay": "20us"},
            "queues": {"limit": f"{LIMIT} packets"},
            "transports": {way: {**settings, **patch} for way, (settings, _) in entries.items()},
            "traffic": [
                {
                    "kind": "closed-loop",
                    "transport": way,
                    "pairs": some,
                    "size": {"kind": "pareto", "shape": 1.5, "mean": f"{1000 * MEAN_MS // 8}KB"},
                }
                for way, (_, some) in entries.items()
            ],
        }
    )
    return Case({"matrix": matrix, "scheme": name, "tcp": tcp}, experiment, seed)


def _label(name: str) -> str:
    return "Scheduler" if name == "scheduler" else SHOWN[name].label


def _total(rows: pl.DataFrame, matrix: str, name: str, tcp: str = "2010") -> SeedSummary:
    here = rows.filter(matrix=matrix, scheme=name, tcp=tcp)
    return over_seeds(here, pl.col("goodput_gbps").first(), "Gbit/s")


def _today(rows: pl.DataFrame, matrix: str, name: str) -> str:
    if rows.filter(tcp=TODAY).is_empty():
        return ""
    return f"; by today's Linux and one seed {_total(rows, matrix, name, TODAY)}"


def _cell(rows: pl.DataFrame, matrix: str, name: str) -> Claim:
    paper = PAPER_GBPS[matrix, name] / PAPER_MAX_GBPS
    here = _total(rows, matrix, name)
    free = f"; with a path for each direction {_total(rows, matrix, FREE)}" if (matrix, FREE) in LAID_OUT else ""
    return Claim(
        f"{matrix}: all hosts' goodput by {_label(name)}",
        f"{PAPER_GBPS[matrix, name]} Gbit/s, {paper:.0%} of the maximum",
        f"{here}, {here.mean / MAX_LOAD:.0%} of the maximum",
        abs(here.mean / MAX_LOAD - paper) <= NEAR * paper,
        f"parts of the theoretical maximum after overhead and ACKs ({digits(PAPER_MAX_GBPS)} Gbit/s there, "
        f"{digits(MAX_LOAD)} here); holds within {NEAR:.0%} of the paper's part"
        + (free if name == "scheduler" else "")
        + _today(rows, matrix, name),
    )


def _better(rows: pl.DataFrame) -> Claim:
    ratios = {matrix: _total(rows, matrix, "multipath") / _total(rows, matrix, "vlb") for matrix in MATRICES}
    return Claim(
        "Multipath TCP is a substantial improvement over VLB",
        "4.2 over 2.7, 1.56 times",
        ", ".join(f"{matrix} {ratio}" for matrix, ratio in ratios.items()),
        all(ratio.mean >= BETTER for ratio in ratios.values()),
        f"ratio of goodputs, seed by seed; holds from {BETTER} on in both matrices",
    )


def _no_schedule(rows: pl.DataFrame) -> Claim:
    benefit = _total(rows, "TM2", "scheduler") / _total(rows, "TM2", "vlb")
    above = _total(rows, "TM2", "multipath") / _total(rows, "TM2", "scheduler")
    return Claim(
        "TM2: no schedule of symmetric paths is without collision; Multipath TCP uses all paths and works well",
        "the scheduler like VLB, Multipath TCP 1.56 times",
        f"scheduler over VLB {benefit}; Multipath TCP over the scheduler {above}",
        benefit.mean <= NO_BETTER and above.mean >= BETTER,
        f"holds up to {NO_BETTER} times VLB and from {BETTER} times the scheduler on; the scheduler's three pairs of "
        "hosts need three paths where each rack has two, so two pairs share one: 67 % of the maximum at best; with a "
        f"path for each direction {_total(rows, 'TM2', FREE)}",
    )
