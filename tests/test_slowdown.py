"""Slowdown: ideal times against the simulator on an idle network, and statistics by size."""

from __future__ import annotations

import warnings
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import weft
from weft.errors import ResultWarning
from weft.stats import by_size

HOSTS = {"jitter": "0s", "clock_ppm": 0, "qdisc": "switch"}
"""Hosts that add no time of their own."""

WIDE_TCP = {
    "initial_cwnd": 5000,
    "receive_buffer": "1GB",
    "min_rto": "50s",
    "initial_rto": "50s",
    "fct_from": "established",
}


def tcp(**changes: object) -> dict[str, Any]:
    """Returns a transport whose window does not limit a flow."""
    return {"cc": "reno", "profile": "amp-2019", "tcp": WIDE_TCP, **changes}


TRANSPORTS: dict[str, dict[str, Any]] = {
    "tcp": tcp(),
    "small": tcp(tcp={**WIDE_TCP, "mss": "536B", "header": "64B", "ack_size": "66B"}),
    "two": tcp(subflows=2),
    "eight": tcp(subflows=8),
    "sprayed": tcp(paths="rps"),
    "roce": {"kind": "roce", "roce": {"control": "none"}},
    "roce-4k": {"kind": "roce", "roce": {"mtu": "4158B"}},
    "swift": {"kind": "swift", "swift": {"base_target": "100ms", "initial_window": 100}},
    "swift-4": {"kind": "swift", "subflows": 4, "swift": {"base_target": "100ms", "initial_window": 100}},
    "ndp": {"kind": "ndp", "ndp": {"initial_window": 5000}},
    "ndp-1500": {"kind": "ndp", "ndp": {"initial_window": 5000, "mtu": "1514B"}},
    "uet": {"kind": "uet", "uet": {"ack_bytes": "1KB"}},
    "messages": {"kind": "uet", "uet": {"ack_bytes": "1KB", "message_size": "10001B", "mtu": "1000B"}},
    "constant": {"kind": "constant-rate", "rate": "3Gbps"},
    "pausing": {"kind": "constant-rate", "rate": "3Gbps", "on": "7us", "off": "5us"},
}
ONE_PATH = ("tcp", "small", "roce", "roce-4k", "swift", "constant", "pausing")
NEED_TRIMMING = ("ndp", "ndp-1500", "uet", "messages")
RATES = ("1Gbps", "2.5Gbps", "10Gbps", "25Gbps", "100Gbps")
rates, delays = st.sampled_from(RATES), st.sampled_from(("0s", "300ns", "1us", "5us"))
BETWEEN = ("h0", "h7")


def flows_alone(topology: dict[str, Any], name: str, sizes: list[int], **changes: object) -> pl.DataFrame:
    """Runs flows one after the other, each alone on the network, from the first to the last host."""
    many_to_one = topology["kind"] == "many-to-one"
    ends = ("h0", "r0") if many_to_one else BETWEEN
    if many_to_one and TRANSPORTS[name].get("kind") in ("ndp", "uet", "roce", "swift"):
        topology = {**topology, "sender_rate": topology["rate"]}  # hosts need equal links
    spec = {
        "name": "alone",
        "duration": f"{10 * len(sizes)}ms",
        "topology": topology,
        "hosts": HOSTS,
        "queues": {"limit": "10000 packets", "kind": "trimming" if name in NEED_TRIMMING else "fifo"},
        "transports": {name: TRANSPORTS[name]},
        "traffic": [
            {
                "kind": "bulk",
                "transport": name,
                "from": ends[0],
                "to": ends[1],
                "size": f"{size}B",
                "start": f"{10 * n}ms",
            }
            for n, size in enumerate(sizes)
        ],
        **changes,
    }
    flows = weft.run(spec).flows
    assert flows["size_bytes"].to_list() == sizes
    assert flows["fct_s"].null_count() == flows["slowdown"].null_count() == 0
    return flows


