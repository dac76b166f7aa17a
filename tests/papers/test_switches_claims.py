"""The claims about switches on tables made by hand: where they hold, and where each of them does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest

from weft_papers.figure import Claim, Scale
from weft_papers.paper import find_figures
from weft_papers.switches import dequeue_marks, pauses, priorities, shared_buffers

SEEDS = (1, 2)
Change = Callable[[dict[str, Any]], dict[str, Any]]


def failing(claims: Sequence[Claim]) -> list[int]:
    return [index for index, claim in enumerate(claims) if not claim.holds]


def changed(where: dict[str, Any], **values: Any) -> Change:
    """Returns a change of the rows with these labels."""

    def change(row: dict[str, Any]) -> dict[str, Any]:
        return row | values if all(row[name] == value for name, value in where.items()) else row

    return change


def unchanged(row: dict[str, Any]) -> dict[str, Any]:
    return row


def incasts(change: Change = unchanged) -> pl.DataFrame:
    """Returns incasts in which XMP and DCM time out, unless the buffer has the memory of all FIFOs."""
    rows = []
    for scene, algorithms in shared_buffers.ALGORITHMS.items():
        for buffer in shared_buffers.BUFFERS:
            for algorithm in algorithms:
                slow = algorithm in shared_buffers.MULTIPATH and buffer != shared_buffers.MEMORY
                values = {"mean_ms": 500.0 if slow else 2.0, "p99_ms": 3.0, "late": 40.0 if slow else 0.0}
                labels = {"scene": scene, "buffer": buffer, "algorithm": algorithm}
                rows += [
                    change(labels | {"k": k, "seed": seed} | values) for k in shared_buffers.FLOWS for seed in SEEDS
                ]
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (unchanged, []),
        (changed({"buffer": "share", "algorithm": "amp", "k": 40}, mean_ms=2.6), [0]),
        (changed({"buffer": "share", "algorithm": "xmp", "k": 10}, mean_ms=390.0), [0]),
        (changed({"scene": "amp", "buffer": "memory", "algorithm": "dcm", "k": 40, "seed": 2}, late=0.5), [1]),
        (changed({"scene": "amp", "buffer": "memory", "algorithm": "xmp", "k": 20}, mean_ms=2.6), [2, 3]),
        (changed({"scene": "amp", "buffer": "memory", "algorithm": "dctcp", "k": 20}, mean_ms=2.6), [2]),
        (changed({"scene": "warp", "buffer": "memory", "algorithm": "warp", "k": 30}, mean_ms=2.2), [4]),
        (changed({"scene": "warp", "buffer": "memory", "algorithm": "warp", "k": 30}, p99_ms=3.2), [5]),
        (changed({"scene": "warp", "buffer": "memory", "algorithm": "amp"}, mean_ms=9.0), []),
    ],
)
def test_incasts_with_shared_buffers(change: Change, expected: list[int]) -> None:
    assert failing(shared_buffers.claims(incasts(change))) == expected


def test_the_buffers_are_those_of_the_claims() -> None:
    assert shared_buffers.queues("fifo", 20)["limit"] == "100 packets"
    assert shared_buffers.queues("share", 20)["kind"]["buffer"] == "300000B"
    assert shared_buffers.queues("memory", 20)["kind"]["buffer"] == "3150000B"


def competing(change: Change = unchanged) -> pl.DataFrame:
    p99 = {"fifo": 300.0, "strict": 100.0, "equal": 110.0}
    rows = []
    for long in priorities.LONG:
        for queue in priorities.QUEUES:
            values = {"short_mean_us": 50.0, "short_p99_us": p99[queue], "late": 0.0, "long_gbps": 80.0}
            rows += [change({"long": long, "queue": queue, "seed": seed} | values) for seed in SEEDS]
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (unchanged, []),
        (changed({"long": "amp", "queue": "fifo"}, short_p99_us=190.0), [0]),
        (changed({"long": "lia", "queue": "strict"}, long_gbps=75.0), [1]),
        (changed({"long": "lia", "queue": "strict"}, short_p99_us=130.0), [2]),
        (changed({"long": "warp", "queue": "equal"}, short_p99_us=126.0), [3]),
    ],
)
def test_priorities(change: Change, expected: list[int]) -> None:
    assert failing(priorities.claims(competing(change))) == expected


def bottleneck(change: Change = unchanged) -> pl.DataFrame:
    rows = []
    for load, counts in dequeue_marks.FLOWS.items():
        for n in counts:
            for at, part in (("enqueue", 1.0), ("dequeue", 0.9)):
                queue = {"mean_packets": 20 * part, "std_packets": 8 * part, "max_packets": 90 * part}
                values = queue | {"gbps": 9.4, "p99_us": 400.0 * part}
                rows += [change({"load": load, "flows": n, "at": at, "seed": seed} | values) for seed in SEEDS]
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (unchanged, []),
        (changed({"load": "long flows", "flows": 8, "at": "dequeue"}, std_packets=8.0), [0]),
        (changed({"load": "long flows", "flows": 32, "at": "dequeue"}, mean_packets=20.1), [1]),
        (changed({"load": "long flows", "flows": 2, "at": "dequeue"}, gbps=9.2), [2]),
        (changed({"load": "incast", "flows": 80, "at": "dequeue"}, max_packets=90.0), [3]),
        (changed({"load": "incast", "flows": 20, "at": "dequeue"}, p99_us=401.0), [4]),
    ],
)
def test_marks_at_dequeue(change: Change, expected: list[int]) -> None:
    assert failing(dequeue_marks.claims(bottleneck(change))) == expected


def paused(change: Change = unchanged) -> pl.DataFrame:
    rows = []
    for load in (pauses.PERSISTENT, pauses.ROUNDS):
        for transport in pauses.TRANSPORTS:
            for queue in pauses.QUEUES:
                lossless = queue == pauses.LOSSLESS
                blocks = lossless and transport == "reno"
                values: dict[str, Any] = {
                    "p99_us": 900.0 if lossless else 12_000.0,
                    "timeouts": 0 if lossless else 30,
                    "drops": 0 if lossless else 500,
                    "pauses": (1000 if blocks else 10) if lossless else 0,
                }
                for group in pauses.GROUPS:
                    values[f"{group}_gbps"] = 3.0 if blocks else 9.0
                    values[f"{group}_blocked"] = 100 if blocks else 0
                    values[f"{group}_blocked_us"] = 5.0 if blocks else 0.0
                labels = {"load": load, "transport": transport, "queue": queue}
                rows += [change(labels | {"seed": seed} | values) for seed in SEEDS]
    return pl.DataFrame(rows)


LONG = {"load": "persistent", "queue": "lossless"}
SHORT = {"load": "rounds", "queue": "lossless"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (unchanged, []),
        (changed(SHORT | {"transport": "reno", "seed": 2}, drops=1), [0]),
        (changed({"load": "rounds", "queue": "fifo", "transport": "dctcp"}, timeouts=0), [0]),
        (changed(LONG | {"transport": "reno"}, **{"victims-up_gbps": 4.6}), [1]),
        (changed(LONG | {"transport": "dctcp"}, **{"victims-down_gbps": 8.0}), [2]),
        (changed(LONG | {"transport": "dctcp"}, pauses=101), [3]),
        (changed(LONG, pauses=0), [3]),
        (changed(SHORT | {"transport": "dctcp"}, p99_us=6100.0), [4]),
    ],
)
def test_pauses(change: Change, expected: list[int]) -> None:
    assert failing(pauses.claims(paused(change))) == expected


def test_the_paper_is_all_four_figures() -> None:
    names = [figure.name for figure in find_figures("switches")]
    assert [name.partition("/")[2] for name in names] == ["shared-buffers", "priorities", "dequeue-marks", "pauses"]
    for figure in find_figures("switches"):
        assert len(figure.module().cases(Scale(seeds=1))) > 0
