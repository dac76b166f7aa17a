"""Queues of kind `codel` against the pseudocode of RFC 8289, packet by packet."""

from __future__ import annotations

import polars as pl
import pytest

import weft
from tests.reference.codel import Arrival, CoDel, departures

PS = 1e12
DELAY = 1_000_000
"""Delay of each link in picoseconds."""
BYTE_TIME = 8_000
"""Serialisation time of a byte at 1 Gbps in picoseconds."""
WIRE_BYTES = 1000
"""Size of a full packet on the wire."""

OVERLOADS: dict[str, list[tuple[str, str, str | None]]] = {
    "two steady senders": [("700Mbps", "0s", None), ("600Mbps", "1337ns", None)],
    "a burst and a steady sender": [("900Mbps", "0s", None), ("1Gbps", "3001337ns", "1MB")],
    "bursts with gaps between them": [
        ("1Gbps", f"{start}ns", "400KB") for start in (0, 1_000_137, 9_000_271, 10_000_431, 16_000_577)
    ],
}
"""Rate, start and bytes of each sender. No two packets reach the switch at one time."""


def spec(overload: str, kind: dict[str, object]) -> dict[str, object]:
    """Sources at a constant rate that share a port."""
    senders = OVERLOADS[overload]
    sources = {
        f"at{i}": {"kind": "constant-rate", "rate": rate, "packet_size": "1000B"}
        for i, (rate, _, _) in enumerate(senders)
    }
    return {
        "name": "codel",
        "duration": "20ms",
        "topology": {"kind": "many-to-one", "senders": len(senders), "rate": "1Gbps", "delay": "1us"},
        "queues": {"limit": "100000 packets", "kind": {"name": "codel", **kind}},
        "hosts": {"jitter": "0s", "clock_ppm": 0},
        "transports": sources,
        "traffic": [
            {"kind": "bulk", "transport": f"at{i}", "pairs": [[f"h{i}", "r0"]], "start": start}
            | ({} if size is None else {"size": size})
            for i, (_, start, size) in enumerate(senders)
        ],
        "probes": [{"kind": "packets", "at": ["s0->r0", *(f"h{i}->s0" for i in range(len(senders)))]}],
    }


def picoseconds(seconds: float) -> int:
    return round(seconds * PS)


@pytest.mark.parametrize("overload", OVERLOADS)
@pytest.mark.parametrize(("target", "interval"), [("200us", "1ms"), ("50us", "500us"), ("1ms", "2ms")])
def test_port_sends_the_packets_of_the_pseudocode(overload: str, target: str, interval: str) -> None:
    result = weft.run(spec(overload, {"target": target, "interval": interval}), threads=1)
    packets = result.packets.filter(pl.col("kind") == "data")
    out = packets["link"].max()
    headers = WIRE_BYTES - max(packets["bytes"].to_list())
    reached = packets.filter(pl.col("link") != out)
    arrivals = [
        Arrival(picoseconds(time), flow, seq, payload + headers)
        for time, flow, seq, payload in reached.select("time_s", "flow", "chunk", "bytes").iter_rows()
    ]
    units = {"us": 1_000_000, "ms": 1_000_000_000}
    times = [int(text[:-2]) * units[text[-2:]] for text in (target, interval)]
    queue = CoDel(times[0], times[1], maxpacket=WIRE_BYTES)
    expected = [
        (left.time + DELAY, left.flow, left.seq)
        for left in departures(queue, arrivals, BYTE_TIME)
        if left.time + DELAY < picoseconds(20e-3)
    ]
    found = [
        (picoseconds(time), flow, seq)
        for time, flow, seq in packets.filter(pl.col("link") == out).select("time_s", "flow", "chunk").iter_rows()
    ]
    assert len(queue.drops) > 1
    assert found == expected[: len(found)]
    assert len(expected) - len(found) <= 1


def test_drops_become_more_frequent_with_the_square_root_of_their_number() -> None:
    """After n drops of a drop state, the next one follows after `interval` / sqrt(n) (section 3.2)."""
    result = weft.run(spec("two steady senders", {"target": "200us", "interval": "1ms"}), threads=1)
    # At 1.3 times the rate of the port, the delay reaches the target after target / 0.3.
    first_s = 200e-6 / 0.3 + 1e-3
    # The sum of 1 / sqrt(n) from 1 to N is about 2 sqrt(N) + zeta(1/2).
    intervals = (20e-3 - first_s) / 1e-3
    expected = ((intervals + 1.46) / 2) ** 2
    assert abs(max(result.links["drops"].to_list()) - expected) < 4


def test_ecn_marks_instead_of_drops() -> None:
    base = {
        "name": "marks",
        "duration": "50ms",
        "topology": {"kind": "many-to-one", "senders": 4, "rate": "1Gbps", "delay": "10us"},
        "transports": {"all": {"cc": {"name": "cubic", "ecn": 1}}},
        "traffic": [{"kind": "bulk", "transport": "all", "pairs": [[f"h{i}", "r0"] for i in range(4)]}],
    }
    times = {"target": "100us", "interval": "1ms"}
    rows = []
    for ecn in (False, True):
        kind = {"name": "codel", **times, "ecn": ecn}
        result = weft.run(base | {"queues": {"limit": "10000 packets", "kind": kind}}, threads=1)
        rows.append(result.links.select(pl.col("marks").sum(), pl.col("drops").sum()).row(0))
    (no_marks, drops), (marks, no_drops) = rows
    assert (no_marks, no_drops) == (0, 0)
    assert min(drops, marks) > 10
