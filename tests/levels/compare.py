"""The same experiments at the packet level and at the flow level, side by side.

`make validate-flow` runs all. A measure outside its band makes it exit with 1. Bands are how far the flow level may be
from the packet level, in the mean over seeds. If one is wider than usual, its scene says why.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

import weft
from weft import Experiment
from weft.sweeps.cases import Case, run_cases

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LEVELS = ("packet", "flow")
LAYERS = ("host-tor", "agg-core")
"""Links whose utilisation is compared; the others are these in the other direction, or carry the same as the first."""
USUAL: dict[str, float] = {"mean": 0.05, "jain": 0.03, **dict.fromkeys(LAYERS, 5.0)}
"""Throughput of a connection, relatively; Jain's index; utilisation of a layer, in points."""
IN_TURN = {"scheduler": "round-robin"}
"""A subflow sends whenever its window has room, as the flow level has it."""
SINGLE = (
    "a single path without marks: a flow through two full links has two queues in its round-trip time, at the flow "
    "level none"
)
BY_TURNS = (
    "Warp: queues that mark by turns each cut the whole connection, more often than as many marks that come one by "
    "one, as the response function has them"
)
SCHEDULER = (
    "multipath: by Linux's packet scheduler the connection's send buffer keeps what others have sent until a slow "
    "subflow's data is acknowledged, so that subflows with room wait"
)


@dataclass(frozen=True)
class Scene:
    """A permutation over a fat-tree of 128 hosts."""

    name: str
    cc: str
    subflows: int = 1
    transport: Mapping[str, Any] = field(default_factory=dict)
    queues: Mapping[str, Any] = field(default_factory=lambda: {"limit": "100 packets"})
    from_ms: int = 500
    """Slow start and the way to fair shares are over: what is measured begins."""
    end_ms: int = 1000
    wider: Mapping[str, float] = field(default_factory=dict)
    """Bands other than the usual ones."""
    why: str = ""

    def experiment(self, level: str) -> Experiment:
        """The experiment at one of the levels."""
        return Experiment.model_validate(
            {
                "name": self.name,
                "level": level,
                "duration": f"{self.end_ms}ms",
                "measure": {"start": f"{self.from_ms}ms"},
                "topology": {"kind": "fat-tree", "k": 8, "rate": "1Gbps", "delay": "20us"},
                "queues": self.queues,
                "transports": {"all": {"cc": self.cc, "subflows": self.subflows, "paths": "vlb", **self.transport}},
                "traffic": [{"kind": "bulk", "transport": "all", "pairs": "permutation"}],
            }
        )


MARKING = {"limit": "100 packets", "mark": "20 packets"}
SCENES = (
    Scene("LIA, 1 subflow", "lia", end_ms=2000, wider={"jain": 0.08}, why=SINGLE),
    Scene("LIA, 2 subflows", "lia", 2, IN_TURN),
    Scene("LIA, 4 subflows", "lia", 4, IN_TURN),
    Scene("LIA, 8 subflows", "lia", 8, IN_TURN),
    Scene("DCTCP", "dctcp", queues=MARKING),
    Scene("AMP, 4 subflows", "amp", 4, IN_TURN, MARKING),
    Scene("Warp, 4 subflows", "warp", 4, IN_TURN, MARKING, wider={"mean": 0.1}, why=BY_TURNS),
    Scene(
        "LIA, 8 subflows, Linux's scheduler",
        "lia",
        8,
        wider={"mean": 0.15, "host-tor": 8, "agg-core": 8},
        why=SCHEDULER,
    ),
    Scene(
        "AMP, 4 subflows, Linux's scheduler",
        "amp",
        4,
        queues=MARKING,
        wider={"mean": 0.3, "jain": 0.1, "host-tor": 15, "agg-core": 15},
        why=SCHEDULER,
    ),
)


@dataclass(frozen=True)
class Row:
    """A measure of a scene at both levels."""

    scene: str
    measure: str
    packet: float
    flow: float
    apart: float
    """The flow level less the packet level, for throughput relatively."""
    most: float
    why: str = ""

    @property
    def holds(self) -> bool:
        """Whether the difference is within its band."""
        return abs(self.apart) <= self.most


def compare(scenes: Iterable[Scene], seeds: int = 2) -> list[Row]:
    """Runs every scene with each seed at both levels."""
    by_name = {scene.name: scene for scene in scenes}
    cases = [
        Case({"scene": scene.name, "level": level}, scene.experiment(level), seed)
        for scene in by_name.values()
        for level in LEVELS
        for seed in range(1, seeds + 1)
    ]
    found = run_cases(cases, measured).group_by("scene", "level", maintain_order=True).mean()
    rows = []
    for name, scene in by_name.items():
        packet, flow = (found.row(by_predicate=_is(name, level), named=True) for level in LEVELS)
        for measure, usual in USUAL.items():
            apart = flow[measure] - packet[measure]
            apart = apart / packet[measure] if measure == "mean" else apart
            most = scene.wider.get(measure, usual)
            rows.append(Row(name, measure, packet[measure], flow[measure], apart, most, scene.why))
    return rows


def _is(scene: str, level: str) -> pl.Expr:
    return (pl.col("scene") == scene) & (pl.col("level") == level)