topologies = st.one_of(
    st.fixed_dictionaries(
        {"kind": st.just("many-to-one"), "senders": st.just(2), "rate": rates, "sender_rate": rates, "delay": delays}
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("leaf-spine"),
            "leaves": st.just(2),
            "spines": st.just(3),
            "hosts_per_leaf": st.just(4),
            "rate": rates,
            "spine_rate": rates,
            "delay": delays,
        }
    ),
    st.fixed_dictionaries(
        {"kind": st.just("fat-tree"), "k": st.just(4), "rate": rates, "host_rate": rates, "delay": delays}
    ),
)
sizes = st.lists(st.integers(1, 60_000), min_size=1, max_size=4)


@settings(max_examples=40)
@given(topologies, st.sampled_from(ONE_PATH), sizes)
def test_alone_a_flow_over_one_path_takes_the_ideal_time(topology: dict[str, Any], name: str, sizes: list[int]) -> None:
    slowdown = flows_alone(topology, name, sizes)["slowdown"].to_list()
    if name == "pausing" and any(
        topology.get(rate) in ("1Gbps", "2.5Gbps") for rate in ("rate", "spine_rate", "host_rate", "sender_rate")
    ):
        assert min(slowdown) >= 1.0, "packets of one burst may delay those of the next"
    else:
        assert slowdown == [1.0] * len(sizes)


@settings(max_examples=40)
@given(topologies, st.sampled_from([name for name in TRANSPORTS if name not in ONE_PATH]), sizes)
def test_alone_a_flow_over_several_paths_is_not_faster(topology: dict[str, Any], name: str, sizes: list[int]) -> None:
    assume(name != "sprayed" or topology["kind"] != "many-to-one")  # which has one path
    assert min(flows_alone(topology, name, sizes)["slowdown"].to_list()) >= 1.0


@pytest.mark.parametrize("name", ["sprayed", "ndp", "ndp-1500", "uet"])
def test_a_sprayed_flow_reaches_its_ideal_time_to_within_its_packets_on_one_link(name: str) -> None:
    """Four spines of a tenth of the host's rate each: the cut is that of the leaf."""
    topology = {
        "kind": "leaf-spine",
        "leaves": 2,
        "spines": 4,
        "hosts_per_leaf": 4,
        "rate": "10Gbps",
        "spine_rate": "1Gbps",
        "delay": "1us",
    }
    flows = flows_alone(topology, name, [400_000, 1_000_000])
    slowdowns = flows["slowdown"].to_list()
    assert min(slowdowns) >= 1.0
    # Random choices of paths send more packets to one spine than to another.
    assert max(slowdowns) < 1.6
    # One path of 1 Gbps would take four times as long.
    assert flows["ideal_s"][1] == pytest.approx(1_000_000 * 8 / 4e9, rel=0.1)


@pytest.mark.parametrize("subflows", [1, 2, 4])
@pytest.mark.parametrize("size", [1_000, 100_000, 30_000_000])
def test_hosts_with_several_links_are_not_faster_than_ideal(subflows: int, size: int) -> None:
    """Two links of a host carry data at once only with several subflows."""
    transport = tcp(subflows=subflows, paths="disjoint")
    topology = {"kind": "multi-homed-fat-tree", "k": 4, "rate": "10Gbps", "delay": "1us"}
    flow = {"kind": "bulk", "transport": "t", "from": "h0", "to": "h7", "size": f"{size}B"}
    spec = {
        "name": "homes",
        "duration": "60ms",
        "topology": topology,
        "hosts": HOSTS,
        "queues": {"limit": "10000 packets"},
        "transports": {"t": transport},
        "traffic": [flow],
    }
    (slowdown,) = weft.run(spec).flows["slowdown"]
    assert slowdown >= 1.0
    if subflows == 1:
        assert slowdown == 1.0
    # The second subflow joins a round-trip time later, when the first one has sent its window.
    assert slowdown < (1.3 if size > 1_000_000 else 3.0)


