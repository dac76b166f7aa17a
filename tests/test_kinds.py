"""Columns of the table `subflows` by kind of transport."""

from __future__ import annotations

import pytest

import weft

COLUMNS = {
    "marked",
    "fast_retransmits",
    "syn_timeouts",
    "acked_bytes",
    "acks_received",
    "nacks_received",
    "pulls_received",
    "rts_sent",
    "rts_repeated",
    "cnps_received",
    "send_buffer_limited_s",
}
"""Columns that not all kinds have."""

TCP = {"marked", "fast_retransmits", "syn_timeouts", "acked_bytes", "send_buffer_limited_s"}
ANSWERS = {"acks_received", "nacks_received"}
PRESENT = {
    "tcp": TCP,
    "constant-rate": set(),
    "uet": ANSWERS | {"marked", "pulls_received", "rts_sent", "rts_repeated"},
    "ndp": ANSWERS | {"acked_bytes", "pulls_received"},
    "roce": ANSWERS | {"acked_bytes", "cnps_received"},
}
SETTINGS = {"constant-rate": {"rate": "100Mbps"}, "tcp": {"cc": "dctcp"}}
SIZE = 100_000


@pytest.mark.parametrize("kind", PRESENT)
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
    assert {column for column in COLUMNS if row[column] is not None} == PRESENT[kind]
    assert row["acked_bytes"] in (None, SIZE)
    # Sums over the subflows count what is null as nothing.
    flow = result.flows.row(0, named=True)
    assert flow["marked"] == (row["marked"] or 0)
    assert flow["fast_retransmits"] == flow["syn_timeouts"] == 0


def test_all_kinds_are_listed() -> None:
    kinds = {entry["name"] for entry in weft.registry()["transports"]}
    assert kinds == set(PRESENT)
