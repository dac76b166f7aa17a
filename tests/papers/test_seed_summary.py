"""Statistics over seeds."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft_papers.seed_summary import SeedSummary, over_seeds, percentile


def test_one_value_a_seed() -> None:
    rows = pl.DataFrame({"seed": [2, 1, 1], "fct_ms": [5.0, 1.0, 3.0]})
    assert over_seeds(rows, pl.col("fct_ms").mean(), "ms") == SeedSummary((2.0, 5.0), "ms")


def test_ratio_seed_by_seed() -> None:
    assert SeedSummary((2.0, 9.0)) / SeedSummary((1.0, 3.0)) == SeedSummary((2.0, 3.0))


def test_near() -> None:
    assert SeedSummary((1.0, 1.2)).near(1.0, 0.15)
    assert not SeedSummary((1.0, 1.2)).near(1.3, 0.15)


@pytest.mark.parametrize(
    ("values", "text"),
    [((1.87,), "1.87 ms"), ((1.0, 3.0), "2 ms (1 to 3)"), ((812.4, 1204.0), "1008 ms (812 to 1204)")],
)
def test_text(values: tuple[float, ...], text: str) -> None:
    assert str(SeedSummary(values, "ms")) == text


def test_lower_bound_says_at_least_and_is_near_to_nothing() -> None:
    low, known = SeedSummary((2.0, 4.0), "ms", at_least=True), SeedSummary((1.0, 2.0), "ms")
    assert str(low) == "at least 3 ms (2 to 4)"
    assert not low.near(3.0, 0.5)
    assert str(low / known) == "at least 2"
    assert str(known / low) == "at most 0.5"
    assert str(low / low).startswith("unsettled, about 1")


def test_percentile_of_each_seed() -> None:
    rows = pl.DataFrame(
        {
            "seed": [2, 1, 1, 1],
            "fct_ms": [5.0, 1.0, 3.0, None],
            "floor": pl.Series([None, None, None, 2.0]),
        }
    )
    assert percentile(rows, "fct_ms", 50, "ms") == SeedSummary((2.0, 5.0), "ms")
    assert percentile(rows, "fct_ms", 50, "ms", at_least="floor") == SeedSummary((2.0, 5.0), "ms", at_least=True)
    assert percentile(rows, "fct_ms", 0, "ms", at_least="floor") == SeedSummary((1.0, 5.0), "ms")


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=9))
def test_mean_lies_within(values: list[float]) -> None:
    spread = SeedSummary(tuple(values))
    assert min(values) * (1 - 1e-12) <= spread.mean <= max(values) * (1 + 1e-12)
