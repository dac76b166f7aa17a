"""The best value of a comparison on a page, and how sure it is: coverage and wrong statements are simulated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Browser, Page

import weft
from weft import stats

SCRIPT = Path(weft.__file__).parent / "templates" / "best.js"
CASES = 2000
POSITIONS = [stats.order_position(n, 0.95) for n in range(31)]

Noise = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def lognormal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.lognormal(0, 1, shape)


def pareto(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Tails of FCTs, whose variance is infinite."""
    return rng.pareto(1.3, shape) + 1


def timeouts(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(rng.lognormal(0, 0.05, shape) + 100 * (rng.random(shape) < 0.2))


@pytest.fixture
def page(browser: Browser) -> Page:
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.add_script_tag(path=SCRIPT)
    return page


def decided(page: Page, values: np.ndarray, best: str = "lowest") -> list[dict[str, Any]]:
    """Returns the answers of the script to cases: an array of cases, series and seeds."""
    answers: list[dict[str, Any]] = page.evaluate(
        """([cases, best, positions]) => cases.map((series) => {
          const middle = (values) => {
            const sorted = [...values].sort((a, b) => a - b);
            return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
          };
          const entries = series.map((values, n) => ({ series: n, median: middle(values) }));
          const seeds = series.map((values) => values.map((value, seed) => [seed, value]));
          const found = bestOf(entries, seeds, best, positions);
          return { best: found.best.series, close: found.close.map((it) => it.series), few: found.few };
        })""",
        [values.tolist(), best, POSITIONS],
    )
    return answers


@pytest.mark.parametrize("seeds", [5, 6, 8, 10, 20, 30])
def test_intervals_are_those_of_python(page: Page, seeds: int) -> None:
    values = np.random.default_rng(seeds).lognormal(0, 1, (200, seeds))
    found = page.evaluate(
        "([cases, positions]) => cases.map((values) => medianInterval(values, positions))",
        [values.tolist(), POSITIONS],
    )
    rows = pl.DataFrame({"case": np.repeat(np.arange(200), seeds), "value": values.ravel()})
    expected = stats.median_ci(rows, "value", by="case").select("low", "high").to_numpy()
    assert np.allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("noise", [lognormal, pareto, timeouts], ids=lambda noise: noise.__name__)
@pytest.mark.parametrize("seeds", [5, 6, 8, 10, 20])
def test_coverage_of_paired_ratios(page: Page, noise: Noise, seeds: int) -> None:
    """Both have the traffic of a seed in common; the true median of the ratio is 3, because both have one noise."""
    rng = np.random.default_rng(seeds)
    traffic = rng.lognormal(0, 1, (CASES, seeds))
    values = traffic[:, None] * noise(rng, (CASES, 2, seeds))
    ratios = 3 * values[:, 0] / values[:, 1]
    found = np.array(
        page.evaluate(
            "([cases, positions]) => cases.map((values) => medianInterval(values, positions))",
            [ratios.tolist(), POSITIONS],
        )
    )
    covered = ((found[:, 0] <= 3) & (found[:, 1] >= 3)).mean()
    # The standard error of the simulation is 0.5 %.
    assert 0.93 - 0.01 <= covered <= 0.97 + 0.01


@pytest.mark.parametrize("noise", [lognormal, pareto, timeouts], ids=lambda noise: noise.__name__)
@pytest.mark.parametrize("seeds", [5, 12])
@pytest.mark.parametrize(("equal", "worse"), [(2, 0), (2, 3), (3, 0), (6, 0)])
def test_wrong_statements_are_rare(page: Page, noise: Noise, seeds: int, equal: int, worse: int) -> None:
    """No series is the best alone, so that each "below every other" is wrong."""
    rng = np.random.default_rng(seeds)
    factors = np.array([1.0] * equal + [1e6] * worse)
    values = rng.lognormal(0, 1, (CASES, 1, seeds)) * factors[:, None] * noise(rng, (CASES, equal + worse, seeds))
    wrong = np.mean([not answer["close"] for answer in decided(page, values)])
    # Five seeds have intervals of 93.75 %; the standard error of the simulation is 0.5 %.
    assert wrong <= 0.0625 + 0.01


def test_a_difference_is_found(page: Page) -> None:
    """The test before this one would pass for a script that never names a best series."""
    rng = np.random.default_rng(1)
    values = np.array([3.0, 1.0, 2.0])[:, None] * rng.lognormal(0, 0.1, (500, 3, 6))
    lowest = decided(page, values)
    assert np.mean([answer["best"] == 1 and not answer["close"] for answer in lowest]) > 0.99
    highest = decided(page, values, "highest")
    assert np.mean([answer["best"] == 0 and not answer["close"] for answer in highest]) > 0.8
    # Values that are not positive are compared by differences.
    assert decided(page, values - 1.5, "highest")[0]["best"] == 0


def test_four_seeds_are_too_few(page: Page) -> None:
    values = np.array([1.0, 2.0])[:, None] * np.ones((1, 2, 4))
    assert decided(page, values)[0] == {"best": 0, "close": [1], "few": True}
