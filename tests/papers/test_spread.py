"""Statistics over seeds."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.papers.spread import Spread, over_seeds


def test_one_value_a_seed() -> None:
    rows = pl.DataFrame({"seed": [2, 1, 1], "fct_ms": [5.0, 1.0, 3.0]})
    assert over_seeds(rows, pl.col("fct_ms").mean(), "ms") == Spread((2.0, 5.0), "ms")


def test_ratio_seed_by_seed() -> None:
    assert Spread((2.0, 9.0)) / Spread((1.0, 3.0)) == Spread((2.0, 3.0))


def test_near() -> None:
    assert Spread((1.0, 1.2)).near(1.0, 0.15)
    assert not Spread((1.0, 1.2)).near(1.3, 0.15)


@pytest.mark.parametrize(
    ("values", "text"),
    [((1.87,), "1.87 ms"), ((1.0, 3.0), "2 ms (1 to 3)"), ((812.4, 1204.0), "1008 ms (812 to 1204)")],
)
def test_text(values: tuple[float, ...], text: str) -> None:
    assert str(Spread(values, "ms")) == text


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=9))
def test_mean_lies_within(values: list[float]) -> None:
    spread = Spread(tuple(values))
    assert min(values) * (1 - 1e-12) <= spread.mean <= max(values) * (1 + 1e-12)
