"""HPCC compared with the ns-3 simulator of its authors (commit 9f4be2a), with its fixed point, and with itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import polars as pl
import pytest

import weft

MTU, HEADER = 1090, 104
"""Bytes of packets as in that simulator, and of Weft's headers with telemetry."""
HOSTS = {"qdisc": "switch", "jitter": "0s", "clock_ppm": 0}
LOSSLESS = {"limit": "32MB", "kind": "lossless"}

pytestmark = pytest.mark.filterwarnings("ignore::weft.ResultWarning")


def transport(rate: int, rtt_ns: int, max_stage: int = 5) -> dict[str, Any]:
    """HPCC with the settings of its authors' simulator, at a rate in Gbps."""
    hpcc = {"rtt": f"{rtt_ns}ns", "increase": f"{rate * 10 // 25}Mbps", "max_stage": max_stage, "quantised": True}
    return {"kind": "roce", "roce": {"control": "hpcc", "mtu": f"{MTU}B", "min_rate": "100Mbps", "hpcc": hpcc}}


def wire_rates(result: weft.Result) -> list[float]:
    """The rates of the flows on the wire in Gbps."""
    return [rate * 1e-9 * MTU / (MTU - HEADER) for rate in result.flows["goodput_bps"]]


@dataclass(frozen=True)
class Star:
    """Long flows through one queue, and what its authors' simulator measured.

    Rates are in Gbps, times in microseconds, queues in bytes without the packet that is being sent.
    """

    flows: int
    rate: int
    rtt_ns: int
    goodput: float
    """Sum of the flows, of payload, which is 1000 of 1090 bytes there."""
    mean: float | None = None
    largest: int | None = None
    gap: int = 10
    measured: tuple[int, int] = (2000, 4000)
    delay: int = 1
    max_stage: int = 5
    queues: dict[str, Any] = field(default_factory=lambda: LOSSLESS)

    def run(self, threads: int = 1, *, classes: bool = False, **hpcc: Any) -> weft.Result:
        """Runs the flows, with these settings of HPCC; with `classes`, ACKs have a traffic class of their own."""
        start, end = self.measured
        with_settings = transport(self.rate, self.rtt_ns, self.max_stage) | ({"ack_class": 1} if classes else {})
        with_settings["roce"]["hpcc"] |= hpcc
        spec = {
            "name": "star",
            "duration": f"{end}us",
            "measure": {"start": f"{start}us"},
            "topology": {
                "kind": "many-to-one",
                "senders": self.flows,
                "rate": f"{self.rate}Gbps",
                "delay": f"{self.delay}us",
            },
            "queues": self.queues,
            "hosts": HOSTS,
            "transports": {"hpcc": with_settings},
            "traffic": [
                {
                    "kind": "bulk",
                    "name": f"f{i}",
                    "transport": "hpcc",
                    "from": i,
                    "to": self.flows,
                    "start": f"{i * self.gap}us",
                }
                for i in range(self.flows)
            ],
            "probes": [{"kind": "queue", "at": ["s0->r0"], "interval": "100ns"}],
        }
        return weft.run(spec, threads=threads)

    def queue(self, result: weft.Result) -> pl.Series:
        """The bytes that wait in the queue."""
        times = pl.col("time_s") >= self.measured[0] * 1e-6
        return result.traces.filter(pl.col("length_packets").is_not_null(), times)["length_packets"] * MTU


