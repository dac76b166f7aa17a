"""The claims of figure 4 on tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from weft.papers.amp import fig04


def table(ratio_a: dict[int, float], ratio_b: float) -> pl.DataFrame:
    """XMP gets so many times what each DCTCP flow gets."""
    parts = [("a", 10, 8, r, ratio_a[r]) for r in fig04.SUBFLOWS_A] + [
        ("b", 20, n, 4, ratio_b) for n in fig04.DCTCP_FLOWS_B
    ]
    return pl.concat(
        pl.DataFrame(
            {
                "panel": panel,
                "delay_us": delay_us,
                "mark": mark,
                "dctcp_flows": dctcp_flows,
                "subflows": subflows,
                "seed": seed,
                "algorithm": ["xmp", "dctcp", "dctcp"],
                "goodput_gbps": [ratio, 0.9, 1.1],
                "timeouts": 0,
            }
        )
        for delay_us in fig04.DELAYS_US
        for panel, mark, dctcp_flows, subflows, ratio in parts
        for seed in (1, 2, 3)
    )


PAPER = {2: 1.05, 3: 1.6, 4: 2.3, 5: 2.8, 6: 3.3, 7: 3.8, 8: 4.3}


def verdicts(ratio_a: dict[int, float], ratio_b: float) -> list[bool]:
    return [claim.holds for claim in fig04.claims(table(ratio_a, ratio_b))]


def test_holds_for_the_papers_numbers() -> None:
    assert verdicts(PAPER, 2.0) == [True] * 5


@pytest.mark.parametrize(
    ("ratio_a", "ratio_b", "expected"),
    [
        (PAPER | {2: 1.5}, 2.0, [False, True, True, True, True]),
        (PAPER | {6: 1.1}, 2.0, [True, False, True, True, True]),
        (PAPER | {4: 2.7}, 2.0, [True, True, False, True, True]),
        (PAPER, 1.6, [True, True, True, False, True]),
        (PAPER, 2.31, [True, True, True, False, False]),
        (PAPER, 1.1, [True, True, True, False, False]),
    ],
)
def test_each_can_fail(ratio_a: dict[int, float], ratio_b: float, expected: list[bool]) -> None:
    assert verdicts(ratio_a, ratio_b) == expected


def test_plot_has_both_panels_for_both_delays() -> None:
    plot = fig04.plot(table(PAPER, 2.0))
    titles = [axes.get_title() for axes in plot.axes]
    assert [title[:3] for title in titles] == ["(a)", "(b)"] * len(fig04.DELAYS_US)
    assert sum("2 us" in title for title in titles) == 2
