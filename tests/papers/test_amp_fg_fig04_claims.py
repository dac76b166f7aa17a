"""Figure 4 of amp-fg: the equations by hand, and its claims."""

from __future__ import annotations

import math

import polars as pl
import pytest

from weft_papers.amp_fg import fig04


def test_beta_counts_changes_since_the_previous_round() -> None:
    assert fig04.beta((0, 1, 0, 1), (0, 1, 0, 1)) == 0
    assert fig04.beta((1, 0, 1, 0), (0, 1, 0, 1)) == 1
    assert fig04.beta((1, 0, 1, 0, 1, 1), (1, 0, 1, 0)) == 2 / 6


def test_beta_of_neighbours_counts_changes_within_a_round() -> None:
    assert fig04.beta_of_neighbours((1, 0, 0, 0)) == 2 / 4
    assert fig04.beta_of_neighbours((0, 0, 1, 1)) == 1 / 4


def test_alpha_is_the_ratio_of_marks_where_nothing_changed() -> None:
    assert fig04.alpha((0, 1, 0, 1), 0.0) == 0.5
    # Weights j / 4 of the first and third.
    assert fig04.alpha((1, 0, 1, 0), 1.0) == 0.25


@pytest.mark.parametrize(
    ("marks", "equations", "neighbours"),
    [
        ((0, 0, 0, 1), 3.0, 3.0),
        ((1, 0, 0, 0), 4 - math.sqrt(0.5), 3.5),
        ((0, 0, 1, 1), 3 - math.sqrt(0.75), 3 - 0.75**0.25),
    ],
)
def test_windows(marks: tuple[int, ...], equations: float, neighbours: float) -> None:
    assert fig04.after(marks) == pytest.approx(equations)
    assert fig04.after_neighbours(marks) == pytest.approx(neighbours)


def test_weight_ratio_divides_by_the_sum_of_the_weights() -> None:
    weights = [(j / 4) ** 0.25 for j in (1, 2, 3, 4)]
    assert fig04.after_weight_ratio((0, 0, 0, 1)) == pytest.approx(4 - 4 / sum(weights))
    assert [int(fig04.after_weight_ratio(marks)) for marks in fig04.SCENARIOS.values()] == [2, 3, 1]


def test_no_text_but_xmps_follows_from_the_equations() -> None:
    verdicts = [claim.holds for claim in fig04.claims(fig04.rows())]
    assert verdicts == [False, False, False, True, True, True, True, False, False]


def test_the_texts_windows_would_hold() -> None:
    windows = pl.Series([2.0, 4.0, 1.0])
    rows = fig04.rows().with_columns(equations=windows, lowest=pl.lit(1.0), highest=pl.lit(4.0))
    rows = rows.with_columns(windows.alias(fig04.WEIGHT_RATIO))
    assert all(claim.holds for claim in fig04.claims(rows))


def test_plot_has_all_scenarios() -> None:
    assert len(fig04.plot(fig04.rows()).axes[0].get_xticks()) == 3
