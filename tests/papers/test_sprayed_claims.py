"""The claims about sprayed packets on tables made by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from weft_papers.beyond import sprayed
from weft_papers.beyond.sprayed import (
    FAILED,
    FIFO,
    INCAST,
    LOADS,
    OF_TCP,
    PERMUTATION,
    SENDERS,
    SHARED,
    SINGLE_PATH,
    SLOW,
    TRANSPORTS,
    WEB,
    optimum_us,
)
from weft_papers.figure import Scale

SPRAY, ONE_PATH, MULTIPATH, CREDIT, LATE, DROPS, SHORT, SLOWER, FAILING, SHARING = range(10)
RATIOS = {
    (PERMUTATION, "single"): 2.5,
    (PERMUTATION, "rps"): 1.2,
    (FAILED, "ecmp"): 5.0,
    (SLOW, "rps"): 6.0,
}
"""Time until the last flow ended over the optimum; elsewhere 1.04, and 2 for multipath TCP."""


def row(load: str, buffer: str, name: str, seed: int) -> dict[str, Any]:
    default = 2.0 if name in sprayed.MULTIPATH else 1.04
    if load == PERMUTATION and name in SINGLE_PATH:
        default = RATIOS[PERMUTATION, "single"]
    last = RATIOS.get((load, name), default) * optimum_us(load, SENDERS)
    short = (50.0 if name in ("nscc", "rccc", "ndp") else 100.0) if load == WEB else None
    late = 3 if name in OF_TCP and buffer == FIFO else 0
    return {
        "load": load,
        "buffer": buffer,
        "transport": name,
        "senders": SENDERS,
        "seed": seed,
        "mean_us": last / 2,
        "last_us": last,
        "p99_short_us": short,
        "unfinished": 0,
        "late": late,
        "drops": late,
        "trims": 0,
    }


def table(where: dict[str, Any] | None = None, **values: Any) -> pl.DataFrame:
    cells = [(load, FIFO, name) for load in LOADS for name in TRANSPORTS]
    cells += [(load, SHARED, name) for load in (PERMUTATION, INCAST, WEB) for name in OF_TCP]
    rows = [row(*cell, seed) for cell in cells for seed in (1, 2)]
    chosen = where or {}
    changed = [
        found | values if where is not None and all(found[key] == value for key, value in chosen.items()) else found
        for found in rows
    ]
    return pl.DataFrame(changed, infer_schema_length=None)


def failing(rows: pl.DataFrame) -> list[int]:
    return [index for index, claim in enumerate(sprayed.claims(rows)) if not claim.holds]


def times(load: str, ratio: float) -> float:
    return ratio * optimum_us(load, SENDERS)


def test_claims_hold_for_expected_numbers() -> None:
    assert failing(table()) == []


@pytest.mark.parametrize(
    ("where", "values", "expected"),
    [
        ({"load": PERMUTATION, "transport": "rps"}, {"last_us": times(PERMUTATION, 1.3)}, [SPRAY]),
        ({"load": PERMUTATION, "transport": "nscc", "buffer": FIFO}, {"unfinished": 1}, [SPRAY]),
        ({"load": PERMUTATION, "transport": "roce"}, {"last_us": times(PERMUTATION, 1.4)}, [ONE_PATH]),
        ({"load": PERMUTATION, "transport": "amp"}, {"last_us": times(PERMUTATION, 2.6)}, [MULTIPATH]),
        ({"load": INCAST, "transport": "ndp"}, {"last_us": times(INCAST, 1.06)}, [CREDIT]),
        ({"load": SLOW, "transport": "rccc"}, {"late": 1}, [LATE]),
        ({"load": FAILED, "transport": "rccc"}, {"late": 1}, []),
        ({"load": INCAST, "transport": "roce"}, {"drops": 1}, [DROPS]),
        ({"load": WEB, "transport": "ndp"}, {"p99_short_us": 101.0}, [SHORT]),
        ({"load": SLOW, "transport": "lia"}, {"last_us": times(SLOW, 7)}, [SLOWER]),
        ({"load": FAILED, "transport": "nscc"}, {"last_us": times(FAILED, 7)}, [FAILING]),
        ({"load": INCAST, "transport": "warp", "buffer": SHARED}, {"late": 1}, [SHARING]),
    ],
)
def test_each_can_fail(where: dict[str, Any], values: dict[str, Any], expected: list[int]) -> None:
    assert failing(table(where, **values)) == expected


def test_optimum_is_the_time_of_the_data_on_the_busiest_link() -> None:
    # 490 packets of 4086 B and headers of 64 B; six links of 1 us, and five times 332 ns to forward the last packet.
    assert optimum_us(PERMUTATION, 1) == pytest.approx((2_000_000 + 490 * 64) * 8 / 1e5 + 5 * 0.332 + 6)
    assert optimum_us(INCAST, 64) == pytest.approx(64 * (256_000 + 63 * 64) * 8 / 1e5 + 5 * 0.332 + 6)


def test_every_transport_runs_under_every_load() -> None:
    cases = sprayed.cases(Scale(seeds=1, quick=True))
    assert len(cases) == len(LOADS) * len(TRANSPORTS) + 3 * len(OF_TCP)
    assert {case.labels["transport"] for case in cases} == set(TRANSPORTS)
