"""Plots of one run as Matplotlib figures: `result.plot.fct()`, `result.plot.windows()` and so on.

A notebook shows the figures, and `savefig` writes them. They show the values of the tables, without smoothing and
without error bars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.errors import UsageError
from weft.plots import data
from weft.plots.data import MAX_LINES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from weft.api import Result
    from weft.plots.altair_plots import Charts
    from weft.plots.notebook import NotebookFigure


class Plots:
    """Plots of a run's tables."""

    def __init__(self, result: Result) -> None:
        self._result = result

    @property
    def altair(self) -> Charts:
        """The same plots as Altair charts."""
        from weft.plots.altair_plots import Charts

        return Charts(self._result)

    def fct(self, by: str = "class") -> Figure:
        """Distribution of flow completion times, one line per group, exact as steps; time is logarithmic.

        Flows that did not end are left out; the legend has the number of flows that ended, and of all flows.

        Args:
            by: Column of `flows` that defines the groups, such as `class`, `transport` or `traffic`.

        Raises:
            UsageError: There is no such column, or no flow has ended.
        """
        steps = data.fct(self._result.flows, by)
        figure, axes = _figure("flow completion time (s)", "share of flows")
        for (name,), group in steps.group_by("group", maintain_order=True):
            axes.step(group["value"], group["fraction"], where="post", label=str(name))
        axes.set_xscale("log")
        axes.set_ylim(0, 1.02)
        return _finished(figure, axes)

    def slowdown(self, by: str = "transport") -> Figure:
        """Median and 99th percentile of the FCT slowdown by size of flow, a line each for every group.

        A flow that the run's end cut off counts with the time it had taken. Where a percentile could therefore be
        higher, its mark is an open triangle.

        Args:
            by: Column of `flows` that tells groups apart.

        Raises:
            UsageError: There is no such column, or no flow has a size.
        """
        rows = data.slowdown(self._result.flows, by)
        figure, axes = _figure("size of flow", "FCT over that on an idle path")
        sizes = dict(rows.select("size_index", "size").unique().sort("size_index").iter_rows())
        at = {index: n for n, index in enumerate(sizes)}
        for (group, percentile), line in rows.group_by("group", "percentile", maintain_order=True):
            xs = [at[index] for index in line["size_index"]]
            style = "-" if percentile == "p50" else "--"
            (drawn_line,) = axes.plot(xs, line["value"], style, marker="o", label=f"{group}, {percentile}")
            higher = [(x, y) for x, y, more in zip(xs, line["value"], line["at_least"], strict=True) if more]
            if higher:
                axes.plot(*zip(*higher, strict=True), "^", ms=10, mfc="none", mec=drawn_line.get_color())
        axes.set_xticks(range(len(sizes)), list(sizes.values()))
        axes.set_yscale("log")
        return _finished(figure, axes)

    def windows(self, flow: int | None = None) -> Figure:
        """Congestion windows over time, one line per subflow, each shaded while it is suppressed.

        Args:
            flow: Index of a recorded flow; by default the first one.

        Raises:
            UsageError: No probe `flow` has recorded this flow.
        """
        chosen, traced = data.windows(self._result.traces, flow)
        spans = data.suppressed(traced)
        figure, axes = _figure("time (s)", "cwnd (packets)", f"flow {chosen}")
        for (subflow,), rows in traced.group_by("subflow", maintain_order=True):
            (line,) = axes.step(rows["time_s"], rows["cwnd_packets"], where="post", label=str(subflow))
            for start, end in spans.filter(subflow=subflow).select("from_s", "to_s").iter_rows():
                axes.axvspan(start, end, color=line.get_color(), alpha=0.15, linewidth=0)
        return _finished(figure, axes)

    def rates(self, flow: int | None = None) -> Figure:
        """Sending rate over time of a flow whose congestion control sets one, such as DCQCN.

        Args:
            flow: Index of a recorded flow; by default the first one.

        Raises:
            UsageError: No probe `flow` has recorded a rate of this flow.
        """
        chosen, rows = data.rates(self._result.traces, flow)
        figure, axes = _figure("time (s)", "rate (Gbps)", f"flow {chosen}")
        axes.step(rows["time_s"], rows["rate_bps"] * 1e-9, where="post")
        axes.set_ylim(bottom=0)
        return figure

    def throughput(self, by: str = "flow") -> Figure:
        """Goodput over time, one line per group: application bytes that arrived in each interval.

        Args:
            by: Column of `flows` that tells groups apart, such as `flow` or `transport`.

        Raises:
            UsageError: There is no such column, no probe `throughput`, or there are too many groups to distinguish.
        """
        rows = data.throughput(self._result.throughput, self._result.flows, by)
        groups = rows["group"].n_unique()
        if groups > MAX_LINES:
            raise UsageError(f"plot.throughput: {groups} groups; allowed: at most {MAX_LINES} in a plot")
        figure, axes = _figure("time (s)", "goodput (Gbps)")
        for (group,), line in rows.group_by("group", maintain_order=True):
            axes.step(line["time_s"], line["goodput_bps"] * 1e-9, where="pre", label=f"{by} {group}")
        axes.set_ylim(bottom=0)
        return _finished(figure, axes)

    def queues(self) -> Figure:
        """Lengths of queues over time, one line per link that a probe with an `interval` samples.

        Raises:
            UsageError: No queue is sampled, or there are too many to distinguish.
        """
        sampled = data.queues(self._result.traces, self._result.links)
        links = sampled["link"].n_unique()
        if links > MAX_LINES:
            raise UsageError(f"plot.queues: {links} links; allowed: at most {MAX_LINES} in a plot")
        figure, axes = _figure("time (s)", "queue (packets)")
        for (queue,), rows in sampled.group_by("queue", maintain_order=True):
            axes.step(rows["time_s"], rows["length_packets"], where="post", label=str(queue))
        axes.set_ylim(bottom=0)
        return _finished(figure, axes)

    def jain(self, by: str = "transport") -> Figure:
        """Jain's fairness index of the flows' goodputs, one bar a group.

        Args:
            by: Column of `flows` that tells groups apart.

        Raises:
            UsageError: There is no such column, or no flow has a goodput.
        """
        rows = data.jain(self._result.flows, by)
        figure, axes = _figure(by, "Jain's index of goodputs")
        axes.bar(rows["group"].to_list(), rows["jain"])
        axes.set_ylim(0, 1)
        return figure

    def utilisation(self) -> Figure:
        """Utilisation of each stage of the network: the share of its capacity that was in use, and its links' range."""
        from matplotlib.ticker import PercentFormatter

        rows = data.utilisation(self._result.links)
        stages = rows["stage"].to_list()
        figure, axes = _figure("", "utilisation")
        axes.bar(stages, rows["mean"].fill_null(0.0))
        spread = [rows["mean"] - rows["min"], rows["max"] - rows["mean"]]
        axes.errorbar(
            stages, rows["mean"], yerr=spread, fmt="none", ecolor="black", capsize=3, label="least and most used link"
        )
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.tick_params("x", rotation=20)
        return _finished(figure, axes)


def _figure(x: str, y: str, title: str = "") -> tuple[NotebookFigure, Axes]:
    # Not by pyplot, which would keep every figure open.
    from weft.plots.notebook import NotebookFigure

    figure = NotebookFigure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot(xlabel=x, ylabel=y, title=title)
    axes.grid(visible=True, alpha=0.3)
    return figure, axes


def _finished(figure: Figure, axes: Axes) -> Figure:
    axes.legend(frameon=False)
    return figure
