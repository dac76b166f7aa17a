"""The claims of figures 6 and 11 on tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from weft_papers.amp import fig06
from weft_papers.figure import Claim

PAPER = {"mptcp": 3.0, "dcm": 7.0, "amp": 3.2, "xmp": 3.1}


def table(floor_ms: dict[str, float | None]) -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame(
            {
                "delay_us": delay_us,
                "host_gbps": host_gbps,
                "algorithm": algorithm,
                "seed": seed,
                "subflow": [0, 1, 0, 1],
                "cwnd_packets": [30.0, 2.0, 2.5, 30.0],
                "active": True,
                "time_ms": [-0.5, -0.5, 5.0, 5.0],
                "floor_ms": pl.Series([floor_ms[algorithm]] * 4, dtype=pl.Float64),
            }
        )
        for delay_us, host_gbps in ((5, 10), (8, 10), (5, 20))
        for algorithm in fig06.ALGORITHMS
        for seed in (1, 2)
    )


def failing(claims: list[Claim]) -> list[int]:
    return [index for index, claim in enumerate(claims) if claim.holds is False]


def test_holds_for_the_papers_numbers() -> None:
    assert failing(fig06.claims(table({**PAPER}))) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"mptcp": 4.5}, [0, 2]),
        ({"dcm": 4.0}, [1, 2]),
        ({"dcm": None}, [1, 2]),
        ({"amp": 5.0}, [3, 6]),
        ({"xmp": 8.0}, [4, 5, 6]),
    ],
)
def test_each_can_fail(changes: dict[str, float | None], expected: list[int]) -> None:
    assert failing(fig06.claims(table({**PAPER, **changes}))) == expected


def test_a_panel_an_algorithm() -> None:
    titles = [axes.get_title() for axes in fig06.plot(table({**PAPER})).axes]
    assert titles == ["Figure 6(a): MPTCP", "Figure 6(b): DCM", "Figure 11(a): AMP", "Figure 11(b): XMP"]
