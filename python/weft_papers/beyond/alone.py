"""Transports each of which runs alone, under the same loads on one fabric: their claims, tables and bars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl
from matplotlib.figure import Figure as Plot

from weft_papers.figure import Claim, Table
from weft_papers.seed_summary import SeedSummary, means_and_ranges, over_seeds
from weft_papers.style import Style

Ratios = Mapping[str, SeedSummary]
"""Of each transport, by its name, a time over its lower bound."""


@dataclass(frozen=True)
class Alone:
    """The transports of a figure."""

    styles: Mapping[str, Style]
    """Their appearance, by the values of the label `transport`."""

    def listed(self, found: Mapping[str, object]) -> str:
        """Formats a value of each transport, as in "NDP 1.04, AMP x 8 2.1"."""
        return ", ".join(f"{self.styles[name].label} {value}" for name, value in found.items())

    def at_most(self, claim: str, bound: float, found: Ratios, note: str, table: Table) -> Claim:
        """Holds if the mean of each ratio is at most `bound`, and all flows ended."""
        holds = all(ratio.mean <= bound and not ratio.at_least for ratio in found.values())
        return Claim(claim, f"at most {bound} times", self.listed(found), holds, note, table=table)

    def at_least(self, claim: str, bound: float, found: Ratios, note: str) -> Claim:
        """Holds if the mean of each ratio is at least `bound`."""
        holds = all(ratio.mean >= bound for ratio in found.values())
        return Claim(claim, f"at least {bound} times", self.listed(found), holds, note)

    def sooner(self, claim: str, last: str, found: Ratios, note: str, table: Table | None) -> Claim:
        """Holds if the mean of each other transport is below that of `last`, and all its flows ended."""
        others = [ratio for name, ratio in found.items() if name != last]
        holds = all(ratio.mean < found[last].mean and not ratio.at_least for ratio in others)
        return Claim(claim, "sooner", self.listed(found), holds, note, table=table)

    def none(self, claim: str, rows: pl.DataFrame, column: str, names: Iterable[str]) -> Claim:
        """Holds if the column's sum is 0 for each transport."""
        found = {name: int(rows.filter(transport=name)[column].sum()) for name in names}
        return Claim(claim, "0", self.listed(found), not any(found.values()), "over all loads and seeds")

    def table(self, rows: pl.DataFrame, columns: Mapping[str, str]) -> Table:
        """Returns a line per transport with these columns, whose values are the headings."""

        def line(name: str) -> tuple[str, ...]:
            here = rows.filter(transport=name)
            cells = (over_seeds(here, pl.col(column).first()) for column in columns)
            return (self.styles[name].label, *(str(cell) for cell in cells))

        return Table(("transport", *columns.values()), tuple(line(name) for name in self.styles))

    def plot(self, panels: Mapping[str, Iterable[SeedSummary]]) -> Plot:
        """Draws a panel of bars, by its title; each has a value of every transport, with the range of the seeds."""
        plot = Plot(figsize=(3 * len(panels), 3.8), layout="constrained")
        labels = [style.label for style in self.styles.values()]
        colours = [style.colour for style in self.styles.values()]
        for axes, (title, found) in zip(plot.subplots(1, len(panels), sharey=True), panels.items(), strict=True):
            means, reach = means_and_ranges(found)
            axes.barh(labels, means, xerr=reach, color=colours)
            axes.set_xscale("log")
            axes.set_title(title, fontsize="small")
            axes.tick_params(axis="y", labelsize="small")
            axes.grid(visible=True, axis="x", alpha=0.3)
        return plot
