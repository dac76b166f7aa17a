"""Jobs of training: all-reduce, all-to-all and a mixture of experts, by every transport of `beyond/sprayed`.

The fabric, the queues and the transports are those of `beyond/sprayed`, with 1,024 hosts. Each job runs alone, on all
hosts in a random order. It keeps one connection per pair of ranks, and a send is done when it starts:

- All-reduce of 4 MB by recursive halving and doubling. Every step is a permutation, and the first steps have long
  messages.
- All-to-all in shifted order, with 16 KB to each rank: a permutation of short messages in every step.
- A step of a mixture of experts: two layers, groups of 16 ranks that exchange 1 MB of tokens with random experts
  (top-2 of 256 tokens) four times per layer, and an all-reduce of 1 MB per layer.

5 % of the links between aggregation and core switches are slow (a quarter of their rate) from the beginning, or fail
after 50 us, which routing knows 200 us later. The lower bound of a job has the messages of a rank one after another,
each at the rate of a link and alone: in an all-reduce to ranks at the same switch, and in an all-to-all to each other
rank. For a mixture of experts it is the computing alone.
"""

from __future__ import annotations

import math
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result
from weft.sweeps.cases import Case
from weft_papers.beyond.sprayed import (
    ALONE,
    MULTIPATH,
    RATE_BPS,
    SINGLE_PATH,
    SPRAYED,
    TRANSPORTS,
    queues_for,
    slow_or_failed,
)
from weft_papers.figure import Claim, Scale, Table
from weft_papers.seed_summary import SeedSummary, over_seeds
from weft_papers.uet.scenario import HEADER, MTU

