"""The first part of the demo: a permutation over a leaf-spine, without and with a failed link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.amp.settings import SHOWN

LEAVES, SPINES, HOSTS_PER_LEAF, GBPS = 4, 4, 4, 10
FAILS_MS, DETECT_MS, SETTLED_MS, END_MS = 10, 5, 20, 40
MIN_RTO_MS = 5
SUBFLOWS = 4
SINGLE = "dctcp"
"""The single-path algorithm."""
SEEDS = 3
LINK = "leaf0->spine0"
WORKS, FAILED = "all links work", "a link fails"
COLUMNS = ("links", "algorithm", "mean goodput (Gbps)", "slowest flow (Gbps)")
PROFILE = "linux"
TITLE = (
    f"{LEAVES * HOSTS_PER_LEAF} hosts send to one other host each over a leaf-spine of {GBPS} Gbps; "
    f"{SEEDS} seeds; profile {PROFILE}"
)


def cases(algorithms: Sequence[str]) -> list[Case]:
    """Returns the runs: every algorithm and seed, without and with a failed link."""
    return [
        Case({"links": links, "algorithm": algorithm}, _experiment(algorithm, links), seed)
        for links in (WORKS, FAILED)
        for algorithm in algorithms
        for seed in range(1, SEEDS + 1)
    ]


def _experiment(algorithm: str, links: str) -> Experiment:
    subflows = 1 if algorithm == SINGLE else SUBFLOWS
    event = {"at": f"{FAILS_MS}ms", "links": [LINK], "state": "down", "detection_delay": f"{DETECT_MS}ms"}
    return Experiment.model_validate(
        {
            "name": f"permutation-{algorithm}",
            "duration": f"{END_MS}ms",
            "measure": {"start": f"{SETTLED_MS}ms"},
            "topology": {
                "kind": "leaf-spine",
                "leaves": LEAVES,
                "spines": SPINES,
                "hosts_per_leaf": HOSTS_PER_LEAF,
                "rate": f"{GBPS}Gbps",
                "delay": "1us",
            },
            "queues": {"limit": "100 packets", "mark": "20 packets"},
            "transports": {
                algorithm: {
                    "cc": algorithm,
                    "subflows": subflows,
                    "profile": PROFILE,
                    "tcp": {"min_rto": f"{MIN_RTO_MS}ms", "initial_rto": f"{MIN_RTO_MS}ms"},
                }
            },
            "traffic": [{"kind": "bulk", "transport": algorithm, "pairs": "permutation"}],
            "events": [event] if links == FAILED else [],
        }
    )


def measure(result: Result) -> pl.DataFrame:
    """Returns the goodput of each flow in Gbps, in the measurement window."""
    window_s = (END_MS - SETTLED_MS) * 1e-3
    return result.flows.select("flow", gbps=pl.col("measured_bytes") * 8e-9 / window_s)


def summary(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns one row per state of the links and algorithm: the mean of all flows and seeds, and the slowest flow."""
    return rows.group_by("links", "algorithm", maintain_order=True).agg(
        mean_gbps=pl.col("gbps").mean(), slowest_gbps=pl.col("gbps").min()
    )


def verdict(cells: pl.DataFrame) -> str:
    """Returns whether multipath wins: every multipath algorithm has the higher mean and the faster slowest flow."""
    outcomes = set()
    for links in (WORKS, FAILED):
        one, several = _cells(cells, links)
        for column in ("mean_gbps", "slowest_gbps"):
            outcomes |= {row[column] > one[column] for row in several}
    return {(True,): "multipath wins", (False,): "multipath loses"}.get(
        tuple(outcomes), "multipath wins in part of the table"
    )


def sentences(cells: pl.DataFrame) -> list[str]:
    """Returns the table in words."""
    return [text for links in (WORKS, FAILED) for text in _compare(cells, links)]


def _compare(cells: pl.DataFrame, links: str) -> list[str]:
    one, several = _cells(cells, links)
    condition = "If all links work" if links == WORKS else f"If the link {LINK} fails"
    names = _join([SHOWN[row["algorithm"]].label for row in several])

    def interval(column: str) -> str:
        return _interval([row[column] for row in several])

    ratios = _interval([row["slowest_gbps"] / one["slowest_gbps"] for row in several if one["slowest_gbps"] > 0])
    words = f", {ratios} times as much" if ratios else ""
    return [
        f"{condition}, {names} have a mean goodput of {interval('mean_gbps')} Gbps, and DCTCP over one path has "
        f"{digits(one['mean_gbps'])} Gbps.",
        f"Their slowest flows have {interval('slowest_gbps')} Gbps{words}; DCTCP's has "
        f"{digits(one['slowest_gbps'])} Gbps.",
    ]


def _cells(cells: pl.DataFrame, links: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns the row of the single path, and those of the multipath algorithms."""
    rows = cells.filter(links=links).to_dicts()
    (one,) = (row for row in rows if row["algorithm"] == SINGLE)
    return one, [row for row in rows if row["algorithm"] != SINGLE]


def _interval(values: Sequence[float]) -> str:
    if not values:
        return ""
    low, high = digits(min(values)), digits(max(values))
    return low if low == high else f"{low} to {high}"


def _join(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def plot(rows: pl.DataFrame, algorithms: Sequence[str]) -> Plot:
    """Draws the goodput of every flow in rising order, one panel per state of the links."""
    drawing = Plot(figsize=(8.4, 3.6), layout="constrained")
    panels = drawing.subplots(1, 2, sharey=True)
    for panel, links in zip(panels, (WORKS, FAILED), strict=True):
        for algorithm in algorithms:
            values = rows.filter(links=links, algorithm=algorithm)["gbps"].sort().to_list()
            shown = SHOWN[algorithm]
            panel.plot(range(1, len(values) + 1), values, color=shown.colour, label=shown.label)
        panel.set(title=links, xlabel="flows of all seeds, slowest first")
        panel.grid(visible=True, alpha=0.3)
    panels[0].set(ylim=(0, None), ylabel="goodput (Gbps)")
    panels[0].legend(frameon=False)
    return drawing
