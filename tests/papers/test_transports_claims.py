"""The claims about transports on tables made by hand."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import polars as pl
import pytest

import weft
from weft_papers.beyond import transports
from weft_papers.beyond.sprayed import optimum_us
from weft_papers.beyond.transports import INCAST, LOADS, ONE_PATH, PERMUTATION, REDUCE, SPRAYED, TRANSPORTS, WEB
from weft_papers.figure import Scale

SENDERS = 64
NEAR_INCAST, NEAR_PERMUTATION, APART, MULTIPATH, WEB_30, WEB_50, WEB_80 = range(7)
SPRAYED_WEB, SPRAYED_REDUCE, SHORTER_REDUCE, PAUSES, COMPLETE = range(7, 12)
LIGHT, MEDIUM, HEAVY = WEB


def times(load: str, ratio: float) -> float:
    return ratio * optimum_us(load, SENDERS)


def row(load: str, name: str, seed: int) -> dict[str, Any]:
    ratio = 1.1 if load == INCAST or name in SPRAYED else 2.0 if name in ("hpcc", "swift", "amp", "warp") else 3.0
    return {
        "load": load,
        "transport": name,
        "senders": SENDERS,
        "seed": seed,
        "last_us": times(load, ratio),
        "mean_us": times(load, ratio) / 2,
        "p99_short_us": 10.0 * ratio,
        "unfinished": 0,
        "late": 0,
        "drops": 0,
        "pauses": 0 if name == "hpcc" else 1,
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
    return [index for index, claim in enumerate(transports.claims(rows)) if not claim.holds]


def measured(load: str, name: str, seed: int, **settings: Any) -> pl.DataFrame:
    """A run at full size, with other settings of the transport's kind."""
    wanted = ({"load": load, "transport": name, "senders": SENDERS}, seed)
    cases = transports.cases(Scale(quick=False, seeds=seed))
    [found] = [case for case in cases if (case.labels, case.seed) == wanted]
    spec = found.experiment.model_dump(mode="json", exclude_none=True, by_alias=True)
    of_kind = spec["transports"][name]
    of_kind[of_kind["kind"]] |= settings
    return transports.measure(weft.run(spec, seed=seed))


def p99_of_five_seeds(load: str, name: str, **settings: Any) -> float:
    """The mean over five seeds of the 99th percentile of short flows at full size, in us."""
    return fmean(measured(load, name, seed, **settings).item(0, "p99_short_us") for seed in range(1, 6))


def test_a_faster_increase_lets_hpcc_end_an_incast_in_time() -> None:
    """The cause of a claim that fails, as the figure's page states it."""
    last = [
        measured(INCAST, "hpcc", 1, **settings).item(0, "last_us") / optimum_us(INCAST, SENDERS)
        for settings in ({}, {"hpcc": {"increase": "250Mbps"}})
    ]
    assert 1.6 < last[0] < 1.8
    assert 1.0 < last[1] < 1.1


def test_a_larger_first_window_lets_swift_be_before_dcqcn() -> None:
    """The cause of a claim that fails, as the figure's page states it."""
    dcqcn = p99_of_five_seeds(LIGHT, "dcqcn")
    assert p99_of_five_seeds(LIGHT, "swift") > 1.1 * dcqcn
    assert p99_of_five_seeds(LIGHT, "swift", initial_window=30) < 0.9 * dcqcn


def test_holds_for_what_was_expected() -> None:
    assert failing(table()) == []


@pytest.mark.parametrize(
    ("where", "values", "expected"),
    [
        ({"load": INCAST, "transport": "swift"}, {"last_us": times(INCAST, 1.26)}, [NEAR_INCAST]),
        ({"load": PERMUTATION, "transport": "ndp"}, {"unfinished": 1}, [NEAR_PERMUTATION]),
        ({"load": PERMUTATION, "transport": "hpcc"}, {"last_us": times(PERMUTATION, 1.4)}, [APART]),
        ({"load": PERMUTATION, "transport": "amp"}, {"last_us": times(PERMUTATION, 3.1)}, [MULTIPATH]),
        ({"load": LIGHT, "transport": "swift"}, {"p99_short_us": 31.0}, [WEB_30]),
        ({"load": MEDIUM, "transport": "dctcp"}, {"p99_short_us": 19.0}, [WEB_50]),
        ({"load": HEAVY, "transport": "hpcc"}, {"p99_short_us": 31.0}, [WEB_80]),
        ({"load": HEAVY, "transport": "nscc"}, {"p99_short_us": 21.0}, [SPRAYED_WEB]),
        ({"load": REDUCE, "transport": "ndp"}, {"last_us": times(REDUCE, 2.1)}, [SPRAYED_REDUCE]),
        ({"load": REDUCE, "transport": "hpcc"}, {"last_us": times(REDUCE, 3.1)}, [SHORTER_REDUCE]),
        ({"load": MEDIUM, "transport": "hpcc"}, {"pauses": 9}, [PAUSES]),
        ({"load": REDUCE, "transport": "timely"}, {"drops": 1}, [COMPLETE]),
    ],
)
def test_each_can_fail(where: dict[str, Any], values: dict[str, Any], expected: list[int]) -> None:
    assert failing(table(where, **values)) == expected


def test_every_transport_runs_every_load() -> None:
    cases = transports.cases(Scale(seeds=1, quick=True))
    assert len(cases) == len(LOADS) * len(TRANSPORTS)
    assert {case.labels["transport"] for case in cases} == set(TRANSPORTS)
    assert set(ONE_PATH) < set(TRANSPORTS)
