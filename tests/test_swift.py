"""Swift compared with csg-htsim (commit 841d9e7), with the closed form of its queue, and with its documentation.

Values are those of htsim's classes in which a copy of a route keeps its number of hops and windows are not cut to whole
packets. Sizes of packets contain 64 bytes of headers in Weft and none in htsim, so rates on the wire are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erf, exp, sqrt, tau
from statistics import fmean
from typing import Any

import polars as pl
import pytest

import weft

HEADER = 64
BASE_US, HOP_US, RANGE_US = 20.0, 3.053, 100.0
HOSTS = {"qdisc": "switch", "jitter": "0s", "clock_ppm": 0}

pytestmark = pytest.mark.filterwarnings("ignore::weft.ResultWarning")


def transport(mtu: int, window: float = 10, base_us: float = BASE_US, **settings: Any) -> dict[str, Any]:
    """Swift with the settings of htsim."""
    swift = {
        "mtu": f"{mtu}B",
        "base_target": f"{base_us:.3f}us",
        "hop_target": f"{HOP_US}us",
        "flow_range": f"{RANGE_US}us",
    }
    return {"kind": "swift", "swift": swift | {"initial_window": window, "min_window": 10 / mtu} | settings}


@dataclass(frozen=True)
class Dumbbell:
    """Long flows through one queue, and what htsim measured: mean and largest queue, and the slowest and fastest flow.

    Times are in microseconds, queues in bytes with the packet that is being sent, rates in Gbps.
    """

    flows: int
    rate: int
    mtu: int
    start: int
    end: int
    mean: int
    largest: int
    rates: tuple[float, float]
    gap: int = 10
    delay: int = 1
    window: float = 10

    def run(self, **settings: Any) -> weft.Result:
        """The flows and the queue between `start` and `end`."""
        return weft.run(self.spec({}, **settings), threads=1)

    def spec(self, fields: dict[str, Any], **settings: Any) -> dict[str, Any]:
        """The scene, with these fields of the transport and settings of Swift."""
        traffic = [
            {
                "kind": "bulk",
                "name": f"f{i}",
                "transport": "swift",
                "from": i,
                "to": self.flows,
                "start": f"{i * self.gap}us",
            }
            for i in range(self.flows)
        ]
        return {
            "name": "dumbbell",
            "duration": f"{self.end}us",
            "measure": {"start": f"{self.start}us"},
            "topology": {
                "kind": "many-to-one",
                "senders": self.flows,
                "rate": f"{self.rate}Gbps",
                "delay": f"{self.delay}us",
            },
            "queues": {"limit": "4000 packets"},
            "hosts": HOSTS,
            "transports": {"swift": transport(self.mtu, self.window, **settings) | fields},
            "traffic": traffic,
            "probes": [{"kind": "queue", "at": ["s0->r0"], "interval": "1us"}],
        }

    def queue(self, result: weft.Result) -> pl.Series:
        """The bytes of the queue and of the packet that is being sent, in samples from `start` on."""
        samples = result.traces.filter(pl.col("length_packets").is_not_null(), pl.col("time_s") >= self.start * 1e-6)
        return (samples["length_packets"] + 1) * self.mtu

    def wire_rates(self, result: weft.Result) -> list[float]:
        """The rates of the flows on the wire in Gbps, in rising order."""
        return sorted(rate * 1e-9 * self.mtu / (self.mtu - HEADER) for rate in result.flows["goodput_bps"])


LONG = {
    "2 flows, 10 Gbps": Dumbbell(2, 10, 1500, 20_000, 40_000, 33_837, 37_500, (4.9956, 5.0046)),
    "16 flows, 10 Gbps": Dumbbell(16, 10, 1500, 20_000, 40_000, 52_347, 69_000, (0.618, 0.633)),
    "64 flows, 10 Gbps": Dumbbell(64, 10, 1500, 40_000, 80_000, 76_147, 93_000, (0.153, 0.1608)),
    "128 flows, 10 Gbps": Dumbbell(128, 10, 1500, 40_000, 80_000, 108_958, 178_500, (0.0633, 0.0897), gap=50, window=1),
    "2 flows, 100 Gbps": Dumbbell(2, 100, 4000, 5_000, 10_000, 294_875, 304_000, (49.8944, 50.1056)),
    "4 flows, 100 Gbps": Dumbbell(4, 100, 4000, 5_000, 10_000, 320_768, 332_000, (24.8384, 25.0752)),
    "64 flows, 100 Gbps": Dumbbell(64, 100, 4000, 10_000, 20_000, 555_632, 716_000, (1.536, 1.5808)),
    "32 flows, 100 Gbps, longer links": Dumbbell(
        32, 100, 4000, 10_000, 20_000, 349_839, 448_000, (3.04, 3.1968), delay=3
    ),
    "a late flow": Dumbbell(2, 100, 4000, 6_000, 10_000, 294_834, 304_000, (49.856, 50.144), gap=2_000),
}


@pytest.mark.parametrize("name", LONG)
def test_long_flows_have_rates_and_queues_of_htsim(name: str) -> None:
    scene = LONG[name]
    result = scene.run()
    queue, rates = scene.queue(result), scene.wire_rates(result)
    assert queue.mean() == pytest.approx(scene.mean, rel=0.01)
    assert queue.max() == pytest.approx(scene.largest, rel=0.05)
    assert sum(rates) == pytest.approx(scene.rate, rel=0.005)
    share = 0.05 if scene.flows <= 16 else 0.15
    assert (rates[0], rates[-1]) == pytest.approx(scene.rates, rel=share)


SMALL_WINDOWS = pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="7 % (16 flows at 10 Gbps) and 10 % (64 at 100 Gbps) above the closed form, as htsim: windows are of two "
    "packets, and the form leaves out the increase and whole packets",
)


@dataclass(frozen=True)
class ClosedForm:
    """Long flows whose delay is longer than their target by `excess`."""

    rate: int
    mtu: int
    flows: int
    excess_us: float = 0

    @property
    def bytes_per_us(self) -> float:
        return self.rate * 1e3 / 8

    @property
    def window(self) -> float:
        """The window in packets."""
        window = 10.0
        for _ in range(100):
            window = self.bytes_per_us * (self.target_us(window) + self.excess_us) / (self.flows * self.mtu)
        return window

    @staticmethod
    def target_us(window: float) -> float:
        alpha = RANGE_US / (1 / sqrt(0.1) - 1 / sqrt(100))
        return BASE_US + 2 * HOP_US + min(max(alpha / sqrt(window) - alpha / sqrt(100), 0), RANGE_US)

    def queue(self, delay_us: float) -> float:
        """The queue with this delay in bytes, the packet that is being sent included."""
        unloaded = 4 + (2 * self.mtu + 2 * HEADER) / self.bytes_per_us
        return self.bytes_per_us * (delay_us - unloaded) + self.mtu

    @property
    def mean_queue(self) -> float:
        """The mean queue in bytes."""
        return self.queue(self.target_us(self.window) + self.excess_us)


@pytest.mark.parametrize(
    ("rate", "mtu", "flows"),
    [
        (10, 1500, 2),
        (10, 1500, 4),
        (10, 1500, 8),
        pytest.param(10, 1500, 16, marks=SMALL_WINDOWS),
        (100, 4000, 2),
        (100, 4000, 8),
        (100, 4000, 16),
        (100, 4000, 32),
        pytest.param(100, 4000, 64, marks=SMALL_WINDOWS),
    ],
)
def test_the_queue_of_long_flows_is_that_of_the_closed_form(rate: int, mtu: int, flows: int) -> None:
    """The windows fill the target, and the queue is the part of the target that the network does not need."""
    scene = Dumbbell(flows, rate, mtu, 20_000, 40_000, 0, 0, (0, 0))
    found = scene.queue(scene.run()).mean()
    assert found == pytest.approx(ClosedForm(rate, mtu, flows).mean_queue, rel=0.05)


@pytest.mark.parametrize(("rate", "mtu", "flows"), [(10, 1500, 16), (100, 4000, 64)])
def test_increases_and_whole_packets_move_the_queue_of_small_windows(rate: int, mtu: int, flows: int) -> None:
    """Almost without increases, the queue is too short. In both cases it is that of the whole packets of windows."""
    form = ClosedForm(rate, mtu, flows)
    expected = form.mean_queue
    found = {}
    for increase in (1, 0.05):
        scene = Dumbbell(flows, rate, mtu, 20_000, 30_000, 0, 0, (0, 0))
        spec = scene.spec({}, increase=increase)
        spec["probes"] += [
            {"kind": "flow", "traffic": f"f{i}", "interval": "3us"} for i in range(0, flows, flows // 16)
        ]
        result = weft.run(spec, threads=1)
        found[increase] = fmean(scene.queue(result)) / expected
        windows = result.traces.filter(pl.col("cwnd_packets").is_not_null(), pl.col("time_s") >= 0.02)["cwnd_packets"]
        whole = form.queue(flows * mtu * fmean(windows.floor()) / form.bytes_per_us)
        assert found[increase] == pytest.approx(whole / expected, rel=0.02)
    assert found[1] > 1.05
    assert found[0.05] < 0.95


def excess_us(rate: int, mtu: int, flows: int, deviation_us: float) -> float:
    """The mean delay beyond the target at which a flow's increases and decreases balance under normal noise.

    `deviation_us` is that of a difference of two timestamps.
    """

    def grows(excess: float) -> bool:
        form = ClosedForm(rate, mtu, flows, excess)
        window, z = form.window, excess / deviation_us
        beyond = (1 + erf(z / sqrt(2))) / 2
        mean = excess * beyond + deviation_us * exp(-z * z / 2) / sqrt(tau)
        decrease = 0.8 * window**2 * mean / ((1 + beyond * window) * (form.target_us(window) + excess))
        return 1 - beyond > decrease

    low, high = -6 * deviation_us, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if grows(middle) else (low, middle)
    return low


NOISE = [({"timestamp_noise": f"{us}us"}, us * sqrt(2)) for us in (0.5, 2)]
NOISE += [({"timestamp_step": f"{us}us"}, us / sqrt(6)) for us in (1, 4)]


@pytest.mark.parametrize(("rate", "mtu", "flows"), [(10, 1500, 2), (10, 1500, 4), (100, 4000, 2), (100, 4000, 8)])
def test_noise_moves_the_queue_as_the_balance_of_changes_says(rate: int, mtu: int, flows: int) -> None:
    for settings, deviation in NOISE:
        scene = Dumbbell(flows, rate, mtu, 20_000, 40_000, 0, 0, (0, 0))
        found = scene.queue(scene.run(**settings)).mean()
        excess = excess_us(rate, mtu, flows, deviation)
        assert found == pytest.approx(ClosedForm(rate, mtu, flows, excess).mean_queue, rel=0.05), settings


def test_errors_of_clocks_that_change_no_difference_change_no_result() -> None:
    """A step of a picosecond rounds nothing. A step of 8 ns does."""
    exact, fine, coarse = (
        Dumbbell(4, 10, 1500, 1_000, 5_000, 0, 0, (0, 0)).run(**settings).subflows
        for settings in ({}, {"timestamp_step": "1ps"}, {"timestamp_step": "8ns"})
    )
    assert exact.equals(fine)
    assert not exact.equals(coarse)


@pytest.mark.parametrize(("rate", "mtu", "packets", "last_us"), [(10, 1500, 43, 1656.464), (100, 4000, 16, 168.1664)])
def test_an_incast_ends_when_that_of_htsim_does(rate: int, mtu: int, packets: int, last_us: float) -> None:
    spec = {
        "name": "incast",
        "duration": "10ms",
        "topology": {"kind": "many-to-one", "senders": 32, "rate": f"{rate}Gbps", "delay": "1us"},
        "queues": {"limit": "4000 packets"},
        "hosts": HOSTS,
        "transports": {"swift": transport(mtu)},
        "traffic": [
            {
                "kind": "bulk",
                "name": f"f{i}",
                "transport": "swift",
                "from": i,
                "to": 32,
                "size": f"{packets * (mtu - HEADER)}B",
            }
            for i in range(32)
        ],
    }
    flows = weft.run(spec, threads=1).flows
    assert flows["retransmitted"].sum() == 0
    assert 1e6 * max(flows["acked_s"]) == pytest.approx(last_us, rel=0.02)


def test_a_flow_over_two_queues_gets_a_small_part_as_in_htsim() -> None:
    """Each of the other flows meets one of the queues. The fast link to `r1` stands for no link in htsim."""
    links = [
        {"a": "two", "b": "s0"},
        {"a": "first", "b": "s0"},
        {"a": "second", "b": "s1"},
        {"a": "s0", "b": "s1"},
        {"a": "s1", "b": "r0"},
        {"a": "s1", "b": "r1", "rate": "10Tbps", "delay": "1ns"},
    ]
    ends = {"two": "r0", "first": "r1", "second": "r0"}
    spec = {
        "name": "parking",
        "duration": "20ms",
        "measure": {"start": "10ms"},
        "topology": {
            "kind": "graph",
            "rate": "100Gbps",
            "delay": "1us",
            "hosts": ["two", "first", "second", "r0", "r1"],
            "switches": ["s0", "s1"],
            "links": links,
        },
        "queues": {"limit": "1000 packets"},
        "hosts": HOSTS,
        "transports": {"swift": transport(4000), "shorter": transport(4000, base_us=BASE_US - HOP_US)},
        "traffic": [
            {
                "kind": "bulk",
                "name": source,
                "transport": "shorter" if source == "first" else "swift",
                "from": source,
                "to": to,
                "start": f"{10 * number}us",
            }
            for number, (source, to) in enumerate(ends.items())
        ],
    }
    rates = [rate * 1e-9 * 4000 / (4000 - HEADER) for rate in weft.run(spec, threads=1).flows["goodput_bps"]]
    assert 0.6752 / 1.5 <= rates[0] <= 0.6752 * 1.5
    assert rates[1:] == pytest.approx([99.3, 99.3], rel=0.02)


def goodputs(result: weft.Result) -> list[float]:
    """The rates of the flows in Gbps, payload alone."""
    return [rate * 1e-9 for rate in result.flows["goodput_bps"]]


def permutation(topology: dict[str, Any], subflows: int, threads: int = 1, **settings: Any) -> weft.Result:
    """Long flows from each host to another one, with distinct paths for the subflows of a flow."""
    spec = {
        "name": "permutation",
        "duration": "20ms",
        "measure": {"start": "10ms"},
        "topology": topology | {"rate": "10Gbps", "delay": "1us"},
        "queues": {"limit": "1000 packets"},
        "transports": {"swift": {"kind": "swift", "subflows": subflows, "paths": "disjoint", "swift": settings}},
        "traffic": [{"kind": "bulk", "transport": "swift", "pairs": "permutation"}],
    }
    return weft.run(spec, threads=threads)


FABRICS: dict[str, dict[str, Any]] = {
    "fat tree": {"kind": "fat-tree", "k": 4},
    "leaves and spines": {"kind": "leaf-spine", "leaves": 4, "spines": 4, "hosts_per_leaf": 4},
}


@pytest.mark.parametrize("name", FABRICS)
def test_four_subflows_fill_a_fabric_that_one_path_does_not(name: str) -> None:
    """Paths that collide share a link, and four paths of each flow cover all links."""
    link = 10 * (1 - HEADER / 4160)
    means = {}
    for subflows in (1, 4):
        rates = goodputs(permutation(FABRICS[name], subflows))
        means[subflows] = sum(rates) / len(rates) / link
    assert means[1] < 0.65, means
    assert means[4] > 0.85, means


@pytest.mark.parametrize("settings", [{}, {"timestamp_step": "8ns", "timestamp_noise": "50ns", "clock_error": 100}])
def test_the_threads_change_no_result_of_subflows(settings: dict[str, Any]) -> None:
    one, three = (permutation(FABRICS["fat tree"], 4, threads, **settings) for threads in (1, 3))
    assert one.subflows.equals(three.subflows)
    assert one.flows.equals(three.flows)
    assert one.links.equals(three.links)


@pytest.mark.parametrize(("rate", "mtu", "subflows"), [(10, 1500, 2), (10, 1500, 4), (100, 4160, 2)])
def test_each_subflow_takes_the_share_of_a_flow(rate: int, mtu: int, subflows: int) -> None:
    """Subflows are not coupled, so a flow has as many shares of a link as subflows there."""
    several = {"subflows": subflows} | transport(mtu)
    spec = {
        "name": "shares",
        "duration": "40ms",
        "measure": {"start": "20ms"},
        "topology": {"kind": "many-to-one", "senders": 2, "rate": f"{rate}Gbps", "delay": "1us"},
        "queues": {"limit": "4000 packets"},
        "hosts": HOSTS,
        "transports": {"several": several, "one": transport(mtu)},
        "traffic": [
            {"kind": "bulk", "name": name, "transport": name, "from": sender, "to": 2}
            for sender, name in enumerate(("several", "one"))
        ],
    }
    several_rate, one_rate = goodputs(weft.run(spec, threads=1))
    assert several_rate / one_rate == pytest.approx(subflows, rel=0.05)


def two_paths(failing: list[str], topology: dict[str, Any]) -> weft.Result:
    """A flow of two subflows whose paths are distinct. Links fail after 2 ms, and work again after 30 ms."""
    event = {"links": failing, "detection_delay": "1ms"}
    spec = {
        "name": "failure",
        "duration": "100ms",
        "topology": topology | {"rate": "10Gbps", "delay": "1us"},
        "queues": {"limit": "1000 packets"},
        "transports": {"swift": {"kind": "swift", "subflows": 2, "paths": "disjoint"}},
        "traffic": [{"kind": "bulk", "transport": "swift", "from": "h0", "to": "h1", "size": "20MB"}],
        "events": [event | {"at": "2ms", "state": "down"}, event | {"at": "30ms", "state": "up"}],
    }
    return weft.run(spec, threads=1)


def test_a_subflow_repeats_the_data_of_its_failed_path_on_the_path_that_routing_chooses() -> None:
    spines = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 1}
    result = two_paths(["leaf0->spine0", "spine0->leaf0"], spines)
    flow, subflows = result.flows.row(0, named=True), result.subflows
    assert flow["delivered_bytes"] == flow["size_bytes"] == 20_000_000
    assert flow["finish_s"] < 0.03
    failed, other = sorted(subflows.iter_rows(named=True), key=lambda subflow: subflow["timeouts"] == 0)
    assert failed["retransmitted"] >= failed["packets_dropped"] > 0
    assert other["retransmitted"] == other["packets_dropped"] == other["timeouts"] == 0
    assert subflows["acked_bytes"].sum() == 20_000_000


def test_without_another_path_the_data_of_a_failed_subflow_waits_until_the_link_works_again() -> None:
    """Each interface of the sender has one path, which its subflow keeps. The other subflow carries all other data."""
    links = [{"a": host, "b": switch} for switch in ("s0", "s1") for host in ("h0", "h1")]
    graph = {"kind": "graph", "hosts": ["h0", "h1"], "switches": ["s0", "s1"], "links": links}
    result = two_paths(["h0->s0"], graph)
    flow, subflows = result.flows.row(0, named=True), result.subflows
    assert flow["delivered_bytes"] == flow["size_bytes"]
    assert 0.03 < flow["finish_s"] < 0.1
    failed, other = sorted(subflows.iter_rows(named=True), key=lambda subflow: subflow["timeouts"] == 0)
    assert failed["timeouts"] > 1
    assert other["retransmitted"] == other["timeouts"] == 0
    assert failed["acked_bytes"] < other["acked_bytes"]
    assert failed["acked_bytes"] + other["acked_bytes"] == flow["size_bytes"]


def test_subflows_share_the_only_path() -> None:
    """As with TCP, a flow may have more subflows than there are paths."""
    result = Dumbbell(2, 10, 1500, 1_000, 2_000, 0, 0, (0, 0))
    spec = result.spec({"subflows": 3})
    assert weft.run(spec, threads=1).subflows.group_by("flow").len()["len"].to_list() == [3, 3]