@settings(max_examples=30)
@given(topologies, st.integers(1, 4), sizes, st.sampled_from(("open", "established")))
def test_a_flow_alone_takes_the_ideal_time_of_the_flow_level(
    topology: dict[str, Any], subflows: int, sizes: list[int], begin: str
) -> None:
    TRANSPORTS["flow"] = tcp(subflows=subflows, tcp={"fct_from": begin})
    flows = flows_alone(topology, "flow", sizes, level="flow", hosts={})
    if subflows == 1:
        assert flows["slowdown"].to_list() == pytest.approx([1.0] * len(sizes), rel=1e-6)
    # The level takes times in whole picoseconds, and rates as floating-point numbers.
    assert min(flows["slowdown"].to_list()) >= 1.0


def test_the_handshake_is_part_of_an_fct_from_the_opening() -> None:
    topology = {"kind": "many-to-one", "senders": 2, "rate": "10Gbps", "sender_rate": "25Gbps", "delay": "3us"}
    for ack_size in ("42B", "66B"):
        TRANSPORTS["open"] = tcp(tcp={**WIDE_TCP, "fct_from": "open", "ack_size": ack_size})
        assert flows_alone(topology, "open", [1, 1400, 1401, 2800, 123_456])["slowdown"].to_list() == [1.0] * 5


def test_clocks_of_hosts_do_not_make_a_flow_faster_than_ideal() -> None:
    topology = {"kind": "many-to-one", "senders": 2, "rate": "10Gbps", "delay": "3us"}
    slowdowns = [
        flows_alone(topology, "tcp", [3_000_000], hosts={**HOSTS, "clock_ppm": 100}, seed=seed)["slowdown"][0]
        for seed in range(1, 6)
    ]
    assert all(1.0 <= slowdown < 1.0003 for slowdown in slowdowns)


def test_events_do_not_make_a_flow_faster_than_ideal() -> None:
    topology = {"kind": "many-to-one", "senders": 2, "rate": "1Gbps", "sender_rate": "10Gbps", "delay": "3us"}
    events = [{"at": "10ms", "links": ["s0->r0"], "rate": "10Gbps"}]
    before, after = flows_alone(topology, "tcp", [300_000, 300_000], events=events)["slowdown"]
    assert (round(before), after) == (10, 1.0)


def test_flows_without_an_end_have_no_ideal() -> None:
    endless = {"kind": "bulk", "transport": "tcp", "from": "h0", "to": "r0"}
    spec = {
        "name": "stopped",
        "duration": "50ms",
        "topology": {"kind": "many-to-one", "senders": 2, "rate": "10Gbps", "delay": "1us"},
        "queues": {"limit": "10000 packets"},
        "transports": {"tcp": TRANSPORTS["tcp"]},
        "traffic": [{**endless, "stop": "1ms"}, {**endless, "size": "1GB"}, endless],
    }
    flows = weft.run(spec).flows
    assert flows["fct_s"].is_not_null().to_list() == [True, False, False]
    assert flows["ideal_s"].is_null().to_list() == [True, False, True]
    assert flows["slowdown"].null_count() == 3
    assert flows["slowdown_at_least"].is_null().to_list() == [True, False, True]
    assert flows["slowdown_at_least"][1] == pytest.approx(flows["unfinished_s"][1] / flows["ideal_s"][1])


def test_flows_that_share_a_link_are_slower_than_ideal() -> None:
    spec = {
        "name": "shared",
        "duration": "50ms",
        "topology": {"kind": "many-to-one", "senders": 3, "rate": "10Gbps", "sender_rate": "25Gbps", "delay": "3us"},
        "queues": {"limit": "1000 packets"},
        "transports": {"dctcp": {"cc": "dctcp", "profile": "amp-2019"}},
        "traffic": [{"kind": "incast", "transport": "dctcp", "flows": 30, "size": "60KB"}],
    }
    flows = weft.run(spec).flows
    assert flows["slowdown"].min() > 1.0  # type: ignore[operator]
    # The last of 30 at once waits for 29 others.
    assert 25 < flows["slowdown"].max() < 60  # type: ignore[operator]


