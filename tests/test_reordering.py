"""Reordering by the definitions of RFC 4737 and RFC 5236, written out, and on runs."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft.reordering import Within, arrivals, density, summary


def table(numbers: list[int], **columns: Any) -> pl.DataFrame:
    """Data that arrives in that order, of one subflow."""
    about = {"kind": "data", "link": 0, "flow": 0, "subflow": 0, "retransmission": False} | columns
    return pl.DataFrame({"seq": numbers, "chunk": numbers, **about}, schema_overrides={"seq": pl.UInt32})


def by_definition(numbers: list[int]) -> list[tuple[int | None, int, int]]:
    """Extent, displacement and buffer of each arrival, the first copies only."""
    first = list(dict.fromkeys(numbers))
    positions = [sorted(first).index(value) for value in first]
    found = []
    for i, s in enumerate(positions):
        later = [j for j in range(i) if positions[j] > s]
        arrived = positions[: i + 1]
        in_order = next(n for n in range(len(first) + 1) if n not in arrived)
        found.append((i - later[0] if later else None, i - s, sum(packet > in_order for packet in arrived)))
    return found


@given(st.lists(st.integers(0, 12), min_size=1, max_size=24))
def test_each_arrival_is_as_the_definitions_say(numbers: list[int]) -> None:
    assert arrivals(table(numbers)).select("extent", "displacement", "buffered").rows() == by_definition(numbers)


def test_a_burst_that_is_late() -> None:
    """Packets 4 to 6 arrive behind 10: their extents are 4, 5 and 6."""
    arrived = arrivals(table([1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11]))
    assert arrived["extent"].drop_nulls().to_list() == [4, 5, 6]
    assert arrived["displacement"].to_list() == [0, 0, 0, -3, -3, -3, -3, 4, 4, 4, 0]
    assert arrived["buffered"].max() == 4


def test_losses_are_no_reordering() -> None:
    told = summary(arrivals(table([1, 2, 5, 6, 9])))
    assert told.row(0) == (5, 0, 0.0, None, None, 0)
    assert density(arrivals(table([1, 2, 5, 6, 9]))).rows() == [(0, 1.0)]


def test_groups_are_apart() -> None:
    packets = pl.concat([table([5, 6, 7], flow=1), table([1, 3, 2], flow=0), table([2, 1], flow=0, subflow=1)])
    told = summary(arrivals(packets), by=("flow", "subflow"))
    assert told.select("flow", "subflow", "packets", "reordered").rows() == [(0, 0, 3, 1), (0, 1, 2, 1), (1, 0, 3, 0)]


def test_sequence_numbers_go_round() -> None:
    assert arrivals(table([2**32 - 2, 0, 2**32 - 1, 1]))["displacement"].to_list() == [0, -1, 1, 0]


@pytest.mark.parametrize(("within", "reordered"), [("subflow", 0), ("connection", 1)])
def test_retransmissions_count_for_the_connection_alone(within: Within, reordered: int) -> None:
    packets = pl.concat([table([1, 3, 4]), table([2, 3], retransmission=True)])
    assert summary(arrivals(packets, within))["reordered"].item() == reordered


def spec(paths: str) -> Any:
    return {
        "name": "reordering",
        "duration": "20ms",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 2,
            "hosts_per_leaf": 4,
            "spines": 4,
            "rate": "1Gbps",
            "delay": "5us",
        },
        "queues": {"limit": "100 packets", "mark": "20 packets"},
        "transports": {"dctcp": {"cc": "dctcp", "paths": paths}},
        "traffic": [{"kind": "bulk", "transport": "dctcp", "size": "1MB", "from": "0..4", "to": "h5"}],
        "probes": [{"kind": "packets", "at": ["leaf-host"]}],
    }


def test_spraying_reorders_and_a_single_path_does_not() -> None:
    told = {}
    for paths in ("ecmp", "rps"):
        result = weft.run(weft.Experiment.model_validate(spec(paths)), seed=1)
        told[paths] = summary(arrivals(result.packets)).row(0, named=True)
        sent = int(result.flows["packets_sent"].sum()) - int(result.flows["retransmitted"].sum())
        assert told[paths]["packets"] <= sent
    assert told["ecmp"]["reordered"] == 0
    assert told["rps"]["reordered"] > 0
