"""The claims about RDMA over converged Ethernet on tables made by hand: where they hold, and where each does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest

from weft_papers.figure import Claim
from weft_papers.roce import clos, fixed_point
from weft_papers.roce.settings import DCQCN, PFC, TRANSPORTS

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


def long_flows(change: Change = unchanged) -> pl.DataFrame:
    rows = []
    for n in fixed_point.FLOWS:
        queue = fixed_point.MODEL.queue(n) / 1e3
        values = {"jain": 0.99, "gbps": 37.0, "mean_kb": 1.1 * queue, "p99_kb": 190.0}
        counts = {"marked": 0.01, "drops": 0, "pauses": 0}
        rows += [change({"flows": n, "seed": seed} | values | counts) for seed in SEEDS]
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (unchanged, []),
        (changed({"flows": 16}, jain=0.94), [0]),
        (changed({"flows": 2}, mean_kb=10.0), [1]),
        (changed({"flows": 8}, p99_kb=201.0), [2]),
        (changed({"flows": 4}, gbps=35.0), [3]),
        (changed({"flows": 4, "seed": 2}, pauses=1), [4]),
        (changed({"flows": 2, "seed": 1}, drops=1), [4]),
    ],
)
def test_fixed_point(change: Change, expected: list[int]) -> None:
    assert failing(fixed_point.claims(long_flows(change))) == expected


def incasts(change: Change = unchanged) -> pl.DataFrame:
    rows = []
    for scene, others in ((clos.PARKING, 0), *((clos.VICTIM, n) for n in clos.OTHERS)):
        for transport in TRANSPORTS:
            pauses = transport == PFC
            values: dict[str, Any] = {"incast": [7.0, 7.0, 7.0] if pauses else [9.0, 9.0, 9.0]}
            values |= {"near": 16.0 if pauses else 9.5, "victim": None}
            if scene == clos.VICTIM:
                victim = 10.0 - 2.5 * others if pauses else 18.0 + others
                values = {"incast": [9.0] * 4, "near": None, "victim": victim}
            labels = {"scene": scene, "others": others, "transport": transport}
            for draw in range(clos.DRAWS):
                counts = {"drops": 0, "pauses": 100}
                rows += [change(labels | {"draw": draw, "seed": seed} | values | counts) for seed in SEEDS]
    return pl.DataFrame(rows, schema_overrides={"near": pl.Float64, "victim": pl.Float64})


PARKING = {"scene": clos.PARKING}
MOST = {"scene": clos.VICTIM, "others": max(clos.OTHERS)}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (unchanged, []),
        (changed(PARKING | {"transport": PFC}, near=10.0), [0]),
        (changed(PARKING | {"transport": DCQCN}, near=20.0), [1]),
        (changed(MOST | {"transport": PFC}, victim=8.0), [2]),
        (changed(MOST | {"transport": DCQCN}, victim=15.0), [3]),
        (changed(MOST | {"transport": DCQCN}, victim=4.0), [3, 4]),
        (changed(MOST | {"transport": PFC, "draw": 3}, drops=1), [5]),
    ],
)
def test_clos(change: Change, expected: list[int]) -> None:
    assert failing(clos.claims(incasts(change))) == expected