def test_networks_of_any_size_have_ideals() -> None:
    spec = {
        "name": "large",
        "duration": "1ms",
        "topology": {"kind": "fat-tree", "k": 16, "rate": "10Gbps", "delay": "1us"},
        "queues": {"limit": "100 packets"},
        "transports": {"dctcp": {"cc": "dctcp"}},
        "traffic": [{"kind": "bulk", "transport": "dctcp", "pairs": "permutation", "size": "10KB"}],
    }
    result = weft.run(spec)
    assert result.links.height > 5_000
    assert result.flows["slowdown"].null_count() == 0
    assert result.flows["slowdown"].min() >= 1.0  # type: ignore[operator]


def test_classes_begin_at_their_edges() -> None:
    flows = pl.DataFrame(
        {
            "size_bytes": [10, 99, 100, 5000],
            "slowdown": [1.0, 2.0, 3.0, None],
            "slowdown_at_least": [None, None, None, None],
        },
        schema_overrides={"slowdown_at_least": pl.Float64},
    )
    # The last had not opened.
    found = by_size(flows, [100], edges_bytes=[100, 1000])
    assert found.select("below_bytes", "flows", "p100").rows() == [(100, 2, 2.0), (1000, 1, 3.0)]


def test_sizes_have_names_and_seeds_an_interval() -> None:
    flows = pl.DataFrame(
        {
            "seed": [1, 1, 2, 2],
            "size_bytes": [10_000, 20_000_000, 99_999, 20_000_000],
            "slowdown": [2.0, 5.0, 4.0, 7.0],
            "slowdown_at_least": [None, None, None, None],
        },
        schema_overrides={"slowdown_at_least": pl.Float64},
    )
    rows = weft.stats.by_size(flows, [99], by="seed")
    assert rows["size"].to_list() == 2 * ["10 KB to 100 KB", "from 10 MB"]
    assert weft.stats.by_size(flows, edges_bytes=[])["size"].to_list() == ["all"]
    over_seeds = weft.stats.median_ci(rows, "p99", by=["below_bytes", "size"])
    assert over_seeds.select("size", "n", "median").rows() == [("10 KB to 100 KB", 2, 3.0), ("from 10 MB", 2, 6.0)]


def test_a_group_without_a_value_keeps_its_row() -> None:
    flows = pl.DataFrame(
        {
            "transport": ["a", "a", "b"],
            "size_bytes": [1000, 2000, 3000],
            "fct_s": [1.0, 2.0, 3.0],
            "unfinished_s": [None, None, None],
            "ideal_s": [1.0, 1.0, None],
            "slowdown": [1.0, 2.0, None],
            "slowdown_at_least": [None, None, None],
        },
        schema_overrides={"slowdown_at_least": pl.Float64, "unfinished_s": pl.Float64},
    )
    with pytest.warns(ResultWarning, match="by_size: no value of slowdown for transport = b, below_bytes = 10000; "):
        rows = by_size(flows, [50], by="transport")
    assert rows.select("transport", "flows", "p50", "unfinished").rows() == [("a", 2, 1.5, 0), ("b", 1, None, 0)]
    percentiles = weft.stats.percentiles
    for options in ({}, {"at_least": "slowdown_at_least"}, {"weight": "size_bytes"}):
        with pytest.warns(ResultWarning, match="percentiles: no value of slowdown for transport = b; "):
            found = percentiles(flows, "slowdown", [100], by="transport", **options)  # type: ignore[arg-type]
        assert found.select("transport", "p100").rows() == [("a", 2.0), ("b", None)]
    with pytest.warns(ResultWarning, match="median_ci: no value of slowdown for transport = b; "):
        means = weft.stats.median_ci(flows, "slowdown", by="transport")
    assert means.select("transport", "n", "median").rows() == [("a", 2, 1.5), ("b", 0, None)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        percentiles(flows, "fct_s", by="transport")
