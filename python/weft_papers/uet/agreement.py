"""Bars within which a scenario agrees with its published numbers. They were fixed before the runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from weft_papers.uet.scenario import QUANTITIES, Kind

DIGITS = 6
"""Significant digits of published times."""
ONE_PATH_SEEDS = 10
"""Number of seeds whose range decides on a scenario with one path."""
RETRANSMISSIONS = 0.1
"""Relative tolerance of an incast's retransmissions."""
TOLERANCE = {Kind.INCAST: 0.01, Kind.PERMUTATION: 0.02, Kind.SLOW_LINKS: 0.05}
"""Relative tolerance of the mean of the last completion."""
BARS = {
    Kind.FEW_FLOWS: f"all times, with {DIGITS} digits, and all counters are equal with each seed",
    Kind.INCAST: "the last completion is within 1 %, retransmissions are within 10 %, "
    "and requests to send differ by less than a factor of 10",
    Kind.PERMUTATION: "the last completion is within 2 %",
    Kind.SLOW_LINKS: "the last completion is within 5 %, "
    "and load balancers that differ by more than that are in the published order",
    Kind.ONE_PATH: f"the published last completion is between the least and the largest of {ONE_PATH_SEEDS} seeds",
}
"""The condition of agreement by kind of scenario, besides equal numbers of new packets."""


@dataclass(frozen=True)
class Comparison:
    """The measured and the published quantities of a scenario."""

    kind: Kind
    expected: Mapping[str, float | None]
    """Published values by quantity; None if not given."""
    rows: pl.DataFrame
    """One row per seed, as `scenario.outcome` returns it."""

    def values(self, quantity: str) -> list[float]:
        """Returns the measured values of all seeds in which at least one flow is complete."""
        return [float(value) for value in self.rows[quantity].drop_nulls()]

    def mean(self, quantity: str) -> float:
        """Returns the mean over the seeds, NaN if there is no value."""
        values = self.values(quantity)
        return sum(values) / len(values) if values else math.nan

    @property
    def is_complete(self) -> bool:
        """Returns true if all flows of all seeds are complete."""
        return bool((self.rows["complete"] == self.rows["flows"]).all())

    @property
    def agrees(self) -> bool | None:
        """Returns whether the quantities agree; None if there is nothing to compare, or not enough seeds."""
        last = self.expected["fct_max_us"]
        if last is None or (self.kind is Kind.ONE_PATH and self.rows.height < ONE_PATH_SEEDS):
            return None
        if not self.is_complete or not self._is_equal("new"):
            return False
        match self.kind:
            case Kind.FEW_FLOWS:
                return all(self._is_equal(quantity) for quantity in QUANTITIES)
            case Kind.ONE_PATH:
                values = self.values("fct_max_us")
                return min(values) <= last <= max(values)
            case Kind.INCAST:
                is_near = self._is_near("rtx", RETRANSMISSIONS) and self._has_magnitude("rts")
                return is_near and self._is_near("fct_max_us", TOLERANCE[self.kind])
            case _:
                return self._is_near("fct_max_us", TOLERANCE[self.kind])

    def _is_equal(self, quantity: str) -> bool:
        expected = self.expected[quantity]
        return expected is None or all(float(f"{value:.{DIGITS}g}") == expected for value in self.values(quantity))

    def _is_near(self, quantity: str, tolerance: float) -> bool:
        expected = self.expected[quantity]
        return expected is None or abs(self.mean(quantity) - expected) <= tolerance * expected

    def _has_magnitude(self, quantity: str) -> bool:
        expected = self.expected[quantity]
        return expected is None or 0.1 < (self.mean(quantity) + 1) / (expected + 1) < 10


def is_in_order(one: Comparison, others: Sequence[Comparison]) -> bool:
    """Returns whether the last completion of `one` is on the published side of the others that differ clearly."""
    last, tolerance = one.expected["fct_max_us"], TOLERANCE[Kind.SLOW_LINKS]
    for other in others:
        expected = other.expected["fct_max_us"]
        if last is None or expected is None or abs(expected - last) <= tolerance * min(expected, last):
            continue
        if (other.mean("fct_max_us") - one.mean("fct_max_us")) * (expected - last) <= 0:
            return False
    return True