def measured(result: weft.Result) -> pl.DataFrame:
    """A row: mean throughput in Gbit/s, Jain's index, and utilisation of each layer in per cent."""
    rate = pl.col("goodput_bps") * 1e-9
    flows = result.flows.select(mean=rate.mean(), jain=rate.sum() ** 2 / (rate.len() * (rate * rate).sum()))
    used = {layer: 100 * result.links.filter(layer=layer)["utilisation"].mean() for layer in LAYERS}  # type: ignore[operator]
    return flows.with_columns(**{layer: pl.lit(value) for layer, value in used.items()})


WEB_SEARCH = "web search, DCTCP"
LARGE = 1e6
"""Bytes from which on FCTs have a band."""
FASTER = 50.0
"""Times that the flow level has to be faster at least: half of what it is, for one run each on a busy machine."""
SIZES = (1e4, 1e5, 1e6, 3e6, 1e7)
"""Bounds of the ranges of sizes, in bytes."""


def web_search(level: str) -> Experiment:
    """About ten thousand Poisson flows on 1,024 hosts at half of their links' rate."""
    per_host = 0.5 * 10e9 / 8 / 1.666e6
    size = {"kind": "empirical", "cdf": "web-search"}
    poisson = {
        "kind": "poisson",
        "transport": "dctcp",
        "pairs": "random",
        "rate": per_host,
        "size": size,
        "stop": "26.5ms",
    }
    return Experiment.model_validate(
        {
            "name": "web-search",
            "level": level,
            "duration": "400ms",
            "topology": {"kind": "fat-tree", "k": 16, "rate": "10Gbps", "delay": "2us"},
            "queues": {"limit": "400 packets", "mark": "65 packets"},
            "transports": {"dctcp": {"cc": "dctcp"}},
            "traffic": [poisson],
        }
    )


def compare_fct(seed: int = 1) -> tuple[list[Row], list[str]]:
    """The mean FCT of large flows and the processor time; and, in lines of Markdown, mean FCTs by size."""
    took, tables = {}, {}
    for level in LEVELS:
        experiment = web_search(level)
        begun = time.process_time()
        result = weft.run(experiment, seed=seed, threads=1)
        took[level] = time.process_time() - begun
        tables[level] = result.flows.select(number="flow", size_bytes="size_bytes", **{level: 1e3 * pl.col("fct_s")})
    both = tables["packet"].join(tables["flow"].drop("size_bytes"), on="number")
    assert both.null_count().sum_horizontal().item() == 0, "every flow ends at both levels"
    large = both.filter(pl.col("size_bytes") > LARGE)
    rows = [_fct(large, "mean FCT above 1 MB, ms", 0.1)]
    rows.append(
        Row(
            WEB_SEARCH,
            "processor time, s",
            took["packet"],
            took["flow"],
            took["flow"] / took["packet"],
            1 / FASTER,
        )
    )
    bounds = [0.0, *SIZES, float("inf")]
    lines = [
        f"{len(both)} flows",
        "",
        "| size | flows | packet level, ms | flow level, ms | ratio |",
        "|---|---|---|---|---|",
    ]
    for least, most in pairwise(bounds):
        of = both.filter(pl.col("size_bytes").is_between(least, most, closed="right"))
        times = _fct(of, "", 0.0)
        name = f"up to {_size(most)}" if most < float("inf") else f"above {_size(least)}"
        lines.append(f"| {name} | {len(of)} | {times.packet:.3g} | {times.flow:.3g} | {1 + times.apart:.3f} |")
    return rows, lines


def _fct(flows: pl.DataFrame, measure: str, most: float) -> Row:
    packet, flow = (float(flows[level].mean()) for level in LEVELS)  # type: ignore[arg-type]
    return Row(WEB_SEARCH, measure, packet, flow, flow / packet - 1, most)


def _size(octets: float) -> str:
    return f"{octets / 1e6:g} MB" if octets >= 1e6 else f"{octets / 1e3:g} kB"


def table(rows: Iterable[Row]) -> str:
    """The rows as a table in Markdown."""
    head = ["| experiment | measure | packet level | flow level | apart | at most |", "|---|---|---|---|---|---|"]
    body = (
        f"| {row.scene} | {row.measure} | {row.packet:.4g} | {row.flow:.4g} "
        f"| {row.apart:+.3g}{'' if row.holds else ' (outside)'} | {row.most:g} |"
        for row in rows
    )
    return "\n".join([*head, *body])


def main() -> int:
    """Runs what was asked for and prints it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="experiments whose names contain this")
    parser.add_argument("--seeds", type=int, default=2, help="seeds of each permutation")
    given = parser.parse_args()
    scenes = [scene for scene in SCENES if given.only in scene.name]
    rows = compare(scenes, given.seeds) if scenes else []
    lines: list[str] = []
    if given.only in WEB_SEARCH:
        more, lines = compare_fct()
        rows += more
    print("\n".join([table(rows), "", *lines]))
    for why in dict.fromkeys(row.why for row in rows if row.why):
        print(f"\n{why}")
    broken = [row for row in rows if not row.holds]
    if broken:
        print(f"{len(broken)} of {len(rows)} measures are outside their bands", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