K, QUICK_K = 16, 4
"""Ports of a switch of the fat-tree."""
REDUCE, EXCHANGE, EXPERTS = "all-reduce", "all-to-all", "mixture of experts"
SLOW, FAILED = "all-reduce, slow links", "all-reduce, failed links"
LOADS = (REDUCE, EXCHANGE, EXPERTS, SLOW, FAILED)
CHANGES = {SLOW: "slow links", FAILED: "failed links"}
REDUCE_BYTES = 4_000_000
MESSAGE_BYTES = 16_000
EXPERT_RANKS, QUICK_EXPERT_RANKS = 16, 4
TOKEN_BYTES = 1_000_000
LAYERS = 2
END_MS = 200
QUICK = (
    f"{QUICK_K**3 // 4} hosts instead of {K**3 // 4}, {QUICK_EXPERT_RANKS} experts per group instead of {EXPERT_RANKS}"
)
NEAR, APART = 1.25, 1.5
"""Ratios to the lower bound: of sprayed packets, and of single paths."""


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each transport under each load."""
    cells = [(load, name) for load in LOADS for name in TRANSPORTS]
    return [_case(*cell, seed, quick=scale.quick) for cell in cells for seed in range(1, scale.seeds + 1)]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: time of the job in us, or until the end of the run, and computing of the busiest rank in us.

    It also has flows that did not end or had a timeout, and lost and trimmed packets.
    """
    job = result.jobs.row(0, named=True)
    end = result.manifest["end_s"] if job["end_s"] is None else job["end_s"]
    return result.flows.select(
        job_us=pl.lit((end - job["start_s"]) * 1e6),
        busy_us=pl.lit(result.ranks["computed_s"].max() * 1e6),  # type: ignore[operator]  # a number
        unfinished=pl.lit(int(job["end_s"] is None)),
        late=(pl.col("timeouts") > 0).sum(),
        drops=pl.col("packets_dropped").sum(),
        trims=pl.col("packets_trimmed").sum(),
    )


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims that were expected before any run; the tables have all transports."""
    return [
        _near(rows, REDUCE),
        _apart(rows),
        _near(rows, EXCHANGE),
        _before(rows, REDUCE, MULTIPATH, "ecmp", "multipath TCP ends before DCTCP over ECMP"),
        _before(rows, EXPERTS, ("nscc", "rccc", "ndp"), "ecmp", "UET and NDP end before DCTCP over ECMP"),
        _before(rows, SLOW, (*MULTIPATH, "nscc", "rccc"), "rps", "multipath TCP and UET end before sprayed DCTCP"),
        _before(rows, FAILED, ("nscc", "rccc"), "ecmp", "UET ends before DCTCP over ECMP"),
    ]


def plot(rows: pl.DataFrame) -> Plot:
    """Time of the job over its lower bound: mean and range of the seeds."""
    plot = ALONE.plot(
        {f"{load}:\ntime over the lower bound": [_ratio(rows, load, name) for name in TRANSPORTS] for load in LOADS}
    )
    for axes in plot.axes:
        axes.axvline(1, color="black", linewidth=0.8)
    return plot


def bound_us(load: str, k: int, busy_us: float) -> float:
    """Returns the lower bound of the time of a job.

    Args:
        load: The load.
        k: Ports of a switch of the fat-tree.
        busy_us: The longest computing of a rank.
    """
    hosts, half = k**3 // 4, k // 2
    match load:
        case "all-to-all":
            peers = {2: half - 1, 4: half * (half - 1), 6: hosts - half * half}
            return sum(count * message_us(MESSAGE_BYTES, links) for links, count in peers.items())
        case "mixture of experts":
            return busy_us
        case _:
            parts = [REDUCE_BYTES / 2 ** (step + 1) for step in range(int(math.log2(hosts)))]
            return 2 * sum(message_us(part, 2) for part in parts)


def message_us(size: float, links: int) -> float:
    """Returns the time of a message alone over this many links, with the headers of its packets."""
    wire = size + math.ceil(size / (MTU - HEADER)) * HEADER
    return (wire + (links - 1) * min(wire, MTU)) * 8 / RATE_BPS * 1e6 + links


def _case(load: str, name: str, seed: int, *, quick: bool) -> Case:
    k = QUICK_K if quick else K
    hosts = k**3 // 4
    experiment = Experiment.model_validate(
        {
            "name": f"{load}-{name}".replace(", ", "-").replace(" ", "-"),
            "duration": f"{END_MS}ms",
            "topology": {"kind": "fat-tree", "k": k, "rate": "100Gbps", "delay": "1us"},
            "transports": {name: TRANSPORTS[name]},
            "traffic": [
                {
                    "transport": name,
                    "placement": "random",
                    "connections": "persistent",
                    "send_done": "started",
                    **_traffic(load, hosts),
                }
            ],
            "events": slow_or_failed(CHANGES.get(load, "")),
            **queues_for(name, "fifo", k),
        }
    )
    return Case({"load": load, "transport": name, "k": k}, experiment, seed)


def _traffic(load: str, hosts: int) -> dict[str, Any]:
    match load:
        case "all-to-all":
            return {
                "kind": "collective",
                "operation": "all-to-all",
                "algorithm": "shift",
                "size": f"{MESSAGE_BYTES * hosts}B",
            }
        case "mixture of experts":
            return {
                "kind": "training",
                "layers": LAYERS,
                "forward": "20us",
                "backward": "40us",
                "expert_ranks": EXPERT_RANKS if hosts > EXPERT_RANKS else QUICK_EXPERT_RANKS,
                "expert_size": f"{TOKEN_BYTES}B",
                "tokens": 256,
                "top_k": 2,
                "gradient_size": f"{TOKEN_BYTES}B",
            }
        case _:
            return {
                "kind": "collective",
                "operation": "all-reduce",
                "algorithm": "halving-doubling",
                "size": f"{REDUCE_BYTES}B",
            }


def _ratio(rows: pl.DataFrame, load: str, name: str) -> SeedSummary:
    """Returns the time of the job over its lower bound. It is itself a lower bound if a job did not end."""
    found = rows.filter(load=load, transport=name)
    best = bound_us(load, int(found["k"][0]), float(found["busy_us"][0]))
    took = over_seeds(found, pl.col("job_us").first())
    return SeedSummary(tuple(value / best for value in took.values), at_least=int(found["unfinished"].sum()) > 0)


def _table(rows: pl.DataFrame, load: str) -> Table:
    """Returns a line per transport: time of the job, flows with a timeout, lost and trimmed packets."""
    columns = {
        "job_us": "job, us",
        "unfinished": "did not end",
        "late": "flows with a timeout",
        "drops": "lost packets",
        "trims": "trimmed packets",
    }
    table = ALONE.table(rows.filter(load=load), columns)
    over = [str(_ratio(rows, load, name)) for name in TRANSPORTS]
    lines = ((*line, ratio) for line, ratio in zip(table.rows, over, strict=True))
    return Table((*table.columns, "over the bound"), tuple(lines))


def _near(rows: pl.DataFrame, load: str) -> Claim:
    found = {name: _ratio(rows, load, name) for name in SPRAYED}
    return ALONE.at_most(
        f"{load.capitalize()}: sprayed packets end within {NEAR} of the lower bound",
        NEAR,
        found,
        "time of the job over the bound; holds if the mean of each does",
        _table(rows, load),
    )


def _apart(rows: pl.DataFrame) -> Claim:
    found = {name: _ratio(rows, REDUCE, name) for name in SINGLE_PATH}
    return ALONE.at_least(
        f"All-reduce: transports with one path need at least {APART} times the lower bound",
        APART,
        found,
        "long messages of a step share links of the network if a hash chooses the paths",
    )


def _before(rows: pl.DataFrame, load: str, names: tuple[str, ...], last: str, what: str) -> Claim:
    return ALONE.sooner(
        f"{load.capitalize()}: {what}",
        last,
        {name: _ratio(rows, load, name) for name in (last, *names)},
        "time of the job over the bound without such links; holds if the mean of each does",
        _table(rows, load) if load != REDUCE else None,
    )
