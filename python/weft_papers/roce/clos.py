"""An incast on the paper's testbed: pauses alone are unfair and harm flows that have no part in it, DCQCN does not.

The topology is that of figure 2 of the paper: four racks (T1 to T4) of two pods, two leaves per pod, two spines, links
of 40 Gbps. In "parking lot" (figures 3 and 8), H1 to H3 of the other racks and H4 of the receiver's own rack send to
one host. In "victim" (figures 4 and 9), four hosts of T1 and up to two of T3 send to a host of T4. A host of T1 sends
to one of T2. Each flow has one of eight paths, as by ECMP, from the same draws for both transports.
"""

from __future__ import annotations

from random import Random
from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.roce.settings import DCQCN, PFC, QUEUES, RATE, TRANSPORTS
from weft_papers.seed_summary import SeedSummary, over_seeds

PARKING, VICTIM = SCENES = ("parking lot", "victim")
OTHERS, QUICK_OTHERS = (0, 1, 2), (0, 2)
"""Numbers of senders of T3 in "victim"."""
HOSTS_PER_RACK = 5
END_MS, QUICK_END_MS, START_MS, QUICK_START_MS = 120, 80, 60, 50
PATHS = 8
"""Number of paths between two hosts of different pods."""
DRAWS, QUICK_DRAWS = 8, 4
"""Number of draws of the paths of all flows; medians and means are over them."""
QUICK = f"{QUICK_END_MS} ms instead of {END_MS} ms, {QUICK_DRAWS} draws of paths instead of {DRAWS}"
FAIR, UNFAIR, KEPT, LOST = 0.95, 1.5, 0.9, 0.75
COLOURS = {PFC: "#d55e00", DCQCN: "#0072b2"}


