"""The claims of figure 4 on tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from weft_papers.amp import fig04


def table(
    ratio_a: dict[int, float],
    ratio_b: float,
    min1: tuple[float, float],
    many: float = 1.9,
    others: tuple[float, float, float] = (2.3, 2.3, 2.3),
) -> pl.DataFrame:
    """The ratio of an XMP flow's goodput to each DCTCP flow's.

    Args:
        ratio_a: By number of subflows, panel (a).
        ratio_b: Panel (b).
        min1: With a floor of 1, and 1 or 4 XMP flows.
        many: With 16 DCTCP flows.
        others: DCM, 10 ms, and links of 1 Gbps.
    """
    dcm, short, slow = others
    parts = [
        *(("a", 10, 1, 8, r, ratio_a[r]) for r in fig04.SUBFLOWS_A),
        *(("b", 20, 1, n, 4, ratio_b) for n in fig04.DCTCP_FLOWS_B),
        *(("min1", 10, m, 8, 4, ratio) for m, ratio in zip(fig04.XMP_FLOWS_MIN1, min1, strict=True)),
        ("many", 10, 1, 16, 2, many),
        ("dcm", 10, 1, 8, 4, dcm),
        ("10ms", 10, 1, 8, 4, short),
        ("1gbps", 10, 1, 8, 4, slow),
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
                "algorithm": ["dcm" if panel == "dcm" else "xmp", "dctcp", "dctcp"],
                "goodput_gbps": [ratio, 0.9, 1.1],
                "timeouts": 0,
            }
        )
        for delay_us in (*fig04.DELAYS_US, fig04.SLOW_DELAY_US)
        for panel, mark, xmp_flows, dctcp_flows, subflows, ratio in parts
        for seed in (1, 2, 3)
    )


PAPER = {2: 1.05, 3: 1.8, 4: 2.3, 5: 2.8, 6: 3.3, 7: 3.8, 8: 4.3}


MIN1 = (1.1, 1.9)


def verdicts(ratio_a: dict[int, float], ratio_b: float, min1: tuple[float, float] = MIN1) -> list[bool | None]:
    return [claim.holds for claim in fig04.claims(table(ratio_a, ratio_b, min1))]


CONDITION = 10
"""The place of the claim about (BDP + K) / cwnd_min: it needs ratios at the floor, which the paper's are not."""


def test_holds_for_the_papers_numbers() -> None:
    assert verdicts(PAPER, 2.0) == [True] * CONDITION + [False, None]


@pytest.mark.parametrize(
    ("ratio_a", "ratio_b", "failing"),
    [
        (PAPER | {2: 1.5}, 2.0, [0, 7]),
        (PAPER | {6: 1.1}, 2.0, [1, 8]),
        (PAPER | {8: 6.0}, 2.0, [8]),
        (PAPER | {4: 2.8}, 2.0, [2, 9]),
        (PAPER, 1.6, [3]),
        (PAPER, 2.31, [3, 4]),
        (PAPER, 1.1, [3, 4]),
    ],
)
def test_each_can_fail(ratio_a: dict[int, float], ratio_b: float, failing: list[int]) -> None:
    held = verdicts(ratio_a, ratio_b)[:CONDITION]
    assert [index for index, holds in enumerate(held) if not holds] == failing


@pytest.mark.parametrize("others", [(1.9, 2.3, 2.3), (2.3, 1.9, 2.3), (2.3, 2.3, 2.7)])
def test_variants_can_fail(others: tuple[float, float, float]) -> None:
    assert fig04.claims(table(PAPER, 2.0, MIN1, others=others))[9].holds is False


def test_problem_may_not_recur() -> None:
    assert fig04.claims(table(PAPER, 2.0, MIN1, many=1.2))[7].holds is False


def test_condition_holds_where_windows_sit_at_their_floor() -> None:
    """Ratios as large as the number of subflows above (BDP + K) / cwnd_min, and smaller ones up to it."""
    rows = table(PAPER, 2.0, MIN1)
    limit = pl.col("delay_us").replace_strict(fig04.BDP_PACKETS, default=None, return_dtype=pl.Float64)
    at_floor = 8 + pl.col("subflows") > (limit + 10) / 2
    xmp = pl.when(at_floor).then("subflows").otherwise(pl.col("subflows") * 0.8)
    in_a = (pl.col("panel") == "a") & (pl.col("algorithm") == "xmp")
    right = rows.with_columns(goodput_gbps=pl.when(in_a).then(xmp).otherwise("goodput_gbps"))
    assert fig04.claims(right)[CONDITION].holds is True
    for r in fig04.SUBFLOWS_A:
        wrong = in_a & (pl.col("subflows") == r) & (pl.col("delay_us") == 5)
        changed = right.with_columns(
            goodput_gbps=pl.when(wrong & at_floor).then(0.5).when(wrong).then(r).otherwise("goodput_gbps")
        )
        assert fig04.claims(changed)[CONDITION].holds is False


@pytest.mark.parametrize(("min1", "expected"), [((2.4, 3.0), [False, True]), ((1.1, 1.2), [True, False])])
def test_lower_floor_can_fail(min1: tuple[float, float], expected: list[bool]) -> None:
    assert verdicts(PAPER, 2.0, min1)[5:7] == expected


def test_plot_has_both_panels_for_both_delays() -> None:
    plot = fig04.plot(table(PAPER, 2.0, MIN1))
    titles = [axes.get_title() for axes in plot.axes]
    assert [title[:3] for title in titles] == ["(a)", "(b)"] * len(fig04.DELAYS_US)
    assert sum("2 us" in title for title in titles) == 2
