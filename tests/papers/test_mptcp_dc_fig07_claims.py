"""The claims about figure 7 of mptcp-dc on tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from weft_papers.figure import Scale
from weft_papers.mptcp_dc import fig07

MEAN, MAX, CONGESTED, MANY, LITTLE = range(5)
PAPER: dict[tuple[str, int], tuple[float, float, int]] = {
    ("linked", 1): (0.3, 2.0, 100),
    ("linked", 4): (0.3, 2.0, 120),
    ("linked", 8): (0.3, 2.0, 150),
    ("independent", 1): (0.3, 2.0, 100),
    ("independent", 4): (0.6, 3.0, 400),
    ("independent", 8): (0.9, 4.0, 900),
}
"""Mean and maximum loss in percent and timeouts after slow start, by algorithm and subflows."""


def table(changes: dict[tuple[str, int], tuple[float, float, int]] | None = None) -> pl.DataFrame:
    """Two seeds; slow start has 1000 timeouts, and other readings are there at the ends."""
    rows = []
    for (algorithm, subflows), (mean, most, timeouts) in (PAPER | (changes or {})).items():
        readings = (fig07.PAPER, *fig07.OTHERS) if subflows in {1, 8} else (fig07.PAPER,)
        for reading in readings:
            for seed in (1, 2):
                for part in fig07.PARTS:
                    row = {"reading": reading, "algorithm": algorithm, "subflows": subflows, "part": part, "seed": seed}
                    start = part == "slow-start"
                    loss = {"mean_loss": 50.0 if start else mean, "max_loss": 90.0 if start else most}
                    counts = {"host_loss": 0.0, "timeouts": 1000 + (0 if start else timeouts), "small": 0.3}
                    rows.append(row | loss | counts)
    return pl.DataFrame(rows)


def failing(changes: dict[tuple[str, int], tuple[float, float, int]] | None = None) -> list[int]:
    return [index for index, claim in enumerate(fig07.claims(table(changes))) if not claim.holds]


def test_claims_hold_for_the_papers_numbers() -> None:
    assert failing() == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({("linked", 8): (0.4, 2.0, 150)}, [MEAN]),
        ({("linked", 8): (0.3, 2.5, 150)}, [MAX]),
        ({("independent", 8): (0.3, 4.0, 900)}, [CONGESTED]),
        ({("independent", 4): (1.2, 4.0, 400)}, [CONGESTED]),
        ({("independent", 4): (0.6, 3.0, 130)}, [MANY]),
        ({("linked", 8): (0.3, 2.0, 90)}, [LITTLE]),
        ({("linked", 8): (0.3, 2.0, 250)}, [LITTLE]),
    ],
)
def test_each_can_fail(changes: dict[tuple[str, int], tuple[float, float, int]], expected: list[int]) -> None:
    assert failing(changes) == expected


def test_timeouts_of_slow_start_do_not_count() -> None:
    assert "independent 1: 100, 4: 400, 8: 900; linked 1: 100" in fig07.claims(table())[MANY].measured


def test_other_readings_are_told() -> None:
    assert "with Linux's TCP 3, with an RTO of at least 10 ms 3" in fig07.claims(table())[CONGESTED].note


def test_another_reading_changes_the_sentence() -> None:
    cases = {(case.labels["reading"], case.labels["part"]): case.experiment for case in fig07.cases(Scale(seeds=1))}
    flows = {reading: len(cases[reading, "all"].traffic) for reading in (fig07.PAPER, *fig07.OTHERS)}
    assert flows == {fig07.PAPER: 1, "linux": 1, "rto": 1, "spread": fig07.FLOWS}


def test_plot_has_losses_and_timeouts() -> None:
    assert [axes.get_title()[:3] for axes in fig07.plot(table()).axes] == ["(a)", "(b)"]
