"""wVegas against the equilibrium of its paper, section III: each connection keeps `total_alpha` packets in queues.

Paths of a connection then have equal delays in queues, so a connection leaves the paths that others need.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import weft

PACKETS = 10
"""`total_alpha`."""
RATE = 100e6


def run(cc: dict[str, Any], connections: list[tuple[list[int], int]], links: int) -> weft.Result:
    """Runs connections of `(links, subflows)` over links of 100 Mbps with a round trip of 20 ms."""
    hosts = [f"{end}{n}" for n in range(len(connections)) for end in "ab"]
    switches = [f"{end}{n}" for n in range(links) for end in "st"]
    cables: list[dict[str, Any]] = [
        {"a": f"s{n}", "b": f"t{n}", "rate": "100Mbps", "delay": "8ms"} for n in range(links)
    ]
    for n, (used, _) in enumerate(connections):
        cables += [{"a": f"a{n}", "b": f"s{link}"} for link in used]
        cables += [{"a": f"t{link}", "b": f"b{n}"} for link in used]
    pairs = [[f"a{n}", f"b{n}"] for n in range(len(connections))]
    topology = {"kind": "graph", "rate": "1Gbps", "delay": "1ms", "hosts": hosts, "switches": switches, "links": cables}
    paths = {1: "ecmp", 2: "by-interface"}
    spec = {
        "name": "wvegas",
        "duration": "20s",
        "topology": topology,
        "queues": {"limit": "1000 packets"},
        "transports": {f"of{n}": {"cc": cc, "subflows": n, "paths": paths[n]} for _, n in connections},
        "traffic": [
            {"kind": "bulk", "pairs": [pair], "transport": f"of{subflows}"}
            for pair, (_, subflows) in zip(pairs, connections, strict=True)
        ],
        "probes": [{"kind": "queue", "at": [f"s{n}->t{n}" for n in range(links)], "interval": "20ms"}],
    }
    return weft.run(weft.Experiment.model_validate(spec))


def queue(result: weft.Result, link: int) -> float:
    """The mean length of the queue of a link, in packets."""
    return float(result.queues.filter(pl.col("from") == f"s{link}")["mean_packets"].item())


def sent(result: weft.Result) -> list[int]:
    """The packets of each subflow, in the order of flows and subflows."""
    return result.subflows.sort("flow", "subflow")["packets_sent"].to_list()


WITHOUT_DRAINS = {"name": "wvegas", "drain": 0}


@pytest.mark.parametrize("count", [1, 2, 4])
def test_each_connection_keeps_its_packets_in_the_queue_and_has_an_equal_share(count: int) -> None:
    result = run(WITHOUT_DRAINS, [([0], 1)] * count, 1)
    assert queue(result, 0) == pytest.approx(count * PACKETS, rel=0.1)
    packets = sent(result)
    assert max(packets) / min(packets) < 1.05, packets


def test_a_connection_leaves_a_path_that_another_needs() -> None:
    """The other one has only that path. The connection keeps the minimum of two packets on it."""
    result = run(WITHOUT_DRAINS, [([0, 1], 2), ([0], 1)], 2)
    shared, own, other = sent(result)
    assert queue(result, 0) == pytest.approx(PACKETS + 2, rel=0.2)
    assert queue(result, 1) == pytest.approx(PACKETS - 2, rel=0.2)
    assert own / other == pytest.approx(PACKETS / (PACKETS - 2), rel=0.1), (shared, own, other)


def test_drains_leave_a_part_of_the_link_unused() -> None:
    """The noise of round-trip times is the smallest delay in queues, so a queue of one packet is drained."""
    result = run({"name": "wvegas"}, [([0], 1)], 1)
    assert queue(result, 0) < PACKETS / 2
    assert sent(result)[0] < 0.6 * 20 * RATE / (8 * 1500)
