"""Published scenes of the UEC's simulator (result files of 8 August 2025) as specs, and the outcome of a run.

All scenes have links of 100 Gbps and 1 us. A queue of `packets` holds one packet less than there, because the packet
being sent is not a part of Weft's limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

import weft

MTU = 4150
PAYLOAD = 4086

Spec = dict[str, Any]


@dataclass(frozen=True)
class Flow:
    """A row of a traffic matrix."""

    sender: int
    receiver: int
    size_bytes: int
    start_us: float = 0.0


@dataclass(frozen=True)
class Scene:
    """A scene without its expected outcome."""

    hosts: int
    flows: tuple[Flow, ...]
    control: str = "sender"
    load_balancing: str = "mixed"
    entropies: int = 64
    ack_bytes: int = 16384
    queue_packets: int | None = None
    initial_window_packets: int | None = None
    slow_links: int = 0
    duration_us: int = 3000
    seed: int = 13


@dataclass(frozen=True)
class Outcome:
    """Completions in microseconds, and counters, as in the published files."""

    first_us: float
    last_us: float
    new: int
    retransmitted: int
    rts: int
    acks: int
    nacks: int
    pulls: int


def trimming(packets: int, *, marks: bool, full_queue: int) -> Spec:
    """A queue with the ramp of a network whose bandwidth-delay product is `packets`."""
    ramp = {"mark_min": f"{-(-packets // 5) * MTU}B", "mark_max": f"{-(-4 * packets // 5) * MTU}B"}
    return {"name": "trimming", "headers": f"{2 * full_queue * MTU}B"} | (ramp if marks else {})


def spec(scene: Scene, flows_file: str) -> Spec:
    """The spec of a scene on a fat-tree, with its flows in a file."""
    k = round((4 * scene.hosts) ** (1 / 3))
    packets = 43  # The bandwidth-delay product of the longest path.
    full = scene.queue_packets or packets
    uet: Spec = {
        "control": scene.control,
        "load_balancing": scene.load_balancing,
        "entropies": scene.entropies,
        "ack_bytes": f"{scene.ack_bytes}B",
        "simulator_quirks": True,
    }
    if scene.initial_window_packets:
        uet["initial_window"] = f"{scene.initial_window_packets * MTU}B"
    found: Spec = {
        "name": "scene",
        "duration": f"{scene.duration_us}us",
        "seed": scene.seed,
        "topology": {"kind": "fat-tree", "k": k, "rate": "100Gbps", "delay": "1us"},
        "queues": {"limit": f"{full - 1} packets", "kind": trimming(packets, marks=True, full_queue=full)},
        "hosts": {"jitter": "0s", "clock_ppm": 0, "qdisc": "switch"},
        "transports": {"uet": {"kind": "uet", "uet": uet}},
        "traffic": [{"kind": "flow-list", "transport": "uet", "file": flows_file}],
    }
    if scene.control != "sender":
        found["layers"] = {"tor-host": {"queue": trimming(packets, marks=False, full_queue=full)}}
    if scene.slow_links:
        # Links down to the first aggregation switch.
        links = [f"core0.{core}->agg0.0" for core in range(scene.slow_links)]
        found["events"] = [{"at": "0s", "links": links, "bidirectional": False, "rate": "25Gbps"}]
    return found


def flow_list(scene: Scene) -> str:
    """The flows of a scene as a file."""
    rows = [f"h{f.sender},h{f.receiver},{f.size_bytes},{f.start_us * 1e-6}" for f in scene.flows]
    return "\n".join(["from,to,size_bytes,start_s", *rows]) + "\n"


def outcome(result: weft.Result) -> Outcome:
    """Returns the figures of a run that published files have."""
    flows, subflows = result.flows, result.subflows
    assert flows["acked_s"].null_count() == 0, "a flow has not completed"
    completions = flows["acked_s"] * 1e6
    sums = subflows.select(
        pl.col("packets_sent", "retransmitted", "rts_sent", "acks_received", "nacks_received", "pulls_received").sum()
    ).row(0)
    sent, retransmitted, rts, acks, nacks, pulls = sums
    first, last = completions.min(), completions.max()
    assert isinstance(first, float)
    assert isinstance(last, float)
    return Outcome(first, last, sent - retransmitted, retransmitted, rts, acks, nacks, pulls)
