"""Jobs of ranks at the levels `packet` and `flow`: times against closed forms, equal results for any threads."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import weft

KINDS: dict[str, dict[str, Any]] = {
    "tcp": {"cc": "dctcp"},
    "uet": {"kind": "uet"},
    "ndp": {"kind": "ndp"},
    "roce": {"kind": "roce"},
    "constant-rate": {"kind": "constant-rate", "rate": "10Gbps"},
}


def spec(host_count: int, traffic: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """An experiment with hosts at one switch, with links of 10 Gbps and 1 us from host to host."""
    return {
        "name": "job",
        "duration": "1s",
        "topology": {
            "kind": "leaf-spine",
            "leaves": 1,
            "spines": 1,
            "hosts_per_leaf": host_count,
            "rate": "10Gbps",
            "delay": "500ns",
        },
        "queues": {"limit": "200 packets"},
        "transports": {"sender": fields.pop("transport", KINDS["ndp"])},
        "traffic": [{"transport": "sender", **traffic}],
        **fields,
    }


def run(experiment: dict[str, Any], **options: Any) -> weft.Result:
    return weft.run(weft.Experiment.model_validate(experiment), **options)


@pytest.mark.filterwarnings("ignore:queues.kind")
@pytest.mark.parametrize("ranks", [2, 3, 8, 32])
def test_a_ring_takes_as_long_as_its_messages_one_after_another(ranks: int) -> None:
    traffic = {"kind": "collective", "operation": "all-reduce", "size": f"{ranks * 400}KB"}
    result = run(spec(ranks, traffic, hosts={"jitter": "0s", "clock_ppm": 0}), threads=1)
    # Each message alone takes the time of its bytes, some 2 % for headers, a latency, and a packet at the second link.
    alone: float = max(result.flows["ideal_s"].to_list())
    assert alone == pytest.approx(400e3 * 8 / 10e9, rel=0.04)
    assert result.jobs["finish_s"].item() == pytest.approx(2 * (ranks - 1) * alone, rel=0.01)


@pytest.mark.filterwarnings("ignore:queues.kind")
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_transport_runs_collectives(kind: str) -> None:
    traffic = {"kind": "collective", "operation": "all-reduce", "size": "1MB", "repeats": 2, "compute": "20us"}
    results = [
        run(spec(8, traffic, transport=KINDS[kind], duration="60ms"), threads=threads, trace_hash=True)
        for threads in (1, 2, 3, 4)
    ]
    first = results[0]
    assert first.jobs["finish_s"].null_count() == 0
    assert (len(first.jobs), len(first.ranks), len(first.flows)) == (2, 16, 2 * 8 * 14)
    for other in results[1:]:
        assert other.manifest["trace_hash"] == first.manifest["trace_hash"]
        assert other.jobs.equals(first.jobs)
        assert other.ranks.equals(first.ranks)
    second = first.ranks.filter(pl.col("job") == 1)
    before = first.ranks.filter(pl.col("job") == 0)
    assert min((second["start_s"] - before["finish_s"]).to_list()) >= 20e-6 - 1e-12


def test_level_flow_agrees_with_the_packet_level() -> None:
    traffic = {"kind": "collective", "operation": "all-reduce", "algorithm": "halving-doubling", "size": "16MB"}
    times = {
        level: run(spec(8, traffic, transport=KINDS["tcp"], level=level)).jobs["finish_s"].item()
        for level in ("packet", "flow")
    }
    assert times["flow"] == pytest.approx(2 * 7 / 8 * 16e6 * 8 / 10e9 * 1514 / 1448, rel=0.03)
    assert times["flow"] == pytest.approx(times["packet"], rel=0.1)


def graph(seed: int, ranks: int = 6, operations: int = 60) -> str:
    """A random graph in GOAL text, in which each message is sent before it is received."""
    draw = random.Random(seed)  # noqa: S311
    lines: list[list[str]] = [[] for _ in range(ranks)]
    labels: list[list[str]] = [[] for _ in range(ranks)]

    def add(rank: int, text: str) -> None:
        label = f"l{len(labels[rank])}"
        lines[rank].append(f"{label}: {text}")
        for before in draw.sample(labels[rank], min(len(labels[rank]), draw.randrange(3))):
            lines[rank].append(f"{label} {draw.choice(['requires', 'irequires'])} {before}")
        labels[rank].append(label)

    for number in range(operations):
        rank, to = draw.sample(range(ranks), 2)
        if draw.random() < 0.3:
            add(rank, f"calc {draw.randrange(5_000)}")
        add(rank, f"send {draw.randrange(30_000)}b to {to} tag {number}")
        add(to, f"recv 1b from {rank} tag {draw.choice([number, number])}")
    blocks = [f"rank {rank} {{\n" + "\n".join(lines[rank]) + "\n}\n" for rank in range(ranks)]
    return f"num_ranks {ranks}\n" + "".join(blocks)


@pytest.mark.filterwarnings("ignore:queues.kind")
@pytest.mark.parametrize("kind", ["tcp", "uet", "roce"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_graphs_end_alike_for_any_number_of_threads(tmp_path: Path, kind: str, seed: int) -> None:
    file = tmp_path / "job.goal"
    file.write_text(graph(seed), encoding="utf-8")
    traffic = {"kind": "trace", "format": "goal", "file": str(file), "placement": "random"}
    results = [
        run(spec(8, traffic, transport=KINDS[kind], duration="100ms"), threads=threads, trace_hash=True)
        for threads in (1, 2, 4)
    ]
    assert results[0].jobs["finish_s"].null_count() == 0
    assert len({result.manifest["trace_hash"] for result in results}) == 1
    assert results[0].flows["finish_s"].null_count() == 0
    assert len(results[0].flows) == 60


def test_a_link_may_fail_during_a_collective() -> None:
    traffic = {"kind": "collective", "operation": "all-to-all", "size": "8MB"}
    experiment = spec(4, traffic, transport=KINDS["tcp"] | {"tcp": {"min_rto": "5ms", "initial_rto": "5ms"}})
    experiment["topology"] |= {"leaves": 2, "spines": 2}
    experiment["events"] = [{"at": "100us", "links": ["leaf0->spine0"], "state": "down", "detection_delay": "50us"}]
    assert run(experiment).jobs["finish_s"].null_count() == 0
