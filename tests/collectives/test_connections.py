"""Persistent connections of jobs: one handshake per pair of ranks, and traces without handshakes at level `flow`."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import weft
from tests.collectives.test_ranks import KINDS, run, spec

TRACES = Path(__file__).parents[2] / "crates/weft-traffic/tests/goal"
RING = {"kind": "collective", "operation": "all-reduce", "size": "1MB", "repeats": 2}
TCP: dict[str, dict[str, Any]] = {
    "dctcp": KINDS["tcp"],
    "mptcp": {"cc": "amp", "subflows": 3},
    "round-robin": {"cc": "lia", "subflows": 2, "scheduler": "round-robin"},
    "closing": {"cc": "cubic", "tcp": {"full_handshakes": True}},
}


def persistent(traffic: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return traffic | {"connections": "persistent", **fields}


def end_ns(file: Path, ranks: int) -> float:
    """The time of a trace on links of 1 byte per nanosecond and 1 us, without headers and handshakes."""
    traffic = {"kind": "trace", "format": "goal", "file": str(file), "send_done": "started"}
    transport = {"cc": "dctcp", "tcp": {"header": "0B", "mss": "1B"}}
    traffic = persistent(traffic, start="1ms")
    experiment = spec(max(ranks, 2), traffic, transport=transport, level="flow", duration="10s")
    experiment["topology"]["rate"] = "8Gbps"
    last: float = max(run(experiment).ranks["finish_s"].to_list())
    return 1e9 * (last - 1e-3)


def test_traces_at_level_flow_take_the_times_of_another_evaluator() -> None:
    with (TRACES / "overlap.csv").open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["messages_that_queued"] == "0"]
    times = {row["file"]: end_ns(TRACES / row["file"], int(row["ranks"])) for row in rows}
    assert len(times) >= 5
    assert times == {row["file"]: pytest.approx(float(row["end_ns"]), rel=0.02) for row in rows}


@pytest.mark.parametrize("name", TCP)
def test_a_pair_has_one_handshake(name: str) -> None:
    results = [
        run(spec(8, persistent(RING), transport=TCP[name], duration="60ms"), threads=threads, trace_hash=True)
        for threads in (1, 2, 4)
    ]
    first = results[0]
    assert first.jobs["finish_s"].null_count() == 0
    assert len(first.flows) == 2 * 8 * 14
    assert first.flows["finish_s"].null_count() == 0
    assert first.flows["acked_s"].null_count() == 0
    assert (first.flows["delivered_bytes"] == first.flows["size_bytes"]).all()
    # The connection's first message has its packets, those of the other messages included.
    assert len(first.flows.filter(pl.col("packets_sent") > 0)) == 8
    for other in results[1:]:
        assert other.manifest["trace_hash"] == first.manifest["trace_hash"]
        assert other.ranks.equals(first.ranks)
        assert other.flows.equals(first.flows)


@pytest.mark.parametrize("level", ["packet", "flow"])
def test_messages_wait_for_no_handshake(level: str) -> None:
    ring = RING | {"size": "80KB", "repeats": 1, "start": "1ms"}
    times = {
        connections: run(spec(8, ring | {"connections": connections}, transport=KINDS["tcp"], level=level))
        for connections in ("per-message", "persistent")
    }
    saved = times["per-message"].jobs["jct_s"].item() - times["persistent"].jobs["jct_s"].item()
    # 14 steps, each without a round-trip time of at least 2 us.
    assert saved > 14 * 2e-6
    if level == "packet":
        alone: float = max(times["persistent"].flows["ideal_s"].to_list())
        # Acknowledgements of the opposite direction share the links.
        assert times["persistent"].jobs["jct_s"].item() == pytest.approx(14 * alone, rel=0.1)
    slowdowns: list[float] = times["persistent"].flows["slowdown"].to_list()
    assert min(slowdowns) > 1 - 1e-9


def test_messages_of_a_connection_follow_one_another(tmp_path: Path) -> None:
    file = tmp_path / "job.goal"
    sends = "".join(f"s{n}: send 100000b to 1 tag {n}\n" for n in range(4))
    receives = "".join(f"r{n}: recv 100000b from 0 tag {n}\n" for n in range(4))
    file.write_text(f"num_ranks 2\nrank 0 {{\n{sends}}}\nrank 1 {{\n{receives}}}\n", encoding="utf-8")
    traffic = persistent({"kind": "trace", "format": "goal", "file": str(file)})
    for level in ("packet", "flow"):
        result = run(spec(2, traffic, transport=KINDS["tcp"], level=level))
        finish = result.flows["finish_s"].to_list()
        assert finish == sorted(finish)
        steps = [later - earlier for earlier, later in itertools.pairwise(finish)]
        # Without a pause, each takes the time of its bytes, with headers.
        assert steps == pytest.approx([1e5 * 8 / 10e9 * 1514 / 1448] * 3, rel=0.03)


def test_a_connection_survives_losses() -> None:
    all_to_all = {"kind": "collective", "operation": "all-to-all", "algorithm": "at-once", "size": "4MB", "repeats": 3}
    experiment = spec(16, persistent(all_to_all), transport={"cc": "reno"}, duration="1s")
    experiment["queues"] = {"limit": "10 packets"}
    result = run(experiment)
    assert result.flows["packets_dropped"].sum() > 100
    assert result.jobs["finish_s"].null_count() == 0
    assert result.flows["finish_s"].null_count() == 0


@pytest.mark.filterwarnings("ignore:queues.kind")
@pytest.mark.parametrize("kind", ["uet", "ndp", "roce", "constant-rate"])
def test_kinds_without_handshakes_send_messages_at_once(kind: str) -> None:
    jobs = run(spec(8, persistent(RING), transport=KINDS[kind], duration="60ms")).jobs
    assert jobs["finish_s"].null_count() == 0


def test_an_unknown_use_of_connections_is_one_line() -> None:
    with pytest.raises(weft.SpecError, match=r"^traffic\[0\]\.connections: "):
        weft.run({**spec(8, RING | {"connections": "none"})})