STARS = {
    "1 flow, 25 Gbps": Star(1, 25, 4640, 21.7455),
    "2 flows, 25 Gbps": Star(2, 25, 4640, 21.6, 266.7, 1090),
    "4 flows, 25 Gbps": Star(4, 25, 4640, 21.2727, 558.7, 3270),
    "64 flows, 25 Gbps": Star(64, 25, 4640, 20.3513, 2071.6, 13080),
    "1 flow, 100 Gbps": Star(1, 100, 4160, 86.9455),
    "2 flows, 100 Gbps": Star(2, 100, 4160, 87.0424, 324.7, 1090),
    "16 flows, 100 Gbps": Star(16, 100, 4160, 86.2788, 1608.5, 7630),
    "64 flows, 100 Gbps": Star(64, 100, 4160, 86.5776, 2899.3, 14170),
    "a late flow": Star(2, 100, 4160, 86.9632, 327.0, 1090, gap=1000, measured=(3000, 4000)),
    "without stages": Star(16, 100, 4160, 86.7636, 1685.6, 7630, max_stage=0),
    "longer links": Star(4, 100, 20160, 87.2747, 696.9, 3270, delay=5, measured=(4000, 8000)),
}


@pytest.mark.parametrize("name", STARS)
def test_long_flows_have_goodput_and_queue_of_the_simulator_of_hpcc(name: str) -> None:
    star = STARS[name]
    result = star.run()
    assert sum(wire_rates(result)) == pytest.approx(star.goodput * 1.09, rel=0.01)
    if star.mean is not None and star.largest is not None:
        queue = star.queue(result)
        assert queue.mean() == pytest.approx(star.mean, abs=max(MTU, 0.3 * star.mean))
        assert queue.max() == pytest.approx(star.largest, abs=max(2 * MTU, 0.5 * star.largest))


def test_shares_of_64_flows_are_those_of_the_simulator_of_hpcc() -> None:
    """Shares of fewer flows depend on the start there, as 4 ms are too short for the additive increase."""
    shares = wire_rates(STARS["64 flows, 100 Gbps"].run())
    assert shares == pytest.approx([1.35 * 1.09] * 64, rel=0.25)


def test_an_incast_ends_when_that_of_the_simulator_of_hpcc_does() -> None:
    """32 flows of 64 packets, which begin at the rate of the link."""
    spec = {
        "name": "incast",
        "duration": "2ms",
        "topology": {"kind": "many-to-one", "senders": 32, "rate": "100Gbps", "delay": "1us"},
        "queues": LOSSLESS,
        "hosts": HOSTS,
        "transports": {"hpcc": transport(100, 4160)},
        "traffic": [
            {"kind": "bulk", "transport": "hpcc", "from": "0..32", "to": 32, "size": f"{64 * (MTU - HEADER)}B"}
        ],
        "probes": [{"kind": "queue", "at": ["s0->r0"], "interval": "100ns"}],
    }
    result = weft.run(spec, threads=1)
    times = result.flows["acked_s"] * 1e6
    assert (times.min(), times.max()) == pytest.approx((178.884, 182.678), rel=0.05)
    assert result.traces["length_packets"].max() * MTU == pytest.approx(1_761_440, rel=0.1)  # type: ignore[operator]


def test_a_flow_over_two_queues_has_the_part_of_the_simulator_of_hpcc() -> None:
    """Each of the other flows crosses one of the queues."""
    ends = {"two": "two-end", "first": "first-end", "second": "second-end"}
    switches = {"two": "s0", "first": "s0", "second": "s1", "two-end": "s2", "first-end": "s1", "second-end": "s2"}
    spec = {
        "name": "parking",
        "duration": "8ms",
        "measure": {"start": "4ms"},
        "topology": {
            "kind": "graph",
            "rate": "100Gbps",
            "delay": "1us",
            "hosts": list(switches),
            "switches": ["s0", "s1", "s2"],
            "links": [
                *({"a": host, "b": switch} for host, switch in switches.items()),
                {"a": "s0", "b": "s1"},
                {"a": "s1", "b": "s2"},
            ],
        },
        "queues": LOSSLESS,
        "hosts": HOSTS,
        "transports": {"hpcc": transport(100, 8320)},
        "traffic": [
            {"kind": "bulk", "name": a, "transport": "hpcc", "from": a, "to": b, "start": f"{10 * number}us"}
            for number, (a, b) in enumerate(ends.items())
        ],
    }
    rates = wire_rates(weft.run(spec, threads=1))
    assert rates == pytest.approx([1.09 * rate for rate in (19.3192, 65.1616, 65.1232)], rel=0.15)


