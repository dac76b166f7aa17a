"""An incast in a network with pauses (PFC): what it gains, and the flows that have no part in it.

Twelve hosts of the first rack send to one host of the third. Two groups of flows share links with them, but not the
congested port. Four hosts of the first rack send to the second, and four hosts of the second rack send to other hosts
of the third. The fabric is a leaf-spine with one spine. Hosts have 10 Gbps and the links to the spine 200 Gbps.
Buffers and K = 20 packets were chosen.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result
from weft.stats import digits
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Scale, Table
from weft_papers.seed_summary import SeedSummary, over_seeds

HOSTS, SENDERS, VICTIMS = 16, 12, 4
FABRIC: dict[str, Any] = {
    "kind": "leaf-spine",
    "leaves": 3,
    "hosts_per_leaf": HOSTS,
    "spines": 1,
    "rate": "10Gbps",
    "spine_rate": "200Gbps",
    "delay": "1us",
}
FIFO, LOSSLESS = "fifo", "lossless"
QUEUES: dict[str, dict[str, Any]] = {
    FIFO: {"limit": "100 packets"},
    LOSSLESS: {"limit": "300KB", "kind": "lossless"},
}
PERSISTENT, ROUNDS = "persistent", "rounds"
"""Loads: flows without an end, or rounds of 36 flows of 64 KiB."""
TRANSPORTS: dict[str, dict[str, Any]] = {
    "reno": {"cc": "reno", "tcp": {"min_rto": "10ms"}},
    "dctcp": {"cc": "dctcp", "tcp": {"min_rto": "10ms"}},
}
UP, DOWN = "victims-up", "victims-down"
"""Flows that leave the rack of the senders, and flows that enter the rack of the receiver."""
GROUPS = {UP: "from the senders' rack", DOWN: "to the receiver's rack"}
COLOURS = {(FIFO, "reno"): "#bbbbbb", (FIFO, "dctcp"): "#444444", (LOSSLESS, "reno"): "#d55e00"} | {
    (LOSSLESS, "dctcp"): "#0072b2"
}
END_MS, QUICK_END_MS, START_MS = 60, 25, 5
FLOWS = 36
QUICK = f"{QUICK_END_MS} ms instead of {END_MS} ms"
HALF, KEPT, FEWER = 0.5, 0.9, 0.1


def cases(scale: Scale) -> list[Case]:
    """Returns runs of each load, transport and kind of queue."""
    return [
        _case(load, transport, queue, seed, quick=scale.quick)
        for load in (PERSISTENT, ROUNDS)
        for transport in TRANSPORTS
        for queue in QUEUES
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: goodput in Gbps per victim, FCT of the incast in us, pauses, blocked packets and losses."""
    start, end = result.manifest["measured_s"]
    flows, links = result.flows, result.links
    incast = flows.filter(traffic="incast")
    ended = incast.drop_nulls("fct_s")["fct_s"] * 1e6
    values: dict[str, Any] = {
        "p99_us": ended.quantile(0.99, interpolation="linear"),
        "unfinished": incast["unfinished_s"].count(),
        "timeouts": int((incast["timeouts"] + incast["syn_timeouts"]).sum()),
        "drops": int(links["drops"].sum()),
        "pauses": int(links["pauses"].sum()),
        "paused_ms": 1e3 * float(links["paused_s"].sum()),
    }
    for group in GROUPS:
        here = flows.filter(traffic=group)
        values[f"{group}_gbps"] = 8e-9 * int(here["measured_bytes"].sum()) / (end - start) / VICTIMS
        values[f"{group}_blocked"] = int(here["packets_blocked"].sum())
        values[f"{group}_blocked_us"] = (
            1e6 * float(here["blocked_s"].sum()) / max(1, int(here["packets_blocked"].sum()))
        )
    return pl.DataFrame([values], schema_overrides={"p99_us": pl.Float64})


