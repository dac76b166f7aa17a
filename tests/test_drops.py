"""The table `drops` says why packets were dropped, where, and of which flow."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import weft
from tests.kinds import EXAMPLES

TCP = {"cc": "reno"}
CONSTANT = {"kind": "constant-rate", "rate": "1Gbps", "packet_size": "1000B"}


def spec(queues: dict[str, Any], transport: dict[str, Any] = CONSTANT, **fields: Any) -> dict[str, Any]:
    """Four hosts send to one port of the rate of each of their links."""
    traffic = {"kind": "bulk", "transport": "sender", "pairs": [[f"h{i}", "r0"] for i in range(4)], "size": "1MB"}
    return {
        "name": "drops",
        "duration": "200ms",
        "topology": {"kind": "many-to-one", "senders": 4, "rate": "1Gbps", "delay": "10us"},
        "queues": {"limit": "20 packets", **queues},
        "transports": {"sender": transport},
        "traffic": [traffic],
        **fields,
    }


def reasons(result: weft.Result) -> dict[str, int]:
    """Packets by reason."""
    rows = result.drops.group_by("reason").agg(pl.col("packets").sum()).sort("reason")
    return dict(rows.iter_rows())


CASES: dict[str, tuple[dict[str, Any], set[str]]] = {
    "a full FIFO": (spec({}), {"limit"}),
    "RED that drops": (
        spec({"kind": {"name": "red", "min": "5 packets", "max": "15 packets", "probability": 1.0, "action": "drop"}}),
        {"red"},
    ),
    "RED that marks, and packets that are not ECN-capable": (
        spec({"kind": {"name": "red", "min": "5 packets", "max": "15 packets", "probability": 1.0}}),
        {"not-ect"},
    ),
    "CoDel": (
        spec({"limit": "1000 packets", "kind": {"name": "codel", "target": "100us", "interval": "1ms"}}, TCP),
        {"codel"},
    ),
    "a shared buffer": (
        spec({"limit": "1000 packets", "kind": {"name": "shared", "buffer": "40KB"}}),
        {"buffer"},
    ),
    "a class that marks, and packets that are not ECN-capable": (
        spec({"kind": {"name": "priority", "classes": [{"mark": "5 packets", "drop_not_ect": True}]}}),
        {"not-ect"},
    ),
    "a full class": (
        spec({"kind": {"name": "priority", "classes": [{"limit": "5 packets"}]}}),
        {"limit"},
    ),
    "no room for headers": (spec({"kind": {"name": "trimming", "headers": "128B"}}), {"headers"}),
    "a link that loses": (spec({"limit": "10000 packets", "kind": {"name": "lossy", "every": 50}}, TCP), {"loss"}),
    "a link that fails": (
        spec({"limit": "10000 packets"}, events=[{"at": "2ms", "links": ["s0->r0"], "state": "down"}]),
        {"link-down"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_drop_has_its_reason(case: str) -> None:
    given, expected = CASES[case]
    result = weft.run(given, threads=1)
    found = reasons(result)
    assert set(found) == expected
    links = result.links
    assert sum(found.values()) == links.select(pl.col("drops").sum() + pl.col("losses").sum()).item() > 0


@pytest.mark.parametrize("kind", EXAMPLES)
def test_drops_of_each_kind_add_up(kind: str) -> None:
    given = spec(EXAMPLES[kind]["queues"])
    given["transports"] |= EXAMPLES[kind].get("transports", {})
    result = weft.run(given, threads=1)
    of_links = result.links.select(pl.col("drops").sum() + pl.col("losses").sum()).item()
    assert sum(reasons(result).values()) == of_links


def test_drops_of_a_link_and_of_a_flow_are_those_of_their_tables() -> None:
    result = weft.run(spec({}, TCP), threads=2)
    by_link = result.drops.group_by("link").agg(pl.col("packets").sum()).sort("link")
    dropping = result.links.filter(pl.col("drops") > 0)
    assert by_link["link"].to_list() == dropping["link"].to_list()
    assert by_link["packets"].to_list() == dropping["drops"].to_list()
    of_flows = result.drops.drop_nulls("flow").group_by("flow", "subflow").agg(pl.col("packets").sum())
    subflows = result.subflows.filter(pl.col("packets_dropped") > 0)
    joined = subflows.join(of_flows, on=["flow", "subflow"], how="full")
    assert joined["packets"].to_list() == joined["packets_dropped"].to_list()
    assert set(result.drops["to"]) == {"r0"}


def test_packets_without_payload_have_no_flow() -> None:
    changes = [("2ms", "down"), ("40ms", "up")]
    backwards = [{"at": at, "links": ["s0->h0"], "state": state} for at, state in changes]
    result = weft.run(spec({"limit": "10000 packets"}, TCP, events=backwards), threads=1)
    acks = result.drops.filter(pl.col("flow").is_null())
    assert set(acks["to"]) == {"h0"}
    assert set(acks["reason"]) == {"link-down"}


def test_drops_do_not_depend_on_threads() -> None:
    given = spec({"kind": {"name": "red", "min": "5 packets", "max": "15 packets", "probability": 1.0}}, TCP)
    one, two = (weft.run(given, threads=threads).drops for threads in (1, 2))
    assert one.equals(two)


def test_a_watchdog_is_a_reason() -> None:
    """The port of the receiver is slow: its switch pauses the senders until their watchdogs drop waiting packets."""
    lossless = {"name": "lossless", "watchdog": "1ms", "headroom": "20KB"}
    given = spec({"limit": "100KB", "kind": lossless}, {"kind": "roce", "roce": {"control": "none"}})
    given["links"] = {"s0->r0": {"rate": "10Mbps"}}
    result = weft.run(given, threads=1)
    assert "watchdog" in reasons(result)
