"""The scenes of `fluid.py` at the packet level: one bottleneck, and two.

Subflows send whenever their windows have room (`scheduler = "round-robin"`) and every segment is acknowledged, as the
model has it; research/warp/analysis.md says what the other scheduler and delayed acknowledgements do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

import weft
from tests.stability.fluid import Scene

WIRE_BYTES = 1514
GBPS = 10
HOST_GBPS = 40
"""Hosts are faster, so that queues are at bottlenecks only."""


@dataclass(frozen=True)
class Measured:
    """Measurements of the settled part of a run."""

    bdp: float
    """The bandwidth-delay product of the bottleneck without queues, in packets."""
    utilisation: float
    """Utilisation of the first bottleneck, 0 to 1."""
    low: float
    high: float
    mean: float
    """The first bottleneck's queue in packets: 1st percentile, 99th percentile and mean over time."""
    swing: float
    """Standard deviation over time of the first subflow's part of its connection's window, mean of the connections."""
    together: float
    """Standard deviation over time of the sum of all connections' windows."""
    goodputs: tuple[float, float]
    """Mean of a Warp connection, and of a DCTCP flow, in Gbps; 0 where there is none."""


def bdp(delay_us: int) -> float:
    """Packets that a path of three links holds in a round-trip time without queues."""
    bits = 8 * WIRE_BYTES
    seconds = 6 * delay_us * 1e-6 + bits / (GBPS * 1e9) + 2 * bits / (HOST_GBPS * 1e9)
    return seconds * GBPS * 1e9 / bits


def scene(delay_us: int, **parts: Any) -> Scene:
    """The scene of `run` for the fluid model."""
    return Scene(bdp=bdp(delay_us), **parts)


def run(
    of: Scene, delay_us: int, kappa: float, seed: int = 1, end_ms: int = 120, cc: str = "warp", **transport: Any
) -> Measured:
    """One run; the first fourth is left out."""
    warp: dict[str, Any] = {"name": cc, "kappa": kappa} if cc == "warp" else {"name": cc}
    tcp = {"ack_every": 1}
    two = max(of.paths) > 0
    m = len(of.paths)
    experiment = {
        "name": "stability",
        "duration": f"{end_ms}ms",
        "measure": {"start": f"{end_ms // 4}ms"},
        "topology": {
            "kind": "two-bottlenecks",
            "rate": f"{GBPS}Gbps",
            "host_rate": f"{HOST_GBPS}Gbps",
            "delay": f"{delay_us}us",
        },
        "queues": {"limit": "1000 packets", "mark": f"{of.mark:.0f} packets"},
        "transports": {
            "warp": {"cc": warp, "subflows": m, "scheduler": "round-robin", "tcp": tcp, **transport},
            "dctcp": {"cc": "dctcp", "tcp": tcp},
        },
        "traffic": [
            {
                "kind": "bulk",
                "name": "warp",
                "transport": "warp",
                "pairs": [["S2", "D2"] if two else ["S1", "D1"]] * of.connections,
                "jitter": "1ms",
            },
            *(
                {
                    "kind": "bulk",
                    "name": f"dctcp-{link}",
                    "transport": "dctcp",
                    "pairs": [[f"S{1 + 2 * link}", f"D{1 + 2 * link}"]] * n,
                    "jitter": "1ms",
                }
                for link, n in enumerate(of.dctcp)
                if n > 0
            ),
        ],
        "probes": [
            {"kind": "queue", "at": ["upper-in->upper-out"], "interval": "10us"},
            {"kind": "flow", "traffic": "warp", "interval": "20us"},
        ],
    }
    return _measured(weft.run(experiment, seed=seed), bdp(delay_us), end_ms / 4e3)


def _measured(result: weft.Result, bdp: float, from_s: float) -> Measured:
    queue = result.queues.row(0, named=True)
    seconds = np.array(queue["time_at_length_s"])
    share = np.cumsum(seconds) / seconds.sum()
    low, high = (float(np.searchsorted(share, part)) for part in (0.01, 0.99))
    window = pl.when("active").then("cwnd_packets").otherwise(0.0)
    traces = result.traces.drop_nulls("cwnd_packets").filter(pl.col("time_s") > from_s)
    at = traces.select("flow", "subflow", "time_s", w=window)
    by_time = at.group_by("flow", "time_s").agg(
        part=pl.col("w").filter(pl.col("subflow") == 0).sum() / pl.col("w").sum(),
        first=pl.col("w").filter(pl.col("subflow") == 0).sum(),
        all=pl.col("w").sum(),
    )
    both = by_time.group_by("time_s").agg(pl.col("first").sum() / pl.col("all").sum())
    link = result.links.filter((pl.col("from") == "upper-in") & (pl.col("to") == "upper-out"))
    ours = result.flows.filter(traffic="warp")["goodput_bps"].mean()
    others = result.flows.filter(pl.col("traffic") != "warp")["goodput_bps"].mean()
    return Measured(
        bdp=bdp,
        utilisation=float(link["utilisation"].item()),
        low=low,
        high=high,
        mean=float(queue["mean_packets"]),
        swing=float(by_time.group_by("flow").agg(pl.col("part").std())["part"].mean()),  # type: ignore[arg-type]
        together=float(both["first"].std()),  # type: ignore[arg-type]
        goodputs=(1e-9 * float(ours or 0), 1e-9 * float(others or 0)),  # type: ignore[arg-type]
    )