def plot(rows: pl.DataFrame) -> Plot:
    """Goodput per victim during a long incast, and the 99th percentile of the FCT of rounds of incast."""
    plot = Plot(figsize=(8, 3.6), layout="constrained")
    left, right = plot.subplots(1, 2)
    width = 0.8 / len(COLOURS)
    for step, ((queue, transport), colour) in enumerate(COLOURS.items()):
        shift = (step - (len(COLOURS) - 1) / 2) * width
        means = [_of(rows, PERSISTENT, transport, queue, f"{group}_gbps", "").mean for group in GROUPS]
        label = f"{transport.upper() if transport == 'dctcp' else 'Reno'}, {queue}"
        left.bar([n + shift for n in range(len(GROUPS))], means, width, color=colour, label=label)
        right.bar([step], [_of(rows, ROUNDS, transport, queue, "p99_us", "").mean], 0.8, color=colour)
    left.set_xticks(range(len(GROUPS)), list(GROUPS.values()))
    left.set(ylabel="goodput per victim (Gbps)", ylim=(0, None))
    plot.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=len(COLOURS), frameon=False)
    right.set(xticks=[], ylim=(0, None), ylabel="99th percentile of the incast's FCT (us)")
    for axes in (left, right):
        axes.grid(visible=True, axis="y", alpha=0.3)
    return plot


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims that were expected before any run."""
    reno, dctcp = (_kept(rows, PERSISTENT, transport) for transport in TRANSPORTS)
    pauses = {
        transport: _of(rows, PERSISTENT, transport, LOSSLESS, "pauses", "pauses").mean for transport in TRANSPORTS
    }
    return [
        _no_losses(rows),
        Claim(
            "Long incast by Reno: victims have at most half of the goodput that they have with FIFOs",
            f"at most {HALF}",
            _listed(reno),
            all(ratio.mean <= HALF for ratio in reno.values()),
            "goodput over that with FIFOs; holds if both groups of victims do. Pauses stop links that victims use",
            table=_table(rows),
        ),
        Claim(
            "Long incast by DCTCP, K = 20 packets: victims keep their goodput",
            f"at least {KEPT} of that with FIFOs",
            _listed(dctcp),
            all(ratio.mean >= KEPT for ratio in dctcp.values()),
            "holds if both groups of victims do. Marks keep the queue of the congested port below the length of a "
            "pause",
        ),
        Claim(
            "Long incast: DCTCP causes at most a tenth of the pauses that Reno causes",
            f"at most {FEWER}",
            f"{digits(pauses['dctcp'])} against {digits(pauses['reno'])} pauses",
            pauses["reno"] > 0 and pauses["dctcp"] <= FEWER * pauses["reno"],
            "pauses of all links in the measured time, mean over the seeds",
        ),
        _tails(rows),
    ]


def _case(load: str, transport: str, queue: str, seed: int, *, quick: bool) -> Case:
    end_ms = QUICK_END_MS if quick else END_MS
    receiver = 2 * HOSTS
    incast: dict[str, Any] = {"name": "incast", "transport": transport, "from": f"0..{SENDERS}", "to": receiver}
    if load == PERSISTENT:
        incast |= {"kind": "bulk"}
    else:
        incast |= {
            "kind": "incast",
            "flows": FLOWS,
            "size": "64KiB",
            "rounds": (end_ms - START_MS) // 5 - 1,
            "interval": "5ms",
            "start": f"{START_MS}ms",
        }
    groups = {UP: (SENDERS, HOSTS), DOWN: (HOSTS + VICTIMS, receiver + 1)}
    pairs = {name: [[a + i, b + i] for i in range(VICTIMS)] for name, (a, b) in groups.items()}
    victims = [
        {"kind": "bulk", "name": name, "transport": transport, "pairs": [list(pair) for pair in some]}
        for name, some in pairs.items()
    ]
    experiment = Experiment.model_validate(
        {
            "name": f"{load}-{transport}-{queue}",
            "duration": f"{end_ms}ms",
            "measure": {"start": f"{START_MS}ms"},
            "topology": FABRIC,
            "queues": {"mark": "20 packets", **QUEUES[queue]},
            "transports": {transport: TRANSPORTS[transport]},
            "traffic": [incast, *victims],
        }
    )
    return Case({"load": load, "transport": transport, "queue": queue}, experiment, seed)


def _of(rows: pl.DataFrame, load: str, transport: str, queue: str, column: str, unit: str) -> SeedSummary:
    return over_seeds(rows.filter(load=load, transport=transport, queue=queue), pl.col(column).first(), unit)


def _kept(rows: pl.DataFrame, load: str, transport: str) -> dict[str, SeedSummary]:
    """Returns the goodput of victims over that with FIFOs, by group."""
    return {
        group: _of(rows, load, transport, LOSSLESS, f"{group}_gbps", "")
        / _of(rows, load, transport, FIFO, f"{group}_gbps", "")
        for group in GROUPS
    }


def _listed(ratios: dict[str, SeedSummary]) -> str:
    return ", ".join(f"{GROUPS[group]} {ratio}" for group, ratio in ratios.items())


def _no_losses(rows: pl.DataFrame) -> Claim:
    lossless, fifo = (rows.filter(load=ROUNDS, queue=queue) for queue in (LOSSLESS, FIFO))
    drops, timeouts = int(lossless["drops"].sum()), int(lossless["timeouts"].sum())
    before = fifo.group_by("transport").agg(pl.col("timeouts").sum()).sort("transport")
    counts = ", ".join(f"{count} by {transport}" for transport, count in before.iter_rows())
    return Claim(
        "Rounds of incast: with pauses no packet is dropped and no flow times out; with FIFOs flows do",
        "0 drops and timeouts; more than 0",
        f"{drops} drops and {timeouts} timeouts; with FIFOs timeouts: {counts}",
        drops == 0 and timeouts == 0 and all(count > 0 for count in before["timeouts"]),
        "sums over the seeds; holds if FIFOs have timeouts with both transports",
    )


def _tails(rows: pl.DataFrame) -> Claim:
    ratios = {
        transport: _of(rows, ROUNDS, transport, LOSSLESS, "p99_us", "")
        / _of(rows, ROUNDS, transport, FIFO, "p99_us", "")
        for transport in TRANSPORTS
    }
    return Claim(
        "Rounds of incast: the 99th percentile of the FCT is at most half of that with FIFOs",
        f"at most {HALF}",
        ", ".join(f"{transport} {ratio}" for transport, ratio in ratios.items()),
        all(ratio.mean <= HALF for ratio in ratios.values()),
        "holds if both transports do; a timeout takes at least 10 ms",
    )


def _table(rows: pl.DataFrame) -> Table:
    lines = []
    for load in (PERSISTENT, ROUNDS):
        for transport in TRANSPORTS:
            for queue in QUEUES:
                cells = []
                for group in GROUPS:
                    cells += [
                        str(_of(rows, load, transport, queue, f"{group}_{column}", unit))
                        for column, unit in (("gbps", "Gbps"), ("blocked", ""), ("blocked_us", "us"))
                    ]
                pauses = _of(rows, load, transport, queue, "pauses", "")
                lines.append((load, transport, queue, *cells, str(pauses)))
    heads = (
        f"{what} {name}" for name in GROUPS.values() for what in ("goodput", "blocked packets", "mean time blocked")
    )
    return Table(("incast", "transport", "queues", *heads, "pauses"), tuple(lines))
