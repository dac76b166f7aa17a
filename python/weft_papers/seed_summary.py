"""A statistic over several seeds: its mean and its range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from weft.stats import digits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes


@dataclass(frozen=True)
class SeedSummary:
    """A statistic with one value per seed."""

    values: tuple[float, ...]
    """One value per seed; at least one value."""
    unit: str = ""
    at_least: bool = False
    """Whether the true value may be higher, because runs ended before the measured event."""
    at_most: bool = False
    """Whether the true value may be lower, because runs ended before the measured event."""

    @property
    def mean(self) -> float:
        """Returns the mean over the seeds."""
        return sum(self.values) / len(self.values)

    def near(self, value: float, tolerance: float) -> bool:
        """Returns true if the mean differs from `value` by at most the fraction `tolerance` of it.

        A mean that may be higher or lower is never near a value.
        """
        return not (self.at_least or self.at_most) and abs(self.mean - value) <= tolerance * value

    def __truediv__(self, other: SeedSummary) -> SeedSummary:
        """Divides seed by seed."""
        ratios = tuple(a / b for a, b in zip(self.values, other.values, strict=True))
        return SeedSummary(ratios, at_least=self.at_least or other.at_most, at_most=self.at_most or other.at_least)

    def __str__(self) -> str:
        """Formats the mean and range, as in "1.87 ms (1.86 to 1.88)"; a single seed has no range.

        If the mean may be higher, "at least" precedes it.
        """
        mean = f"{self._bounds()}{digits(self.mean)} {self.unit}".strip()
        low, high = digits(min(self.values)), digits(max(self.values))
        return mean if low == high else f"{mean} ({low} to {high})"

    def _bounds(self) -> str:
        if self.at_least and self.at_most:
            return "unsettled, about "
        return "at least " if self.at_least else "at most " if self.at_most else ""


def means_and_ranges(summaries: Iterable[SeedSummary]) -> tuple[list[float], tuple[list[float], list[float]]]:
    """Returns the means and, for error bars, how far the values reach below and above them."""
    found = list(summaries)
    # Rounding may put a mean just outside of equal values.
    below = [max(0.0, summary.mean - min(summary.values)) for summary in found]
    above = [max(0.0, max(summary.values) - summary.mean) for summary in found]
    return [summary.mean for summary in found], (below, above)


def plot_with_band(
    axes: Axes,
    xs: Sequence[float],
    summaries: Iterable[SeedSummary],
    colour: str,
    *,
    alpha: float = 0.15,
    **line: Any,  # noqa: ANN401 - what Matplotlib takes
) -> None:
    """Draws the means as a line, and the range of the seeds as a band of that opacity."""
    found = list(summaries)
    axes.plot(xs, [summary.mean for summary in found], color=colour, **line)
    low, high = ([edge(summary.values) for summary in found] for edge in (min, max))
    axes.fill_between(xs, low, high, color=colour, alpha=alpha, linewidth=0)


def over_seeds(rows: pl.DataFrame, statistic: pl.Expr, unit: str = "") -> SeedSummary:
    """Returns a statistic of the rows of each seed, in the order of the seeds.

    Args:
        rows: At least one row, with a column `seed`.
        statistic: An aggregation, such as `pl.col("fct_ms").mean()`.
        unit: Unit of the statistic.
    """
    by_seed = rows.group_by("seed").agg(statistic.cast(pl.Float64).alias("value")).sort("seed")
    return SeedSummary(tuple(by_seed["value"].to_list()), unit)


def percentile(
    rows: pl.DataFrame, column: str, percent: float, unit: str = "", *, at_least: str | pl.Expr | None = None
) -> SeedSummary:
    """Returns a percentile of each seed.

    Args:
        rows: At least one row, with a column `seed`.
        column: Column of the values.
        percent: A number from 0 to 100.
        unit: Unit of the values.
        at_least: Lower bounds for rows without a value, as in `weft.stats.percentiles`.
    """
    from weft import stats

    by_seed = stats.percentiles(rows, column, [percent], by="seed", at_least=at_least)
    higher = at_least is not None and bool(by_seed[f"p{percent:g}_is_lower_bound"].any())
    return SeedSummary(tuple(by_seed[f"p{percent:g}"].to_list()), unit, at_least=higher)


def listed(items: Iterable[tuple[str, SeedSummary]]) -> str:
    """Formats named statistics, as in `DCM 610 ms (590 to 640), XMP 540 ms (520 to 560)`."""
    return ", ".join(f"{name} {spread}".strip() for name, spread in items)
