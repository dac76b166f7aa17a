"""RDMA over converged Ethernet: DCQCN's fixed point, fairness, pauses without losses, and loss recovery."""

from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest

import weft
from tests.relations.random_specs import topology
from weft_papers.roce.fluid import Dcqcn
from weft_papers.roce.settings import MARKS

CASES = int(os.environ.get("CASES", "30"))
"""Number of random networks with headrooms at their bounds."""
MARKS_END = 200e3
"""End of the ramp of marks in bytes."""
Spec = dict[str, Any]


def bottleneck(senders: int, roce: Spec, **changes: Any) -> Spec:
    return {
        "name": "bottleneck",
        "duration": "60ms",
        "topology": {"kind": "many-to-one", "senders": senders, "rate": "40Gbps", "delay": "1us"},
        "queues": {"limit": "500KB", "kind": {"name": "lossless", **MARKS}},
        "transports": {"rdma": {"kind": "roce", "roce": roce}},
        "traffic": [{"kind": "bulk", "transport": "rdma", "from": f"0..{senders}", "to": senders}],
    } | changes


def test_the_fixed_point_solves_the_equations_of_the_fluid_model() -> None:
    model = Dcqcn()
    for flows in (1, 2, 4, 8, 16):
        p = model.probability(flows)
        assert model.excess(p * 0.999, flows) < 0 < model.excess(p * 1.001, flows)
    # The approximation is for small p, so it is better for few increases per notification.
    slow = Dcqcn(increase=1e3)
    assert slow.probability(1) == pytest.approx(slow.approximation(1), rel=0.2)
    assert model.queue(2) < model.queue(4) < model.queue(8) <= 200e3


def test_long_flows_share_a_bottleneck_equally_and_keep_its_queue_short() -> None:
    spec = bottleneck(4, {}, measure={"start": "40ms"}, probes=[{"kind": "queue", "at": ["s0->r0"]}])
    result = weft.run(spec, threads=1)
    rates = result.flows["measured_bytes"].to_list()
    jain = sum(rates) ** 2 / (4 * sum(rate**2 for rate in rates))
    assert jain >= 0.95
    assert sum(rates) * 8 / 20e-3 > 0.9 * 40e9 * 1024 / 1086
    queue = result.queues.row(0, named=True)
    assert 0 < queue["mean_packets"] * 1086 < MARKS_END
    assert result.links["drops"].sum() == 0
    notifications = result.subflows["cnps_received"].to_list()
    # The receiver sends at most one notification per flow and 50 us.
    assert all(50 < count <= 60_000 / 50 + 1 for count in notifications)
    assert result.subflows["pulls_received"].null_count() == 4


def test_without_control_pauses_hold_flows_back() -> None:
    spec = bottleneck(4, {"control": "none"}, duration="2ms")
    result = weft.run(spec, threads=1)
    assert result.links["pauses"].sum() > 10
    assert result.links["drops"].sum() == 0
    assert result.links["marks"].sum() == 0
    assert result.subflows["cnps_received"].sum() == 0
    assert result.flows["delivered_bytes"].sum() * 8 > 0.95 * 40e9 * 1.99e-3 * 1024 / 1086


@pytest.mark.parametrize("retransmission", ["go-back-n", "selective-repeat"])
def test_dropped_packets_are_resent(retransmission: str) -> None:
    roce = {"retransmission": retransmission, "rto": "500us", "window": "200KB"}
    flows = {"kind": "bulk", "transport": "rdma", "from": "0..8", "to": 8, "size": "1MB"}
    spec = bottleneck(8, roce, queues={"limit": "100KB", "mark": "50KB"}, traffic=[flows])
    result = weft.run(spec, threads=1, trace_hash=True)
    assert result.flows["acked_s"].null_count() == 0
    dropped = int(result.flows["packets_dropped"].sum())
    assert dropped > 100
    retransmitted = int(result.subflows["retransmitted"].sum())
    if retransmission == "go-back-n":
        # Packets that follow a lost one are repeated, too.
        assert retransmitted > 1.3 * dropped
    else:
        assert dropped <= retransmitted < 1.1 * dropped
    for threads in (2, 3, 4):
        other = weft.run(spec, threads=threads, trace_hash=True)
        assert other.manifest["trace_hash"] == result.manifest["trace_hash"]


def random_network(seed: int) -> Spec:
    """A network whose headrooms are at their bounds, with flows that send at the rate of their links or by DCQCN."""
    rng = Random(seed)  # noqa: S311 (a spec, no secret)
    # Hosts that forward would delay frames by their own processing time.
    kind = rng.choice(["many-to-one", "two-paths", "fat-tree", "leaf-spine", "vl2", "graph"])
    network = topology(rng, kind)
    marks = MARKS | {"mark_probability": rng.choice([0.01, 0.2, 1.0])} if rng.random() < 0.7 else {}
    roce = {"control": rng.choice(["dcqcn", "none"]), "mtu": rng.choice(["1086B", "1562B", "4158B"])}
    if rng.random() < 0.3:
        roce["window"] = "100KB"
    incast = {"kind": "incast", "flows": rng.randint(2, 12), "size": "100KB", "rounds": 3, "interval": "200us"}
    return {
        "name": f"headroom {seed}",
        "seed": seed,
        "duration": "1ms",
        "topology": network,
        "queues": {
            "limit": "20MB",
            "kind": {"name": "lossless", "xoff": f"{rng.randint(5, 100)}KB", "reaction": rng.choice(["0s", "1us"])}
            | marks,
        },
        "transports": {"rdma": {"kind": "roce", "roce": roce}},
        "traffic": [
            incast | {"transport": "rdma"},
            {"kind": "bulk", "transport": "rdma", "pairs": "random", "count": 2, "jitter": "5us"},
        ],
    }


def test_nothing_is_dropped_if_headrooms_are_at_their_bounds() -> None:
    pauses = 0
    for seed in range(1, CASES + 1):
        result = weft.run(random_network(seed), threads=1)
        assert result.links["drops"].sum() == 0, seed
        pauses += int(result.links["pauses"].sum())
    assert pauses > 10 * CASES
