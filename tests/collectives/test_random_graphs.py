"""Random graphs of messages over every kind of transport. `make graphs CASES=10000` tries more."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.collectives.random_graphs import FAULTS, RandomGraph
from tests.collectives.test_ranks import KINDS, run, spec

CASES = int(os.environ.get("CASES", "300"))
FIRST = int(os.environ.get("FIRST", "1"))
PARTS = 6
"""Tests into which the cases are divided, for several processes."""
TRANSPORTS: list[tuple[str, dict[str, Any]]] = [
    *(("packet", fields) for fields in KINDS.values()),
    ("packet", {"kind": "swift"}),
    ("flow", KINDS["tcp"]),
]
"""Kinds of transport, each with its level."""


def experiment(seed: int, file: Path, ranks: int) -> dict[str, Any]:
    """The run of a graph on two leaves, so that threads share it."""
    level, transport = TRANSPORTS[seed % len(TRANSPORTS)]
    traffic = {
        "kind": "trace",
        "format": "goal",
        "file": str(file),
        "connections": ("per-message", "persistent")[seed // len(TRANSPORTS) % 2],
    }
    described = spec((ranks + 1) // 2 + 1, traffic, transport=transport, level=level, duration="1s", seed=seed)
    described["topology"] |= {"leaves": 2, "spines": 2}
    # Sources at a constant rate lose what a queue drops.
    described["queues"] = {"limit": "10000 packets"}
    return described


@pytest.mark.filterwarnings("ignore:queues.kind")
@pytest.mark.filterwarnings("ignore:.*lossless")
@pytest.mark.parametrize("part", range(PARTS))
def test_messages_start_when_what_they_wait_for_has_happened(tmp_path: Path, part: int) -> None:
    file = tmp_path / "job.goal"
    for seed in range(FIRST + part, FIRST + CASES, PARTS):
        graph = RandomGraph(seed)
        file.write_text(graph.text(), encoding="utf-8")
        described = experiment(seed, file, graph.ranks)
        results = [
            run(described, threads=threads, trace_hash=described["level"] == "packet") for threads in (1, 2, 3, 4)
        ]
        first = results[0]
        try:
            graph.check(first.flows, [f"h{rank}" for rank in range(graph.ranks)])
        except AssertionError as error:
            raise AssertionError(f"graph {seed}") from error
        for other in results[1:]:
            assert other.manifest["trace_hash"] == first.manifest["trace_hash"], f"graph {seed}"
            assert other.flows.equals(first.flows), f"graph {seed}"
            assert other.ranks.equals(first.ranks), f"graph {seed}"


def test_graphs_that_cannot_run_are_refused_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "job.goal"
    faults = list(FAULTS.items())
    for seed in range(FIRST, FIRST + CASES):
        graph = RandomGraph(seed)
        fault, message = faults[seed % len(faults)]
        file.write_text(fault(graph), encoding="utf-8")
        with pytest.raises(weft.SpecError) as refused:
            run(experiment(seed, file, graph.ranks))
        text = str(refused.value)
        assert "\n" not in text, f"graph {seed}"
        assert re.search(f"job.goal: {message}", text), f"graph {seed}: {text}"
        # A rank without a host.
        file.write_text(graph.text(), encoding="utf-8")
        described = experiment(seed, file, graph.ranks)
        described["traffic"][0]["hosts"] = f"0..{graph.ranks - 1}"
        with pytest.raises(weft.SpecError, match="hosts"):
            run(described)