@pytest.mark.parametrize("flows", [1, 2, 4, 8])
def test_long_flows_settle_at_the_published_utilisation_without_a_queue(flows: int) -> None:
    """The utilisation is `eta + N W_AI / (B T)`, and a queue needs more than 1 (Li et al., SIGCOMM 2019, section 4)."""
    star = Star(flows, 100, 4360, 0, measured=(3000, 4000))
    result = star.run(quantised=False, increase="10Mbps")
    assert sum(wire_rates(result)) == pytest.approx(100 * 0.95 + flows * 0.01, rel=0.05)
    assert fmean(star.queue(result).to_list()) < 0.05 * 4.36e-6 * 100e9 / 8


KINDS: dict[str, dict[str, Any]] = {
    "fifo": {},
    "shared": {"buffer": "30MB"},
    "priority": {"classes": [{}, {}]},
    "lossless": {},
}


def test_telemetry_is_the_same_for_all_kinds_of_queues_and_numbers_of_threads() -> None:
    """Queues that need not drop, mark or pause differ only in how they find out what waits."""
    expected = None
    for name, details in KINDS.items():
        star = Star(8, 100, 4160, 0, measured=(100, 400), queues={"limit": "32MB", "kind": {"name": name} | details})
        for threads in (1, 4):
            flows = star.run(threads, classes=name == "priority").flows
            found = flows["goodput_bps"].to_list(), flows["delivered_bytes"].to_list()
            expected = expected or found
            assert found == expected, (name, threads)


def test_flows_end_over_short_queues_of_all_kinds_next_to_others() -> None:
    """Packets of HPCC are dropped, marked, paused and trimmed like those of others."""
    red = {"min": "20KB", "max": "60KB", "probability": 0.5, "action": "drop"}
    kinds = KINDS | {"trimming": {}, "red": red, "codel": {}}
    for name, details in kinds.items():
        other: dict[str, Any] = {"cc": "dctcp"} | ({"class": 1} if name == "priority" else {})
        transports = {"hpcc": {"kind": "roce", "roce": {"control": "hpcc", "rto": "200us"}}, "dctcp": other}
        spec = {
            "name": "mix",
            "duration": "300ms",
            "topology": {
                "kind": "leaf-spine",
                "leaves": 2,
                "spines": 2,
                "hosts_per_leaf": 4,
                "rate": "10Gbps",
                "delay": "1us",
            },
            "queues": {"limit": "100KB", "kind": {"name": name} | details},
            "transports": transports,
            "traffic": [
                {"kind": "bulk", "transport": transport, "pairs": [[i, 7] for i in range(5)], "size": "200KB"}
                for transport in transports
            ],
            "events": [{"at": "100us", "layer": "leaf-spine", "fraction": 0.2, "rate": "3Gbps"}],
        }
        one, four = (weft.run(spec, threads=threads).flows for threads in (1, 4))
        assert one.equals(four), name
        assert one["acked_s"].null_count() == 0, name


def test_paths_of_more_than_five_switches_are_refused() -> None:
    switches = [f"s{i}" for i in range(6)]
    links = [{"a": a, "b": b} for a, b in zip(["a", *switches], [*switches, "b"], strict=True)]
    spec = {
        "name": "long",
        "duration": "1ms",
        "topology": {
            "kind": "graph",
            "rate": "10Gbps",
            "delay": "1us",
            "hosts": ["a", "b"],
            "switches": switches,
            "links": links,
        },
        "queues": LOSSLESS,
        "transports": {"hpcc": {"kind": "roce", "roce": {"control": "hpcc"}}},
        "traffic": [{"kind": "bulk", "transport": "hpcc", "from": "a", "to": "b"}],
    }
    problem = r'^transports\.hpcc\.roce\.control: "hpcc" on paths of 6 switches; .*for 5'
    with pytest.raises(weft.SpecError, match=problem):
        weft.run(spec)
