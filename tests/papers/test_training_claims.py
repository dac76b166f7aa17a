"""The claims about jobs of training on tables made by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from weft_papers.beyond import training
from weft_papers.beyond.sprayed import MULTIPATH as MULTIPATH_TCP
from weft_papers.beyond.sprayed import SINGLE_PATH, TRANSPORTS
from weft_papers.beyond.training import EXCHANGE, EXPERTS, FAILED, LOADS, REDUCE, SLOW, K, bound_us, message_us
from weft_papers.figure import Scale

NEAR_REDUCE, APART, NEAR_EXCHANGE, MULTIPATH, MIXTURE, SLOWER, FAILING = range(7)
BUSY_US = 120.0


def times(load: str, ratio: float) -> float:
    return ratio * bound_us(load, K, BUSY_US)


def row(load: str, name: str, seed: int) -> dict[str, Any]:
    ratio = 1.1
    if name in MULTIPATH_TCP:
        ratio = 1.4
    if name in SINGLE_PATH or (load == SLOW and name == "rps"):
        ratio = 3.0
    return {
        "load": load,
        "transport": name,
        "k": K,
        "seed": seed,
        "job_us": times(load, ratio),
        "busy_us": BUSY_US,
        "unfinished": 0,
        "late": 0,
        "drops": 0,
        "trims": 0,
    }


def table(where: dict[str, Any] | None = None, **values: Any) -> pl.DataFrame:
    rows = [row(load, name, seed) for load in LOADS for name in TRANSPORTS for seed in (1, 2)]
    chosen = where or {}
    changed = [
        found | values if where is not None and all(found[key] == value for key, value in chosen.items()) else found
        for found in rows
    ]
    return pl.DataFrame(changed, infer_schema_length=None)


def failing(rows: pl.DataFrame) -> list[int]:
    return [index for index, claim in enumerate(training.claims(rows)) if not claim.holds]


def test_holds_for_what_was_expected() -> None:
    assert failing(table()) == []


@pytest.mark.parametrize(
    ("where", "values", "expected"),
    [
        ({"load": REDUCE, "transport": "rps"}, {"job_us": times(REDUCE, 1.26)}, [NEAR_REDUCE]),
        ({"load": REDUCE, "transport": "nscc"}, {"unfinished": 1}, [NEAR_REDUCE]),
        ({"load": REDUCE, "transport": "roce"}, {"job_us": times(REDUCE, 1.4)}, [APART]),
        ({"load": EXCHANGE, "transport": "ndp"}, {"job_us": times(EXCHANGE, 1.3)}, [NEAR_EXCHANGE]),
        ({"load": REDUCE, "transport": "amp"}, {"job_us": times(REDUCE, 3.1)}, [MULTIPATH]),
        ({"load": EXPERTS, "transport": "rccc"}, {"job_us": times(EXPERTS, 3.1)}, [MIXTURE]),
        ({"load": SLOW, "transport": "lia"}, {"job_us": times(SLOW, 3.1)}, [SLOWER]),
        ({"load": FAILED, "transport": "nscc"}, {"unfinished": 1}, [FAILING]),
        ({"load": FAILED, "transport": "ecmp"}, {"job_us": times(FAILED, 1.05)}, [FAILING]),
    ],
)
def test_each_can_fail(where: dict[str, Any], values: dict[str, Any], expected: list[int]) -> None:
    assert failing(table(where, **values)) == expected


def test_bounds_are_messages_one_after_another() -> None:
    # Four packets of 4086 B and headers of 64 B; two links of 1 us, the first of which forwards a packet in 332 ns.
    assert message_us(16_000, 2) == pytest.approx((16_000 + 4 * 64 + 4150) * 8 / 1e5 + 2)
    # In a fat-tree of 16 hosts a host has one peer at its switch, two in its pod, and twelve elsewhere.
    expected = message_us(16_000, 2) + 2 * message_us(16_000, 4) + 12 * message_us(16_000, 6)
    assert bound_us(EXCHANGE, 4, 0.0) == pytest.approx(expected)
    halves = [message_us(size, 2) for size in (2e6, 1e6, 5e5, 2.5e5)]
    assert bound_us(REDUCE, 4, 0.0) == pytest.approx(2 * sum(halves))
    assert bound_us(EXPERTS, 4, 50.0) == 50.0


def test_every_transport_runs_every_job() -> None:
    cases = training.cases(Scale(seeds=1, quick=True))
    assert len(cases) == len(LOADS) * len(TRANSPORTS)
    assert {case.labels["transport"] for case in cases} == set(TRANSPORTS)
