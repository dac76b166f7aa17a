"""Slowdown: ideal times against the simulator on an idle network, and statistics by size."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft.slowdown import Hop, add_slowdown, by_size, transfer_s, with_slowdown


def spec(traffic: list[dict[str, Any]], **changes: object) -> weft.Experiment:
    """Three senders of twice the bottleneck's rate; nothing is lost, marked or delayed by windows."""
    return weft.Experiment.model_validate(
        {
            "name": "idle",
            "duration": "50ms",
            "topology": {
                "kind": "many-to-one",
                "senders": 3,
                "rate": "10Gbps",
                "sender_rate": "25Gbps",
                "delay": "3us",
            },
            "queues": {"limit": "1000 packets"},
            "transports": {
                "wide": {
                    "cc": "reno",
                    "profile": "amp-2019",
                    "tcp": {"initial_cwnd": 500, "fct_from": "open"},
                },
                "dctcp": {"cc": "dctcp", "profile": "amp-2019"},
            },
            "traffic": traffic,
            **changes,
        }
    )


def test_alone_with_a_wide_window_a_flow_takes_the_ideal_time() -> None:
    sizes = [1, 1400, 1401, 2799, 2800, 123_456]
    traffic = [
        {"kind": "bulk", "transport": "wide", "from": "h0", "to": "r0", "size": f"{size}B", "start": f"{n}ms"}
        for n, size in enumerate(sizes)
    ]
    flows = with_slowdown(weft.run(spec(traffic)))
    assert flows["size_bytes"].to_list() == sizes
    # The ideal leaves out at most an acknowledgement of the handshake, 42 bytes that go before the data.
    late_s = (flows["fct_s"] - flows["ideal_s"]).to_list()
    assert all(-1e-15 <= late <= 42 * 8 * 2 / 25e9 + 1e-15 for late in late_s)
    assert flows["slowdown"].max() < 1.002  # type: ignore[operator]


@pytest.mark.parametrize("framing", [0, 24])
def test_framing_takes_time_on_the_wire(framing: int) -> None:
    flow = {"kind": "bulk", "from": "h0", "to": "r0", "size": "1MB"}
    transports = {
        begin: {
            "cc": "reno",
            "profile": "amp-2019",
            "tcp": {"initial_cwnd": 1000, "framing": f"{framing}B", "fct_from": begin},
        }
        for begin in ("established", "open")
    }
    traffic = [{**flow, "transport": "established"}, {**flow, "transport": "open", "start": "20ms"}]
    flows = with_slowdown(weft.run(spec(traffic, transports=transports)))
    # The handshake's acknowledgement, which the ideal leaves out, goes before the data.
    late_s = (42 + framing) * 8 / 25e9
    assert (flows["fct_s"] - flows["ideal_s"]).to_list() == pytest.approx([late_s, late_s], rel=1e-6)


def test_of_what_shares_a_link_nobody_is_faster_than_ideal() -> None:
    traffic: list[dict[str, Any]] = [
        {"kind": "incast", "transport": "dctcp", "flows": 30, "size": "60KB"},
        {"kind": "bulk", "transport": "dctcp", "from": "h0", "to": "r0", "size": "1GB"},
        {"kind": "bulk", "transport": "dctcp", "from": "h1", "to": "r0"},
    ]
    result = weft.run(spec(traffic))
    flows = with_slowdown(result)
    short = flows.filter(size_bytes=60_000)
    assert short["slowdown"].min() > 1.0  # type: ignore[operator]
    # The last of 30 at once waits for 29 others.
    assert 25 < short["slowdown"].max() < 60  # type: ignore[operator]
    cut_off, endless = flows.row(30, named=True), flows.row(31, named=True)
    assert cut_off["slowdown"] is None
    assert cut_off["slowdown_at_least"] == pytest.approx(cut_off["unfinished_s"] / cut_off["ideal_s"])
    assert endless["ideal_s"] is None
    assert result.manifest["unfinished"] == {"flows": 1, "jobs": 0}
    told = by_size(flows, [50, 99])
    assert told.select("below_bytes", "flows", "unfinished", "p50_is_lower_bound").rows() == [
        (100_000, 30, 0, False),
        (None, 1, 1, True),
    ]
    assert by_size(flows, by="transport")["transport"].to_list() == ["dctcp", "dctcp"]


@given(
    st.lists(st.tuples(st.sampled_from([1e9, 2.5e9, 10e9]), st.floats(0, 1e-5)), min_size=1, max_size=6),
    st.integers(1, 20_000),
)
def test_transfer_is_that_of_packets_one_by_one(links: list[tuple[float, float]], size: int) -> None:
    """Each packet begins to leave a link when it is there and the one before it has left."""
    path = [Hop(*link) for link in links]
    mss, header = 1448, 52
    packets = [mss + header] * ((size - 1) // mss) + [(size - 1) % mss + 1 + header]
    at = [0.0] * len(packets)
    for hop in path:
        left = 0.0
        for i, packet in enumerate(packets):
            left = max(left, at[i]) + hop.serialisation_s(packet)
            at[i] = left + hop.delay_s
    assert transfer_s(path, size, mss, header) == pytest.approx(at[-1], rel=1e-9)


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
    told = by_size(flows, [100], edges_bytes=[100, 1000])
    assert told.select("below_bytes", "flows", "p100").rows() == [(100, 2, 2.0), (1000, 1, 3.0)]


def test_tables_have_the_slowdown_unless_the_network_is_very_large() -> None:
    result = weft.run(spec([{"kind": "incast", "transport": "dctcp", "flows": 3, "size": "60KB"}]))
    assert result.flows.columns[-3:] == ["ideal_s", "slowdown", "slowdown_at_least"]
    assert result.flows.equals(with_slowdown(result))
    assert result.flows["slowdown"].null_count() == 0
    assert "slowdown" not in result.tables["flows"].columns
    transports = result.manifest["spec"]["transports"]
    beyond = add_slowdown(result.tables["flows"], result.links, transports, max_links=result.links.height - 1)
    assert beyond["ideal_s"].null_count() == beyond.height == 3


def test_hosts_that_forward_are_on_paths() -> None:
    """In BCube hosts have two links, and paths lead through them."""
    flow = {"kind": "bulk", "transport": "wide", "from": "h0", "to": "h3", "size": "30KB"}
    topology = {"kind": "bcube", "n": 2, "k": 1, "rate": "10Gbps", "delay": "3us"}
    result = weft.run(spec([flow], topology=topology))
    (ideal,) = result.flows["ideal_s"]
    # There and back for the handshake, then the data; over two switches and the host between them.
    path = 4 * [Hop(10e9, 3e-6)]
    sizes = {name: result.manifest["spec"]["transports"]["wide"]["tcp"][name] for name in ("mss", "header", "ack_size")}
    mss, header, ack = (int(size.removesuffix("B")) for size in sizes.values())
    handshake = 2 * sum(hop.delay_s + hop.serialisation_s(ack) for hop in path)
    assert ideal == pytest.approx(handshake + transfer_s(path, 30_000, mss, header), rel=1e-12)


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
    over_seeds = weft.stats.mean_ci(rows, "p99", by=["below_bytes", "size"])
    assert over_seeds.select("size", "n", "mean").rows() == [("10 KB to 100 KB", 2, 3.0), ("from 10 MB", 2, 6.0)]
