"""Plots of one run: `result.plot.fct()`, `result.plot.windows()` and so on.

Each returns a Matplotlib figure, which a notebook shows and `savefig` writes. What is drawn are the tables' own values:
no smoothing, no error bars that nobody measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from weft import statistics
from weft.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from weft.api import Result

MOST_LINES = 20
"""More lines in one plot are told apart by nobody."""


class Plots:
    """Plots of a run's tables."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def fct(self, by: str = "class") -> Figure:
        """Distribution of flow completion times, one line a group, exact as steps; time is logarithmic.

        Flows that did not end are not in it; the legend says how many of how many did.

        Args:
            by: Column of `flows` that tells groups apart, such as `class`, `transport` or `traffic`.

        Raises:
            UsageError: There is no such column, or no flow has ended.
        """
        flows = self._rows("flows", by)
        ended = flows.drop_nulls("fct_s")
        if ended.is_empty():
            raise UsageError("plot.fct: no flow has ended; allowed: a run in which one does")
        figure, axes = _figure("flow completion time (s)", "share of flows")
        steps = statistics.cdf(ended, "fct_s", by=by)
        for key, group in steps.group_by(by, maintain_order=True):
            (name,) = map(str, key)
            counts = [len(rows.filter(pl.col(by).cast(pl.String) == name)) for rows in (ended, flows)]
            axes.step(group["value"], group["fraction"], where="post", label=f"{name}: {counts[0]:,} of {counts[1]:,}")
        axes.set_xscale("log")
        axes.set_ylim(0, 1.02)
        return _finished(figure, axes)

    def windows(self, flow: int | None = None) -> Figure:
        """Congestion windows over time, one line a subflow, each shaded while it is suppressed.

        Args:
            flow: Index of a flow on record; the first one unless given.

        Raises:
            UsageError: No probe `flow` has put that flow on record.
        """
        traced = self._result.traces.drop_nulls("cwnd_packets")
        if traced.is_empty():
            raise UsageError('plot.windows: no flow is on record; allowed: a run with a probe of kind "flow"')
        chosen = int(traced["flow"][0]) if flow is None else flow
        traced = traced.filter(pl.col("flow") == chosen)
        if traced.is_empty():
            raise UsageError(f"plot.windows: flow {chosen} is not on record; allowed: flows with a probe")
        figure, axes = _figure("time (s)", "cwnd (packets)", f"flow {chosen}")
        for (subflow,), rows in traced.group_by("subflow", maintain_order=True):
            (line,) = axes.step(rows["time_s"], rows["cwnd_packets"], where="post", label=f"subflow {subflow}")
            axes.fill_between(
                rows["time_s"],
                rows["cwnd_packets"],
                where=(~rows["active"]).to_numpy(),
                step="post",
                color=line.get_color(),
                alpha=0.25,
                linewidth=0,
            )
        return _finished(figure, axes)

    def queues(self) -> Figure:
        """Lengths of queues over time, one line a link that a probe with `every` samples.

        Raises:
            UsageError: None is sampled, or too many to be told apart.
        """
        sampled = self._result.traces.drop_nulls("length_packets")
        if sampled.is_empty():
            raise UsageError('plot.queues: no queue is sampled; allowed: a run with a probe of kind "queue" with every')
        links = sampled["link"].n_unique()
        if links > MOST_LINES:
            raise UsageError(f"plot.queues: {links} links; allowed: at most {MOST_LINES} in a plot")
        names = {row["link"]: f"{row['from']} to {row['to']}" for row in self._result.links.iter_rows(named=True)}
        figure, axes = _figure("time (s)", "queue (packets)")
        for (link,), rows in sampled.group_by("link", maintain_order=True):
            axes.step(rows["time_s"], rows["length_packets"], where="post", label=names.get(link, str(link)))
        axes.set_ylim(bottom=0)
        return _finished(figure, axes)

    def jain(self, by: str = "transport") -> Figure:
        """Jain's fairness index of the flows' goodputs, one bar a group.

        Args:
            by: Column of `flows` that tells groups apart.

        Raises:
            UsageError: There is no such column, or no flow has a goodput.
        """
        flows = self._rows("flows", by).drop_nulls("goodput_bps")
        if flows.is_empty():
            raise UsageError("plot.jain: no flow has a goodput; allowed: a run in which one does")
        rows = flows.group_by(by).agg(jain=statistics.jain("goodput_bps")).sort(by)
        figure, axes = _figure(by, "Jain's index of goodputs")
        axes.bar([str(name) for name in rows[by]], rows["jain"])
        axes.set_ylim(0, 1)
        return figure

    def utilisation(self) -> Figure:
        """Utilisation of each stage of the network: the share of its capacity that was in use, and its links' range."""
        links = self._result.links
        rows = statistics.utilisation(links)
        labels = [f"{row['stage']} {row['direction'] or ''}".strip() for row in rows.iter_rows(named=True)]
        figure, axes = _figure("", "utilisation")
        axes.bar(labels, rows["mean"].fill_null(0.0))
        spread = [rows["mean"] - rows["min"], rows["max"] - rows["mean"]]
        axes.errorbar(
            labels, rows["mean"], yerr=spread, fmt="none", ecolor="black", capsize=3, label="least and most used link"
        )
        axes.set_ylim(0, 1)
        axes.tick_params("x", rotation=20)
        return _finished(figure, axes)

    def _rows(self, table: str, by: str) -> pl.DataFrame:
        rows = self._result.tables[table]
        if by not in rows.columns:
            raise UsageError(f"by: {by!r} is no column of {table}; allowed: {', '.join(rows.columns)}")
        return rows


def _figure(x: str, y: str, title: str = "") -> tuple[Figure, Axes]:
    # Not by pyplot, which would keep every figure open.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot(xlabel=x, ylabel=y, title=title)
    axes.grid(visible=True, alpha=0.3)
    return figure, axes


def _finished(figure: Figure, axes: Axes) -> Figure:
    axes.legend(frameon=False)
    return figure
