"""NDP, compared with bounds by arithmetic and with figures of its paper (Handley et al., SIGCOMM 2017)."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any

import pytest

import weft

Spec = dict[str, Any]

PAYLOAD = 9000
HEADER = 64
RATE = 10e9
DELAY_S = 1e-6
PACKET_S = (PAYLOAD + HEADER) * 8 / RATE
INCAST_BYTES = 1_000_000
SEED = 13


def spec(k: int, traffic: list[Spec], duration: str, window: int, **changes: object) -> Spec:
    """A fat-tree with the switches of the paper: 8 packets, as much memory for headers, and ten headers per packet."""
    return {
        "name": "ndp",
        "seed": SEED,
        "duration": duration,
        "topology": {"kind": "fat-tree", "k": k, "rate": "10Gbps", "delay": "1us"},
        "queues": {
            "limit": "8 packets",
            "kind": {"name": "trimming", "headers": "1125 packets", "ratio": 10, "overflow": "return"},
        },
        "hosts": {"qdisc": "switch", "jitter": "0s", "clock_ppm": 0},
        "transports": {"ndp": {"kind": "ndp", "ndp": {"initial_window": window}}},
        "traffic": traffic,
    } | changes


def permutation(k: int, window: int, duration_ms: int) -> Spec:
    """Each host sends to one other host without end; the second half of the run is measured."""
    hosts = list(range(k**3 // 4))
    Random(SEED).shuffle(hosts)  # noqa: S311 (an experiment, no secret)
    pairs = [*pairwise(hosts), (hosts[-1], hosts[0])]
    senders, receivers = (list(side) for side in zip(*pairs, strict=True))
    entry = {"kind": "bulk", "transport": "ndp", "from": senders, "to": receivers}
    measure = {"start": f"{duration_ms / 2}ms"}
    return spec(k, [entry], f"{duration_ms}ms", window, measure=measure)


def utilisation(result: weft.Result, duration_ms: int) -> float:
    """The share of the capacity of the hosts' links that payload has."""
    rates = goodput(result, duration_ms)
    return sum(rates) / RATE / len(rates)


def goodput(result: weft.Result, duration_ms: int) -> list[float]:
    """The payload of each flow per second in the second half of a run."""
    return [8 * bytes_ / (duration_ms / 2 * 1e-3) for bytes_ in result.flows["measured_bytes"].to_list()]


def incast(k: int, senders: list[int], size: int, window: int) -> Spec:
    """These hosts send to host 0 at once."""
    receivers = [0] * len(senders)
    entry = {"kind": "bulk", "transport": "ndp", "from": senders, "to": receivers, "size": f"{size}B"}
    duration_ms = round(1.2e3 * optimum(len(senders), size)) + 5
    return spec(k, [entry], f"{duration_ms}ms", window)


