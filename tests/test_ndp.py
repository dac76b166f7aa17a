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


def incast(k: int, senders: int, size: int, window: int) -> Spec:
    """Hosts 1 to `senders` send to host 0 at once."""
    entry = {
        "kind": "bulk",
        "transport": "ndp",
        "from": list(range(1, senders + 1)),
        "to": [0] * senders,
        "size": f"{size}B",
    }
    duration_ms = round(1.2e3 * optimum(senders, size)) + 5
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
        weft.run(incast(k, senders, INCAST_BYTES, 30), threads=threads, trace_hash=True) for threads in (1, 2, 3, 4)
    ]
    assert len({result.manifest["trace_hash"] for result in results}) == 1
    flows = results[0].flows
    assert 1 <= max(flows["finish_s"].to_list()) / optimum(senders, INCAST_BYTES) < 1.02
    assert flows["timeouts"].sum() == flows["packets_dropped"].sum() == 0
    assert flows["retransmitted"].sum() == flows["packets_trimmed"].sum() > 100
    assert flows["delivered_bytes"].to_list() == [INCAST_BYTES] * senders


@pytest.mark.parametrize("kind", ["fifo", "shared"])
def test_what_queues_drop_is_sent_again_after_timeouts(kind: str) -> None:
    dropping = incast(4, 15, 500_000, 30)
    dropping["queues"] = {
        "limit": "8 packets",
        "kind": {"fifo": "fifo", "shared": {"name": kind, "buffer": "100KB"}}[kind],
    }
    result = weft.run(dropping | {"duration": "100ms"}, threads=1)
    assert result.flows["acked_s"].null_count() == 0
    assert result.flows["timeouts"].sum() > 100
    assert result.flows["packets_trimmed"].sum() == 0
    assert "repeats packets that queues drop only after timeouts" in result.manifest["warnings"][0]


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
