"""The claims of figure 4 on tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from weft.papers.amp import fig04


def table(ratio_a: dict[int, float], ratio_b: float, min1: tuple[float, float]) -> pl.DataFrame:
    """A table with ratios of an XMP flow to a DCTCP flow; `min1` competes with 1 and with 4 XMP flows."""
    parts = [
        *(("a", 10, 1, 8, r, ratio_a[r]) for r in fig04.SUBFLOWS_A),
        *(("b", 20, 1, n, 4, ratio_b) for n in fig04.DCTCP_FLOWS_B),
        *(("min1", 10, m, 8, 4, ratio) for m, ratio in zip(fig04.XMP_FLOWS_MIN1, min1, strict=True)),
    ]
    return pl.concat(
        pl.DataFrame(
            {
                "panel": panel,
                "delay_us": delay_us,
                "mark": mark,
                "xmp_flows": xmp_flows,
                "dctcp_flows": dctcp_flows,
                "subflows": subflows,
                "seed": seed,
                "algorithm": ["xmp", "dctcp", "dctcp"],
                "goodput_gbps": [ratio, 0.9, 1.1],
                "timeouts": 0,
            }
        )
        for delay_us in fig04.DELAYS_US
        for panel, mark, xmp_flows, dctcp_flows, subflows, ratio in parts
        for seed in (1, 2, 3)
    )


PAPER = {2: 1.05, 3: 1.6, 4: 2.3, 5: 2.8, 6: 3.3, 7: 3.8, 8: 4.3}


MIN1 = (1.1, 1.9)


def verdicts(ratio_a: dict[int, float], ratio_b: float, min1: tuple[float, float] = MIN1) -> list[bool | None]:
    return [claim.holds for claim in fig04.claims(table(ratio_a, ratio_b, min1))]


def test_holds_for_the_papers_numbers() -> None:
    assert verdicts(PAPER, 2.0) == [True] * 7


@pytest.mark.parametrize(
    ("ratio_a", "ratio_b", "failing"),
    [
        (PAPER | {2: 1.5}, 2.0, [0]),
        (PAPER | {6: 1.1}, 2.0, [1]),
        (PAPER | {4: 2.7}, 2.0, [2]),
        (PAPER, 1.6, [3]),
        (PAPER, 2.31, [3, 4]),
        (PAPER, 1.1, [3, 4]),
    ],
)
def test_each_can_fail(ratio_a: dict[int, float], ratio_b: float, failing: list[int]) -> None:
    assert [place for place, holds in enumerate(verdicts(ratio_a, ratio_b)) if not holds] == failing


@pytest.mark.parametrize(("min1", "expected"), [((2.4, 3.0), [False, True]), ((1.1, 1.2), [True, False])])
def test_lower_floor_can_fail(min1: tuple[float, float], expected: list[bool]) -> None:
    assert verdicts(PAPER, 2.0, min1)[5:] == expected


def test_plot_has_both_panels_for_both_delays() -> None:
    plot = fig04.plot(table(PAPER, 2.0, MIN1))
    titles = [axes.get_title() for axes in plot.axes]
    assert [title[:3] for title in titles] == ["(a)", "(b)"] * len(fig04.DELAYS_US)
    assert sum("2 us" in title for title in titles) == 2
