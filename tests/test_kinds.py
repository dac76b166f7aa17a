"""Columns of the table `subflows` by kind of transport."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import weft

PAGE = Path(__file__).parent.parent / "crates" / "weft-transports" / "src" / "columns.md"
TABLE = PAGE.read_text(encoding="utf-8").split("In `traces`")[0]
KINDS_OF = {
    column: set(re.findall(r"`([a-z-]+)`", kinds))
    for columns, kinds in re.findall(r"^\| (`.*`) \| (`.*`) \|$", TABLE, re.MULTILINE)
    for column in re.findall(r"`(\w+)`", columns)
}
"""The kinds that have a column, for the columns that not all kinds have."""
KINDS = ("tcp", "constant-rate", "uet", "ndp", "roce", "swift")
SETTINGS = {"constant-rate": {"rate": "100Mbps"}, "tcp": {"cc": "dctcp"}}
SIZE = 100_000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::weft.ResultWarning")
def test_columns_that_a_kind_does_not_have_are_null(kind: str) -> None:
    spec = {
        "name": "kinds",
        "duration": "20ms",
        "topology": {"kind": "many-to-one", "senders": 1, "rate": "1Gbps", "delay": "1us"},
        "queues": {"limit": "100 packets", "mark": "20 packets"},
        "transports": {"one": {"kind": kind} | SETTINGS.get(kind, {})},
        "traffic": [{"kind": "bulk", "transport": "one", "from": 0, "to": 1, "size": f"{SIZE}B"}],
    }
    result = weft.run(spec, threads=1)
    row = result.subflows.row(0, named=True)
    assert len(KINDS_OF) == 11
    assert {column: row[column] is not None for column in KINDS_OF} == {
        column: kind in kinds for column, kinds in KINDS_OF.items()
    }
    assert row["acked_bytes"] in (None, SIZE)
    # Sums over the subflows count what is null as nothing.
    flow = result.flows.row(0, named=True)
    assert flow["marked"] == (row["marked"] or 0)
    assert flow["fast_retransmits"] == flow["syn_timeouts"] == 0


def test_all_kinds_are_listed() -> None:
    kinds = {entry["name"] for entry in weft.registry()["transports"]}
    assert kinds == set(KINDS)
