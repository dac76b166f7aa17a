"""The claims of the figures on Linux on tables made by hand."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from weft_papers.amp import linux_fairness, linux_incast, linux_shift
from weft_papers.amp.linux_settings import LEVELS
from weft_papers.figure import Claim, Scale

SYNDROME, FAIR, BEST, FEW, WITH_DCTCP_CUT, LEVELS_AGREE = range(6)
DELAYED, DELAYED_CUT, DELAYED_OTHERS, DELAYED_UNSCALED, LIKE_DCTCP, SLOWER, INCAST_LEVELS = range(7)
SHIFT_LEVELS, CONSTANT_FASTER, SIMILAR = 4, 5, 6


def failing(claims: list[Claim]) -> list[int]:
    return [index for index, claim in enumerate(claims) if not claim.holds]


def goodputs(ratio: Callable[[str, str, int, int], float]) -> pl.DataFrame:
    """A multipath flow's goodput over a DCTCP flow's by level, algorithm, multipath and DCTCP flows; 2 seeds."""
    names = [(name, m, n) for name in linux_fairness.ALGORITHMS for m in (1, 2, 4) for n in linux_fairness.DCTCP]
    names += [(linux_fairness.WITH_DCTCP_CUT, 1, n) for n in linux_fairness.FEW_DCTCP]
    return pl.concat(
        pl.DataFrame(
            {
                "level": level,
                "algorithm": name,
                "multipath": m,
                "dctcp": n,
                "seed": seed,
                "transport": [name] * m + ["dctcp"] * n,
                "goodput_mbps": [ratio(level, name, m, n)] * m + [1.0] * n,
                "suppressions": 0,
                "timeouts": 0,
            }
        )
        for level in LEVELS
        for name, m, n in names
        for seed in (1, 2)
    )


def fair(level: str, name: str, m: int, n: int) -> float:
    del level, m, n
    return 3.0 if name in ("xmp", "dcm") else 1.0


def test_fairness_holds_where_amp_is_fair() -> None:
    assert failing(linux_fairness.claims(goodputs(fair))) == []


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (lambda level, a, m, n: 2.0 if a == "xmp" else fair(level, a, m, n), [SYNDROME]),
        (lambda level, a, m, n: 2.0 if (a, n) == ("amp", 8) else fair(level, a, m, n), [FAIR]),
        (lambda level, a, m, n: 9.0 if a == "amp" else fair(level, a, m, n), [FAIR, BEST, FEW]),
        (lambda level, a, m, n: 0.5 if (a, m, n) == ("amp", 1, 2) else fair(level, a, m, n), [FEW]),
        (lambda level, a, m, n: 1.3 if a == linux_fairness.WITH_DCTCP_CUT else fair(level, a, m, n), [WITH_DCTCP_CUT]),
        (lambda level, a, m, n: 9.0 if level == "packet" else fair(level, a, m, n), [LEVELS_AGREE]),
        # By less than a tenth in each cell, and by more than three hundredths on average.
        (lambda level, a, m, n: 2.5 if level == "packet" and a != "amp" else fair(level, a, m, n), [LEVELS_AGREE]),
    ],
)
def test_fairness_can_fail(ratio: Callable[[str, str, int, int], float], expected: list[int]) -> None:
    assert failing(linux_fairness.claims(goodputs(ratio))) == expected


def test_fairness_runs_the_worked_cell_longest() -> None:
    cases = linux_fairness.cases(Scale(seeds=1))
    long = {(case.labels["multipath"], case.labels["dctcp"]) for case in cases if case.experiment.duration == "10s"}
    assert long == {(1, 8)}


def fcts(mean: Callable[[str, str, int], float], unscaled: float = 1.0) -> pl.DataFrame:
    """FCT in ms by algorithm, joins and k, the same at both levels; 2 seeds."""
    labels = [(linux_incast.GAP_US, name, joins) for name in linux_incast.MULTIPATH for joins in linux_incast.JOINS]
    labels += [(linux_incast.GAP_US, linux_incast.WITH_DCTCP_CUT, "delayed"), (linux_incast.GAP_US, "dctcp", "at once")]
    labels += [(linux_incast.PAPER_GAP_US, name, "delayed") for name in linux_incast.MULTIPATH]
    labels += [(linux_incast.PAPER_GAP_US, "dctcp", "at once")]
    return pl.concat(
        pl.DataFrame(
            {
                "level": level,
                "gap_us": gap_us,
                "algorithm": name,
                "joins": joins,
                "k": k,
                "seed": seed,
                "round": [0, 1],
                "fct_ms": [
                    part * mean(name, joins, k) * (unscaled if gap_us != linux_incast.GAP_US and name == "amp" else 1)
                    for part in (0.9, 1.1)
                ],
                "unfinished_ms": None,
                "timeouts": [0, 1],
                "suppressions": 0,
            }
        )
        for level in LEVELS
        for gap_us, name, joins in labels
        if level == "linux" or gap_us == linux_incast.GAP_US
        for k in linux_incast.FLOWS
        for seed in (1, 2)
    )


def as_in_the_paper(name: str, joins: str, k: int) -> float:
    return (50.0 if name in ("xmp", "dcm") and joins == "at once" else 1.0) * k


def test_incast_holds_for_the_papers_numbers() -> None:
    assert failing(linux_incast.claims(fcts(as_in_the_paper))) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda a, j, k: 1.06 if (a, j, k) == ("amp", "delayed", 10) else 1.0, [DELAYED, DELAYED_UNSCALED]),
        (lambda a, j, k: 1.06 if (a, j, k) == ("amp-dctcp-cut", "delayed", 10) else 1.0, [DELAYED_CUT]),
        (lambda a, j, k: 1.06 if (a, j, k) == ("dcm", "delayed", 40) else 1.0, [DELAYED_OTHERS, DELAYED_UNSCALED]),
        (lambda a, j, k: 1.3 if (a, j, k) == ("amp", "at once", 30) else 1.0, [LIKE_DCTCP]),
        (lambda a, j, k: 1.3 if (a, j, k) == ("amp", "at once", 40) else 1.0, []),
        (lambda a, j, _: 0.1 if a != "amp" and j == "at once" and a != "dctcp" else 1.0, [SLOWER]),
    ],
)
def test_incast_can_fail(change: Callable[[str, str, int], float], expected: list[int]) -> None:
    rows = fcts(lambda a, j, k: change(a, j, k) * as_in_the_paper(a, j, k))
    assert failing(linux_incast.claims(rows)) == expected


def test_incast_with_the_papers_gap_is_a_claim_of_its_own() -> None:
    assert failing(linux_incast.claims(fcts(as_in_the_paper, unscaled=1.1))) == [DELAYED_UNSCALED]


def test_incast_of_the_levels_is_compared() -> None:
    rows = fcts(as_in_the_paper)
    slower = pl.col("fct_ms") * pl.when(level="packet", algorithm="dctcp", k=40).then(1.05).otherwise(1)
    assert failing(linux_incast.claims(rows.with_columns(fct_ms=slower))) == [INCAST_LEVELS]


def test_shifts_of_the_levels_are_compared() -> None:
    rows = windows(SHIFTED)
    slower = pl.col("floor_ms") * pl.when(level="packet", algorithm="dcm", slower=1).then(1.5).otherwise(1)
    assert failing(linux_shift.claims(rows.with_columns(floor_ms=slower))) == [SHIFT_LEVELS]


def test_incast_quick_asks_amp_alone() -> None:
    rows = fcts(as_in_the_paper).filter(
        pl.col("algorithm").is_in(("amp", "dctcp")), level="linux", gap_us=linux_incast.GAP_US
    )
    assert len(linux_incast.claims(rows)) == 2


def windows(floor_ms: dict[str, float | None]) -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame(
            {
                "level": level,
                "slower": slower,
                "algorithm": name,
                "seed": seed,
                "subflow": [0, 1, 0, 1],
                "cwnd_packets": [14.0, 2.0, 2.0, 14.0],
                "active": True,
                "time_ms": [-0.5, -0.5, 200.0, 200.0],
                "floor_ms": pl.Series([floor_ms[name]] * 4, dtype=pl.Float64),
                "before_packets": 14.0,
            }
        )
        for level in LEVELS
        for slower in linux_shift.SLOWER
        for name in linux_shift.ALGORITHMS
        for seed in (1, 2)
    )


SHIFTED: dict[str, float | None] = {"amp": 140.0, "xmp": 150.0, "dcm": 330.0, "mptcp": 120.0}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"amp": 201.0}, [0, SIMILAR]),
        ({"amp": 99.0}, [0, SIMILAR]),
        ({"xmp": None}, [1, CONSTANT_FASTER, SIMILAR]),
        ({"dcm": 145.0}, [2, CONSTANT_FASTER]),
        ({"dcm": 401.0}, [2]),
        ({"mptcp": None}, [3]),
    ],
)
def test_shift_holds_and_can_fail(changes: dict[str, float | None], expected: list[int]) -> None:
    assert failing(linux_shift.claims(windows(SHIFTED | changes))) == expected


def test_plots_have_a_panel_a_setting() -> None:
    assert len(linux_fairness.plot(goodputs(fair)).axes) == len(linux_fairness.MULTIPATH)
    assert len(linux_incast.plot(fcts(as_in_the_paper)).axes) == len(linux_incast.JOINS) + 1
    assert len(linux_shift.plot(windows(SHIFTED)).axes) == len(linux_shift.ALGORITHMS)