def cases(scale: Scale) -> list[Case]:
    """Returns runs of both scenes with several draws of paths."""
    draws, others = (QUICK_DRAWS, QUICK_OTHERS) if scale.quick else (DRAWS, OTHERS)
    scenes = [(PARKING, 0), *((VICTIM, n) for n in others)]
    return [
        _case(scene, n, transport, draw, seed, quick=scale.quick)
        for scene, n in scenes
        for transport in TRANSPORTS
        for draw in range(draws)
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: the goodput in Gbps of each flow of the incast and of the victim, pauses and losses."""
    start, end = result.manifest["measured_s"]
    flows = result.flows.sort("flow")
    gbps = (pl.col("measured_bytes") * 8e-9 / (end - start)).alias("gbps")
    rates = {
        name: flows.filter(pl.col("traffic").str.starts_with(name)).select(gbps)["gbps"].to_list()
        for name in ("incast", "near", "victim")
    }
    return pl.DataFrame(
        {
            "incast": [rates["incast"]],
            "near": [rates["near"][0] if rates["near"] else None],
            "victim": [rates["victim"][0] if rates["victim"] else None],
            "drops": [int(result.links["drops"].sum())],
            "pauses": [int(result.links["pauses"].sum())],
        },
        schema_overrides={"near": pl.Float64, "victim": pl.Float64},
    )


def plot(rows: pl.DataFrame) -> Plot:
    """Goodput of the senders of the parking lot, and of the victim by the number of senders of T3."""
    plot = Plot(figsize=(8, 3.4), layout="constrained")
    left, right = plot.subplots(1, 2)
    width = 0.4
    for step, (transport, colour) in enumerate(COLOURS.items()):
        chosen = rows.filter(scene=PARKING, transport=transport)
        senders = [pl.col("incast").list.get(i) for i in range(3)] + [pl.col("near")]
        means = [chosen.select(sender.mean()).item() for sender in senders]
        label = "pauses alone" if transport == PFC else "DCQCN"
        left.bar([n + (step - 0.5) * width for n in range(4)], means, width, color=colour, label=label)
        others = sorted(rows.filter(scene=VICTIM)["others"].unique().to_list())
        right.plot(others, [_victim(rows, transport, n).mean for n in others], "o-", color=colour)
    left.set_xticks(range(4), ["H1", "H2", "H3", "H4"])
    left.set_ylabel("mean goodput (Gbps)")
    right.set(xlabel="senders of T3", ylabel="median goodput of the victim (Gbps)")
    for axes in (left, right):
        axes.set_ylim(bottom=0)
        axes.grid(visible=True, axis="y", alpha=0.3)
    left.legend(frameon=False)
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims that were expected before any run."""
    near = {transport: _near_over_far(rows, transport) for transport in TRANSPORTS}
    jain = {transport: _jain(rows, transport) for transport in TRANSPORTS}
    most = max(rows.filter(scene=VICTIM)["others"].to_list())
    kept = {transport: _victim(rows, transport, most) / _victim(rows, transport, 0) for transport in TRANSPORTS}
    drops = int(rows["drops"].sum())
    return [
        Claim(
            "Pauses alone: the sender in the receiver's rack has more than its share",
            f"goodput at least {UNFAIR} times the mean of the other senders",
            str(near[PFC]),
            near[PFC].mean >= UNFAIR,
            "parking lot, mean over draws of paths: the switch pauses its incoming links alike, and one of them has "
            "only this flow",
        ),
        Claim(
            "DCQCN: all senders of the parking lot have the same goodput",
            f"Jain's index at least {FAIR}, mean over draws of paths",
            f"{jain[DCQCN]}; with pauses alone {jain[PFC]}",
            jain[DCQCN].mean >= FAIR,
            "parking lot, four flows",
            table=_table(rows),
        ),
        Claim(
            "Pauses alone: a flow that shares no link with the senders of T3 loses goodput because of them",
            f"median at most {LOST} of that without senders of T3",
            str(kept[PFC]),
            kept[PFC].mean <= LOST,
            f"{most} senders of T3; median over draws of paths",
        ),
        Claim(
            "DCQCN: that flow keeps its goodput",
            f"median at least {KEPT} of that without senders of T3",
            str(kept[DCQCN]),
            kept[DCQCN].mean >= KEPT,
            f"{most} senders of T3; median over draws of paths",
        ),
        Claim(
            "DCQCN: the victim has more goodput than with pauses alone",
            "median above that with pauses alone, with and without senders of T3",
            ", ".join(f"{_victim(rows, DCQCN, n)} against {_victim(rows, PFC, n)} with {n}" for n in sorted({0, most})),
            all(_victim(rows, DCQCN, n).mean > _victim(rows, PFC, n).mean for n in {0, most}),
            "Gbps, median over draws of paths",
        ),
        Claim(
            "With pauses no packet is dropped",
            "0 drops",
            f"{drops} drops",
            drops == 0,
            "sum over all runs",
        ),
    ]


def topology() -> dict[str, Any]:
    """Returns the testbed: hosts h0 to h19 in racks of five, T1 to T4 (t0 to t3), leaves l0 to l3, spines s0 and s1."""
    hosts = [f"h{n}" for n in range(4 * HOSTS_PER_RACK)]
    switches = [f"{tier}{n}" for tier, count in (("t", 4), ("l", 4), ("s", 2)) for n in range(count)]
    links = [{"a": host, "b": f"t{n // HOSTS_PER_RACK}"} for n, host in enumerate(hosts)]
    links += [{"a": f"t{rack}", "b": f"l{rack // 2 * 2 + leaf}"} for rack in range(4) for leaf in range(2)]
    links += [{"a": f"l{leaf}", "b": f"s{spine}"} for leaf in range(4) for spine in range(2)]
    return {"kind": "graph", "hosts": hosts, "switches": switches, "links": links, "rate": RATE, "delay": "1us"}


def _case(scene: str, others: int, transport: str, draw: int, seed: int, *, quick: bool) -> Case:
    t1, t2, t3, t4 = (HOSTS_PER_RACK * rack for rack in range(4))
    if scene == PARKING:
        pairs = {"incast": [[t1, t4], [t2, t4], [t3, t4]], "near": [[t4 + 1, t4]]}
    else:
        pairs = {
            "incast": [[t1 + n, t4] for n in range(4)],
            "far": [[t3 + n, t4] for n in range(others)],
            "victim": [[t1 + 4, t2]],
        }
    end, start = (QUICK_END_MS, QUICK_START_MS) if quick else (END_MS, START_MS)
    paths = Random(draw)  # noqa: S311 (a choice of paths, no secret)
    traffic = [
        {"kind": "bulk", "name": f"{name}-{n}", "transport": f"path{paths.randrange(PATHS)}", "pairs": [pair]}
        for name, some in pairs.items()
        for n, pair in enumerate(some)
    ]
    pinned = {
        f"path{n}": TRANSPORTS[transport] | {"paths": {"name": "pinned", "path": n}}
        for n in range(PATHS)
        if any(entry["transport"] == f"path{n}" for entry in traffic)
    }
    spec = {
        "name": f"{scene.replace(' ', '-')}-{others}-{transport}-{draw}",
        "duration": f"{end}ms",
        "measure": {"start": f"{start}ms"},
        "topology": topology(),
        "queues": QUEUES,
        "transports": pinned,
        "traffic": traffic,
    }
    labels: dict[str, str | int | float] = {"scene": scene, "others": others, "transport": transport, "draw": draw}
    return Case(labels, Experiment.model_validate(spec), seed)


def _near_over_far(rows: pl.DataFrame, transport: str) -> SeedSummary:
    ratio = (pl.col("near") / pl.col("incast").list.mean()).mean()
    return over_seeds(rows.filter(scene=PARKING, transport=transport), ratio)


def _jain(rows: pl.DataFrame, transport: str) -> SeedSummary:
    flows = pl.concat_list("incast", "near")
    squares = flows.list.eval(pl.element() ** 2).list.sum()
    index = (flows.list.sum() ** 2 / (flows.list.len() * squares)).mean()
    return over_seeds(rows.filter(scene=PARKING, transport=transport), index)


def _victim(rows: pl.DataFrame, transport: str, others: int) -> SeedSummary:
    chosen = rows.filter(scene=VICTIM, transport=transport, others=others)
    return over_seeds(chosen, pl.col("victim").median(), "Gbps")


def _table(rows: pl.DataFrame) -> Table:
    others = sorted(rows.filter(scene=VICTIM)["others"].unique().to_list())
    lines = [
        (
            transport,
            str(_near_over_far(rows, transport)),
            str(_jain(rows, transport)),
            *(str(_victim(rows, transport, n)) for n in others),
        )
        for transport in TRANSPORTS
    ]
    heads = ("transport", "H4 over H1 to H3", "Jain's index", *(f"victim, {n} senders of T3" for n in others))
    return Table(heads, tuple(lines))