def optimum(senders: int, size: int) -> float:
    """The earliest completion: the last link is busy from the first packet, and each packet crosses it once.

    The first packet comes from a host at the same switch.
    """
    packets = -(-size // PAYLOAD)
    return PACKET_S + 2 * DELAY_S + senders * (size + packets * HEADER) * 8 / RATE


@pytest.mark.parametrize(("k", "window", "least"), [(4, 23, 0.95), (6, 30, 0.95), (12, 30, 0.95)])
def test_a_permutation_fills_the_network(k: int, window: int, least: float) -> None:
    result = weft.run(permutation(k, window, 6), threads=1)
    assert least < utilisation(result, 6) < PAYLOAD / (PAYLOAD + HEADER)
    assert result.flows["packets_dropped"].sum() == 0
    assert result.flows["timeouts"].sum() == 0


@pytest.mark.parametrize(("k", "senders"), [(4, 8), (4, 15), (12, 200)])
def test_an_incast_is_within_2_percent_of_the_optimum(k: int, senders: int) -> None:
    results = [
        weft.run(incast(k, list(range(1, senders + 1)), INCAST_BYTES, 30), threads=threads, trace_hash=True)
        for threads in (1, 2, 3, 4)
    ]
    assert len({result.manifest["trace_hash"] for result in results}) == 1
    flows = results[0].flows
    assert 1 <= max(flows["finish_s"].to_list()) / optimum(senders, INCAST_BYTES) < 1.02
    assert flows["timeouts"].sum() == flows["packets_dropped"].sum() == 0
    assert flows["retransmitted"].sum() == flows["packets_trimmed"].sum() > 100
    assert flows["delivered_bytes"].to_list() == [INCAST_BYTES] * senders


PUBLISHED_MS = [
    # Window, senders, last completion, tolerance. Without a trimmed packet, arithmetic gives the time.
    (23, 1, 0.259792, 1e-9),
    (1, 1, 1.668125, 1e-6),
    (1, 2, 1.675376, 1e-6),
    (1, 4, 1.689878, 1e-6),
    (23, 8, 1.791402, 0.03),
    (23, 40, 8.831824, 0.01),
    (23, 200, 43.626307, 0.002),
    (10, 200, 43.620112, 0.002),
    (1, 200, 43.561283, 0.002),
]
"""Incasts of 270,000 bytes in the repository of NDP's authors (`sim/EXAMPLES/incast_scaling`), on three tiers."""


def authors_queues(spec: Spec) -> Spec:
    """Queues of the authors' simulator, in which a packet that is being sent is one of 8."""
    queues = spec["queues"]
    return spec | {"queues": queues | {"limit": "7 packets", "kind": queues["kind"] | {"headers": "1132 packets"}}}


@pytest.mark.parametrize(("window", "senders", "published_ms", "tolerance"), PUBLISHED_MS)
def test_incasts_end_when_those_of_the_authors_do(
    window: int, senders: int, published_ms: float, tolerance: float
) -> None:
    # The first hosts are those of the receiver's pod.
    hosts = Random(SEED).sample(range(36, 432), senders)  # noqa: S311
    result = weft.run(authors_queues(incast(12, hosts, 270_000, window)), threads=1)
    assert max(result.flows["finish_s"].to_list()) * 1e3 == pytest.approx(published_ms, rel=tolerance)


def test_a_sender_shares_its_link_and_a_receiver_fills_its_own() -> None:
    """Figure 21, and its rates in the repository of the authors (`sim/EXAMPLES/in_and_out`)."""
    entry = {"kind": "bulk", "transport": "ndp", "from": [0, 0, 0, 0, 100], "to": [20, 40, 60, 80, 80]}
    result = weft.run(authors_queues(spec(8, [entry], "20ms", 23, measure={"start": "10ms"})), threads=1)
    published = [2.50992, 2.51352, 2.50056, 2.37672, 7.55208]
    assert [rate / 1e9 for rate in goodput(result, 20)] == pytest.approx(published, rel=0.05)


@pytest.mark.parametrize("kind", ["fifo", "shared"])
def test_dropped_packets_are_resent_after_timeouts(kind: str) -> None:
    dropping = incast(4, list(range(1, 16)), 500_000, 30)
    dropping["queues"] = {
        "limit": "8 packets",
        "kind": {"fifo": "fifo", "shared": {"name": kind, "buffer": "100KB"}}[kind],
    }
    with pytest.warns(weft.ResultWarning, match="repeats packets that queues drop only after timeouts"):
        result = weft.run(dropping | {"duration": "100ms"}, threads=1)
    assert result.flows["acked_s"].null_count() == 0
    assert result.flows["timeouts"].sum() > 100
    assert result.flows["packets_trimmed"].sum() == 0


@pytest.mark.parametrize(("detection", "least"), [("200us", 0.8), ("1s", 0.7)])
def test_flows_survive_a_failed_link_and_end_when_stopped(detection: str, least: float) -> None:
    """With a detection after the end, only the scores of paths avoid the link."""
    entry = {"kind": "bulk", "transport": "ndp", "from": [0, 1], "to": [13, 14], "stop": "20ms"}
    event = {"at": "2ms", "links": ["tor0.0->agg0.0"], "state": "down", "detection_delay": detection}
    result = weft.run(spec(4, [entry], "30ms", 30, events=[event]), threads=1)
    flows = result.flows
    assert flows["acked_s"].null_count() == 0
    assert flows["timeouts"].sum() > 0
    # One uplink of 10 Gbps is left for two flows.
    assert flows["delivered_bytes"].sum() * 8 > least * RATE * 18e-3


def test_a_slow_link_is_left_out() -> None:
    """Section 6.2: flows avoid a link whose rate is a tenth of that of others."""
    slow = permutation(4, 30, 20)
    links = {"agg0.0->core0.0": {"rate": "1Gbps"}, "core0.0->agg0.0": {"rate": "1Gbps"}}
    result = weft.run(slow | {"links": links}, threads=1)
    assert min(goodput(result, 20)) > 0.65 * RATE
    single = weft.run(slow | {"links": links, "transports": {"ndp": {"kind": "ndp", "ndp": {"paths": 1}}}}, threads=1)
    assert min(goodput(single, 20)) < 0.2 * RATE


@pytest.mark.parametrize(
    ("kinds", "headers"),
    [(["ndp"], 1125), (["uet"], 16), (["ndp", "uet"], 1125)],
)
def test_default_of_headers_is_the_need_of_the_transports(kinds: list[str], headers: int) -> None:
    """Section 3.2.4: 8 packets of 9,000 bytes, and as much memory for headers; the UEC has twice the limit."""
    flows = []
    for stated in ({}, {"headers": f"{headers} packets"}):
        entry = {"kind": "bulk", "transport": kinds[0], "from": list(range(1, 16)), "to": [0] * 15, "size": "300KB"}
        experiment = spec(4, [entry], "20ms", 30, transports={kind: {"kind": kind} for kind in kinds})
        experiment["queues"]["kind"] = {"name": "trimming", **stated}
        flows.append(weft.run(experiment).flows.drop("slowdown", strict=False))
    assert flows[0].equals(flows[1])
    assert flows[0]["packets_trimmed"].sum() > 0
