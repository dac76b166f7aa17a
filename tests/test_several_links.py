"""Transports of kind `uet` and `ndp` use all links of their hosts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import polars as pl
import pytest

import weft

# The first window of NDP limits a flow in an empty network, so it is longer than the round trip.
KINDS: dict[str, dict[str, Any]] = {"uet": {"kind": "uet"}, "ndp": {"kind": "ndp", "ndp": {"initial_window": 80}}}
PAYLOAD = {"uet": 4086 / 4150, "ndp": 9000 / 9064}
HOSTS = [f"h{i}" for i in range(6)]
CABLES = [{"a": host, "b": switch} for host in HOSTS for switch in ("s0", "s1")]
NETWORKS: dict[str, dict[str, Any]] = {
    "multi-homed fat-tree": {"kind": "multi-homed-fat-tree", "k": 4, "homes": 2},
    "graph with two planes": {"kind": "graph", "hosts": HOSTS, "switches": ["s0", "s1"], "links": CABLES},
}


def spec(kind: str, network: dict[str, Any], traffic: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    return {
        "name": "several links",
        "duration": "1ms",
        "measure": {"start": "400us"},
        "topology": network | {"rate": "100Gbps", "delay": "1us"},
        "queues": {"limit": "8 packets" if kind == "ndp" else "42 packets", "kind": "trimming"},
        "transports": {"all": KINDS[kind]},
        "traffic": [{"kind": "bulk", "transport": "all"} | entry for entry in traffic],
    } | fields


def sent(result: weft.Result, host: str) -> float:
    """The part of the links of a host that is used, headers included."""
    links = result.links.filter(pl.col("from") == host)
    return float(links["bytes"].sum()) * 8 / (float(links["rate_bps"].sum()) * 6e-4)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("kind", KINDS)
def test_all_links_of_all_hosts_are_used(kind: str, network: str) -> None:
    result = weft.run(spec(kind, NETWORKS[network], [{"pairs": "permutation"}]))
    links = result.links.group_by("from").agg(pl.col("rate_bps").sum())
    parts = result.flows.join(links, on="from").select(pl.col("goodput_bps") / pl.col("rate_bps") / PAYLOAD[kind])
    values = parts.to_series().to_list()
    assert sum(values) / len(values) > 0.95


@pytest.mark.parametrize("kind", KINDS)
def test_hosts_with_one_link_and_with_two(kind: str) -> None:
    """A host with two links receives from two hosts with one link each, or sends to both."""
    cables = [{"a": host, "b": "s"} for host in ("a", "b", "both", "both")]
    network = {"kind": "graph", "hosts": ["a", "b", "both"], "switches": ["s"], "links": cables}
    entries = [{"from": host, "to": "both", "name": host} for host in ("a", "b")]
    result = weft.run(spec(kind, network, entries))
    assert min(sent(result, host) for host in ("a", "b")) > 0.95
    entries = [{"from": "both", "to": host, "name": host} for host in ("a", "b")]
    assert sent(weft.run(spec(kind, network, entries)), "both") > 0.95


@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_link_leaves_the_other_one(kind: str) -> None:
    events = [{"at": "300us", "state": "down", "links": ["h0->s0", "s0->h0"], "detection_delay": "10us"}]
    network = NETWORKS["graph with two planes"]
    pairs = [list(pair) for pair in pairwise(HOSTS[:2])]
    result = weft.run(spec(kind, network, [{"pairs": pairs}], events=events))
    assert sent(result, "h0") == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize("kind", [{"kind": "roce"}, {"kind": "constant-rate", "rate": "10Gbps"}])
def test_flows_of_other_kinds_take_the_links_of_their_paths(kind: dict[str, Any]) -> None:
    traffic = [{"from": "h0", "to": "h1", "count": 8}]
    result = weft.run(
        spec(
            "uet", NETWORKS["graph with two planes"], traffic, transports={"all": kind}, queues={"limit": "100 packets"}
        )
    )
    links = result.links.filter(pl.col("from") == "h0")
    assert links.height == 2
    assert min(links["bytes"].to_list()) > 0
