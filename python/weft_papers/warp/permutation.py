"""A permutation of flows without an end in fat-trees of 128 and 1,024 hosts: goodput, fairness and queues.

Links of 1 Gbps and the TCP settings of `beyond/all-schemes`; 8 subflows over ECMP. Queues are those between switches.
"""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure as Plot

from weft import Experiment, Result, stats
from weft.sweeps.cases import Case
from weft_papers.beyond.all_schemes import LONG_MS, QUICK_LONG_MS, QUICK_SETTLED_MS, SETTLED_MS, TCP
from weft_papers.figure import Claim, Scale, Table
from weft_papers.seed_summary import SeedSummary, listed, means_and_ranges, over_seeds
from weft_papers.warp.settings import COLOURS, SCHEMES, WARP, label

PORTS: dict[int, tuple[str, ...]] = {8: tuple(SCHEMES), 16: ("warp", "warp-rr", "lia", "amp", "ecmp")}
"""Schemes by the number of ports of a switch."""
QUICK_PORTS = (8,)
LAYERS = ("tor-agg", "agg-core", "core-agg", "agg-tor")
QUICK = (
    f"128 hosts only, measured for {QUICK_LONG_MS - QUICK_SETTLED_MS} ms instead of {LONG_MS - SETTLED_MS} ms: "
    "fewer RTOs fit in"
)
COLUMNS = {
    "mbps": "goodput of a flow (Mbps)",
    "jain": "Jain's index",
    "queue": "mean queue (packets)",
    "late": "flows with a timeout (%)",
}


def cases(scale: Scale) -> list[Case]:
    """Returns runs of every scheme with 128 hosts, and of some with 1,024."""
    return [
        Case({"hosts": _hosts(ports), "scheme": name}, _experiment(ports, name, quick=scale.quick), seed)
        for ports in (QUICK_PORTS if scale.quick else PORTS)
        for name in PORTS[ports]
        for seed in range(1, scale.seeds + 1)
    ]


def measure(result: Result) -> pl.DataFrame:
    """Returns one row: mean goodput of a flow, Jain's index, mean length of the queues between switches, timeouts."""
    return result.flows.select(
        mbps=pl.col("goodput_bps").mean() * 1e-6,
        jain=stats.jain("goodput_bps"),
        queue=pl.lit(result.queues["mean_packets"].mean()),
        late=100 * ((pl.col("timeouts") + pl.col("syn_timeouts")) > 0).mean(),
    )


def claims(rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims of the criteria for either size, and the results of every scheme."""
    found: list[Claim] = []
    for ports in PORTS:
        here = rows.filter(hosts=_hosts(ports))
        if here.is_empty():
            continue
        mbps, jain, queue = (_of(here, column) for column in ("mbps", "jain", "queue"))
        where = f"{_hosts(ports)} hosts"
        found += [
            Claim(
                f"{where}: goodput at least LIA's",
                "at least LIA's",
                _shown(mbps, "Mbps"),
                mbps[WARP].mean >= mbps["lia"].mean,
                WHY,
                table=_table(here),
            ),
            Claim(
                f"{where}: Jain's index above LIA's",
                "above LIA's",
                _shown(jain),
                jain[WARP].mean > jain["lia"].mean,
                "of the flows' goodput, mean over the seeds",
            ),
            Claim(
                f"{where}: mean queue at most AMP's",
                "at most AMP's",
                _shown(queue, "packets"),
                queue[WARP].mean <= queue["amp"].mean,
                "of all queues between switches over time, mean over the seeds",
            ),
        ]
    return found


WHY = "mean of the flows, mean over the seeds; the table has every scheme"


def plot(rows: pl.DataFrame) -> Plot:
    """Mean goodput, Jain's index and mean queue of every scheme: mean and range of the seeds."""
    sizes = rows["hosts"].unique().sort().to_list()
    plot = Plot(figsize=(11, 4 * len(sizes)), layout="constrained")
    grid = plot.subplots(len(sizes), 3, squeeze=False)
    for panels, hosts in zip(grid, sizes, strict=True):
        here = rows.filter(hosts=hosts)
        for axes, column in zip(panels, ("mbps", "jain", "queue"), strict=True):
            values = _of(here, column)
            means, reach = means_and_ranges(values.values())
            colours = [COLOURS.get(value, "#bbbbbb") for value in values]
            axes.barh([label(value) for value in values], means, xerr=reach, color=colours)
            axes.invert_yaxis()
            axes.set_title(f"{hosts} hosts: {COLUMNS[column]}", fontsize="medium")
            axes.grid(visible=True, axis="x", alpha=0.3)
    return plot


def _hosts(ports: int) -> int:
    return ports**3 // 4


def _experiment(ports: int, name: str, *, quick: bool) -> Experiment:
    settled, end = (QUICK_SETTLED_MS, QUICK_LONG_MS) if quick else (SETTLED_MS, LONG_MS)
    return Experiment.model_validate(
        {
            "name": f"permutation-{_hosts(ports)}-{name}",
            "duration": f"{end}ms",
            "measure": {"start": f"{settled}ms"},
            "topology": {"kind": "fat-tree", "k": ports, "rate": "1Gbps", "delay": "5us"},
            "queues": {"limit": "100 packets", "mark": "20 packets"},
            "transports": {name: {**SCHEMES[name].transport, "tcp": TCP}},
            "traffic": [{"kind": "bulk", "transport": name, "pairs": "permutation", "jitter": "1ms"}],
            "probes": [{"kind": "queue", "at": LAYERS}],
        }
    )


def _of(rows: pl.DataFrame, column: str) -> dict[str, SeedSummary]:
    """Returns a column of every scheme that ran."""
    ran = set(rows["scheme"].unique())
    return {name: over_seeds(rows.filter(scheme=name), pl.col(column).first()) for name in SCHEMES if name in ran}


def _shown(values: dict[str, SeedSummary], unit: str = "") -> str:
    named = listed((label(name), values[name]) for name in ("warp", "warp-rr", "lia", "amp"))
    return f"{named} {unit}".strip()


def _table(rows: pl.DataFrame) -> Table:
    columns = {column: _of(rows, column) for column in COLUMNS}
    lines = ((label(name), *(str(values[name]) for values in columns.values())) for name in columns["mbps"])
    return Table(("scheme", *COLUMNS.values()), tuple(lines))
