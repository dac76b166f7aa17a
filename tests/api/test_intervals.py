"""Intervals over seeds cover what they say, on skewed data and after repeated looks; coverage is simulated."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl
import pytest

from weft import stats
from weft.sweeps.precision import Precision, confidence, parse_share

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def lognormal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.lognormal(0, 1, shape)


def tail_of_pareto(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """The 99th percentile of 100 FCTs with a Pareto tail, whose variance is infinite."""
    return np.asarray(np.quantile(rng.pareto(1.3, (*shape, 100)) + 1, 0.99, axis=-1))


def mean_of_pareto(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray((rng.pareto(1.3, (*shape, 100)) + 1).mean(axis=-1))


def rare_timeouts(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Runs of which a fifth wait for a timeout that takes a hundred times as long."""
    return rng.lognormal(0, 0.05, shape) + 100 * (rng.random(shape) < 0.2)


DRAWS: list[Draw] = [lognormal, tail_of_pareto, mean_of_pareto, rare_timeouts]


def median_of(draw: Draw) -> float:
    return float(np.median(draw(np.random.default_rng(0), (200_000,))))


@pytest.mark.parametrize("draw", DRAWS, ids=lambda draw: draw.__name__)
@pytest.mark.parametrize("seeds", [5, 6, 8, 10, 20])
def test_coverage(draw: Draw, seeds: int) -> None:
    count = 4000
    values = draw(np.random.default_rng(seeds), (count, seeds))
    rows = pl.DataFrame({"case": np.repeat(np.arange(count), seeds), "value": values.ravel()})
    found = stats.median_ci(rows, "value", by="case")
    truth = median_of(draw)
    covered = ((found["low"] <= truth) & (found["high"] >= truth)).mean()
    assert isinstance(covered, float)
    # The standard error of the simulation is 0.35 %.
    assert 0.93 - 0.007 <= covered <= 0.97 + 0.007
    assert found["low"].min() > 0  # type: ignore[operator]


def stopped(rng: np.random.Generator, draw: Draw, precision: Precision) -> Iterator[tuple[list[float], int]]:
    """Yields the values of all seeds of a sequential sweep, and the number of its looks, again and again."""
    while True:
        values: list[float] = []
        look = 0
        for look, size in enumerate(precision.sizes(1), start=1):
            values += draw(rng, (size - len(values),)).tolist()
            if precision.is_reached(values, look):
                break
        yield values, look


@pytest.mark.parametrize("share", [0.1, 0.3])
@pytest.mark.parametrize("draw", DRAWS, ids=lambda draw: draw.__name__)
def test_coverage_after_repeated_looks(draw: Draw, share: float) -> None:
    precision = Precision("mean fct", share, max_seeds=60)
    truth, covered, count = median_of(draw), 0, 300
    sweeps = stopped(np.random.default_rng(7), draw, precision)
    for _ in range(count):
        values, look = next(sweeps)
        row = stats.median_ci(pl.DataFrame({"v": values}), "v", confidence=confidence(look)).row(0, named=True)
        covered += row["low"] <= truth <= row["high"]
    # 95 % or more by Bonferroni's inequality; the standard error of the simulation is 1.3 %.
    assert covered / count >= 0.93


def test_without_the_correction_looks_cost_coverage() -> None:
    """The simulation can show too low a coverage: it does so for intervals that ignore the looks."""
    rng, share, count, covered = np.random.default_rng(3), 0.05, 1500, 0
    for _ in range(count):
        values: list[float] = []
        while len(values) < 60:
            values += rng.lognormal(0, 0.1, 6).tolist()
            row = stats.median_ci(pl.DataFrame({"v": values}), "v").row(0, named=True)
            if (row["high"] - row["low"]) / 2 <= share * row["median"]:
                break
        covered += row["low"] <= 1 <= row["high"]
    assert covered / count < 0.93


def test_all_looks_together_miss_with_five_per_cent() -> None:
    assert sum(1 - confidence(look) for look in range(1, 10_000)) == pytest.approx(0.05, abs=1e-5)
    assert confidence(0) == 0.95


def test_below_five_seeds_there_is_no_interval() -> None:
    for seeds, has in ((1, False), (4, False), (5, True)):
        row = stats.median_ci(pl.DataFrame({"v": [1.0, 2.0, 3.0, 4.0, 50.0][:seeds]}), "v").row(0, named=True)
        assert (row["low"] is not None) == has
    assert (row["low"], row["median"], row["high"]) == (1.0, 3.0, 50.0)


def test_ranks_are_those_of_the_binomial_distribution() -> None:
    # Table A.1 of Le Boudec (2010): 95 % intervals of a median.
    for n, rank in ((6, 1), (9, 2), (12, 3), (20, 6), (50, 18), (70, 27)):
        assert stats.order_rank(n, 0.95)[0] == rank


@pytest.mark.parametrize(
    ("text", "share"), [("5%", 0.05), ("0.05", 0.05), ("2.5 %", 0.025), ("0%", None), ("x", None), ("100%", None)]
)
def test_shares(text: str, share: float | None) -> None:
    if share is None:
        with pytest.raises(ValueError, match="--precision"):
            parse_share(text)
    else:
        assert parse_share(text) == pytest.approx(share)
