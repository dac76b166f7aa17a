"""Plots of one run as Matplotlib figures: `result.plot.fct()`, `result.plot.timeline()` and so on.

A notebook shows the figures, and `savefig` writes them. They show the values of the tables, without smoothing and
without error bars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.measures import RATES, SECONDS, unit_of
from weft.plots import axes as talk_axes
from weft.plots import data
from weft.plots.axes import digits
from weft.plots.data import MAX_LINES

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from weft.api import Result
    from weft.plots.altair_plots import Charts

STRIP = 0.06
"""Height of the strip that shows suppression, as a share of the axes, for each subflow."""
MAX_SHARE = 0.25
"""Largest share of the axes for all strips."""


class Plots:
    """Plots of a run's tables. Each takes `ax` and returns the figure; without `ax` the figure is a new one.

    Times and rates have the unit in which they are short numbers. `title` replaces the title; "" is none.
    """

    def __init__(self, result: Result) -> None:
        self._result = result

    @property
    def altair(self) -> Charts:
        """The same plots as Altair charts."""
        from weft.plots.altair_plots import Charts

        return Charts(self._result)

    def fct(self, by: str = "class", *, ax: Axes | None = None, title: str | None = None) -> Figure:
        """Draws the distribution of flow completion times, one line per group, exact as steps.

        Flows that did not end are left out; the legend has the number of flows that ended, and of all flows.

        Args:
            by: Column of `flows` that defines the groups, such as `class`, `transport` or `traffic`.
            ax: The axes.
            title: The title.

        Raises:
            UsageError: There is no such column, or no flow has ended.
        """
        steps = data.fct(self._result.flows, by)
        size, unit = unit_of(steps["value"].to_list(), SECONDS)
        own_ax = _axes(ax, f"flow completion time ({unit})", "share of flows")
        low, high = (float(value) / size for value in (steps["value"].min(), steps["value"].max()))  # type: ignore[arg-type]
        for n, ((name,), group) in enumerate(steps.group_by("group", maintain_order=True)):
            xs, ys = (group["value"] / size).to_list(), group["fraction"].to_list()
            own_ax.step([xs[0], *xs, high], [0, *ys, ys[-1]], where="post", label=str(name), color=talk_axes.colour(n))
        if high > 3 * low:
            talk_axes.set_log(own_ax.xaxis, low, high, room=0.02)
        own_ax.set_ylim(0, 1.02)
        own_ax.legend(frameon=False)
        return talk_axes.titled(own_ax, title, "Flow completion times")

    def slowdown(self, by: str = "transport", *, ax: Axes | None = None, title: str | None = None) -> Figure:
        """Draws the median and 99th percentile of the FCT slowdown by size of flow, a line each for every group.

        A flow that the run's end cut off counts with the time it had taken. Where a percentile could therefore be
        higher, its mark is an open triangle.

        Args:
            by: Column of `flows` that tells groups apart.
            ax: The axes.
            title: The title.

        Raises:
            UsageError: There is no such column, or no flow has a size.
        """
        rows = data.slowdown(self._result.flows, by)
        own_ax = _axes(ax, "size of flow", "FCT over that on an idle path")
        sizes = dict(rows.select("size_index", "size").unique().sort("size_index").iter_rows())
        at = {index: n for n, index in enumerate(sizes)}
        groups = rows["group"].unique(maintain_order=True).to_list()
        for (group, percentile), line in rows.group_by("group", "percentile", maintain_order=True):
            xs = [at[index] for index in line["size_index"]]
            colour = talk_axes.colour(groups.index(group))
            style = "-" if percentile == "p50" else "--"
            own_ax.plot(xs, line["value"], style, marker="o", label=f"{group}, {percentile}", color=colour)
            higher = [(x, y) for x, y, more in zip(xs, line["value"], line["at_least"], strict=True) if more]
            if higher:
                own_ax.plot(*zip(*higher, strict=True), "^", ms=10, mfc="none", mec=colour)
        own_ax.set_xticks(range(len(sizes)), list(sizes.values()))
        talk_axes.set_log(own_ax.yaxis, *_range(rows["value"]))
        own_ax.legend(frameon=False)
        return talk_axes.titled(own_ax, title, "Slowdown by size of flow")

    def windows(self, flow: int | None = None, *, ax: Axes | None = None, title: str | None = None) -> Figure:
        """Draws congestion windows over time, one line per subflow; strips at the bottom show suppression.

        Args:
            flow: Index of a recorded flow; by default the first one.
            ax: The axes.
            title: The title.

        Raises:
            UsageError: No probe `flow` has recorded this flow.
        """
        chosen, traced = data.windows(self._result.traces, flow)
        size, unit = _span_unit(*_range(traced["time_s"]))
        own_ax = _axes(ax, f"time ({unit})", "cwnd (packets)")
        self._draw_windows(own_ax, traced, size)
        return talk_axes.titled(own_ax, title, _suppressions(chosen, traced))

    def rates(self, flow: int | None = None, *, ax: Axes | None = None, title: str | None = None) -> Figure:
        """Draws the sending rate over time of a flow whose congestion control sets one, such as DCQCN.

        Args:
            flow: Index of a recorded flow; by default the first one.
            ax: The axes.
            title: The title.

        Raises:
            UsageError: No probe `flow` has recorded a rate of this flow.
        """
        chosen, rows = data.rates(self._result.traces, flow)
        size, unit = _span_unit(*_range(rows["time_s"]))
        rate, rate_unit = unit_of(rows["rate_bps"].to_list(), RATES)
        own_ax = _axes(ax, f"time ({unit})", f"rate ({rate_unit})")
        own_ax.step(rows["time_s"] / size, rows["rate_bps"] / rate, where="post", color=talk_axes.colour(0))
        own_ax.set_ylim(bottom=0)
        return talk_axes.titled(own_ax, title, f"Flow {chosen}")

    def throughput(self, by: str = "flow", *, ax: Axes | None = None, title: str | None = None) -> Figure:
        """Draws goodput over time, one line per group: application bytes that arrived in each interval.

        Args:
            by: Column of `flows` that tells groups apart, such as `flow` or `transport`.
            ax: The axes.
            title: The title.

        Raises:
            UsageError: There is no such column, no probe `throughput`, or there are too many groups to distinguish.
        """
        rows = data.throughput(self._result.throughput, self._result.flows, by)
        data.check_lines(rows, "throughput", "group", "groups")
        size, unit = _span_unit(*_range(rows["time_s"]))
        rate, rate_unit = unit_of(rows["goodput_bps"].to_list(), RATES)
        own_ax = _axes(ax, f"time ({unit})", f"goodput ({rate_unit})")
        lines = []
        for n, ((group,), line) in enumerate(rows.group_by("group", maintain_order=True)):
            times, values = line["time_s"] / size, line["goodput_bps"] / rate
            (drawn,) = own_ax.step(times, values, where="pre", color=talk_axes.colour(n))
            lines.append((drawn, str(group)))
        own_ax.set_ylim(bottom=0)
        talk_axes.end_labels(own_ax, lines, by)
        return talk_axes.titled(own_ax, title, "Goodput over time")

    def queues(self, *, ax: Axes | None = None, title: str | None = None) -> Figure:
        """Draws lengths of queues over time, one line per link that a probe with an `interval` samples.

        The time axis ends with the last flow.

        Args:
            ax: The axes.
            title: The title.

        Raises:
            UsageError: No queue is sampled, or there are too many to distinguish.
        """
        sampled = data.queues(self._result.traces, self._result.links)
        data.check_lines(sampled, "queues", "link", "links")
        span = data.active_span(self._result)
        size, unit = _span_unit(*span)
        own_ax = _axes(ax, f"time ({unit})", "queue (packets)")
        self._draw_queues(own_ax, sampled, size)
        own_ax.set_xlim(span[0] / size, span[1] / size)
        finding = f"Longest queue: {digits(float(sampled['length_packets'].max()))} packets"  # type: ignore[arg-type]
        return talk_axes.titled(own_ax, title, finding)

    def timeline(self, flow: int | None = None, *, ax: Axes | None = None, title: str | None = None) -> Figure:
        """Draws a flow and the network over time: windows with suppression as strips, and sampled queues below.

        The time axis is that of the flow's records. With `ax` only the windows are drawn.

        Args:
            flow: Index of a recorded flow; by default the first one.
            ax: The axes.
            title: The title.

        Raises:
            UsageError: No probe `flow` has recorded this flow.
        """
        if ax is not None:
            return self.windows(flow, ax=ax, title=title)
        from weft.plots.notebook import NotebookFigure

        chosen, traced = data.windows(self._result.traces, flow)
        low, high = _range(traced["time_s"])
        size, unit = _span_unit(low, high)
        sampled = None
        if self._result.traces["length_packets"].count():
            sampled = data.queues(self._result.traces, self._result.links)
            sampled = sampled if sampled["queue"].n_unique() <= MAX_LINES else None
        figure = NotebookFigure(figsize=(7.0, 4.0 if sampled is None else 6.0), layout="constrained")
        grid = figure.subplots(1 if sampled is None else 2, 1, sharex=True, squeeze=False)
        panels: list[Axes] = list(grid[:, 0])
        talk_axes.plain_style(panels[0])
        panels[0].set_ylabel("cwnd (packets)")
        self._draw_windows(panels[0], traced, size)
        if sampled is not None:
            talk_axes.plain_style(panels[1])
            panels[1].set_ylabel("queue (packets)")
            self._draw_queues(panels[1], sampled, size)
        panels[-1].set(xlabel=f"time ({unit})", xlim=(low / size, high / size))
        return talk_axes.titled(panels[0], title, _suppressions(chosen, traced))

    def jain(self, by: str = "transport", *, ax: Axes | None = None, title: str | None = None) -> Figure:
        """Draws Jain's fairness index of the flows' goodputs, one bar a group, with its value.

        Args:
            by: Column of `flows` that tells groups apart.
            ax: The axes.
            title: The title.

        Raises:
            UsageError: There is no such column, or no flow has a goodput.
        """
        rows = data.jain(self._result.flows, by)
        own_ax = talk_axes.plain_axes(ax, size=(7.0, 1.2 + 0.4 * rows.height), grid="x")
        places = range(rows.height)
        own_ax.barh(places, rows["jain"], 0.6, color=[talk_axes.colour(n) for n in places])
        for n, value in enumerate(rows["jain"]):
            own_ax.annotate(f"{value:.3f}", (value, n), xytext=(3, 0), textcoords="offset points", va="center")
        own_ax.set_yticks(places, rows["group"].to_list())
        own_ax.invert_yaxis()
        own_ax.set(xlim=(0, 1.12), xlabel="Jain's index of goodputs")
        return talk_axes.titled(own_ax, title, "")

    def utilisation(self, *, ax: Axes | None = None, title: str | None = None) -> Figure:
        """Draws the utilisation of each stage of the network while flows were open, and its links' range.

        Args:
            ax: The axes.
            title: The title.
        """
        from matplotlib.ticker import PercentFormatter

        rows = data.utilisation(data.active_links(self._result)).drop_nulls("mean")
        stages = rows["stage"].to_list()
        own_ax = talk_axes.plain_axes(ax, size=(7.0, 1.4 + 0.4 * len(stages)), grid="x")
        own_ax.barh(range(len(stages)), rows["mean"], 0.6, color=talk_axes.colour(0))
        for n, row in enumerate(rows.iter_rows(named=True)):
            own_ax.plot([row["min"], row["max"]], [n, n], color="black", linewidth=1.5)
            text = f"{digits(100 * row['mean'])} %"
            own_ax.annotate(
                text, (max(row["mean"], row["max"]), n), xytext=(4, 0), textcoords="offset points", va="center"
            )
        own_ax.set_yticks(range(len(stages)), stages)
        own_ax.invert_yaxis()
        own_ax.xaxis.set_major_formatter(PercentFormatter(1))
        largest = max((value for value in rows["max"] if value is not None), default=1.0)
        own_ax.set_xlim(0, max(1.18 * largest, 0.01))
        own_ax.set_xlabel("utilisation while flows were open; lines: least and most used link")
        return talk_axes.titled(own_ax, title, "")

    @staticmethod
    def _draw_windows(ax: Axes, traced: pl.DataFrame, size: float) -> None:
        """Draws windows, and below them a strip per subflow where it is suppressed."""
        spans = data.suppressed(traced)
        lines = []
        names = traced["subflow"].unique(maintain_order=True).sort().to_list()
        height = min(STRIP, MAX_SHARE / len(names))
        for n, subflow in enumerate(names):
            rows = traced.filter(subflow=subflow)
            colour = talk_axes.colour(n)
            times, windows = rows["time_s"] / size, rows["cwnd_packets"]
            (line,) = ax.step(times, windows, where="post", color=colour, linewidth=1.4)
            lines.append((line, str(subflow)))
            for start, end in spans.filter(subflow=subflow).select("from_s", "to_s").iter_rows():
                where: dict[str, Any] = {"ymin": n * height, "ymax": (n + 0.8) * height}
                ax.axvspan(start / size, end / size, **where, color=colour, linewidth=0)
        ax.set_ylim(bottom=0)
        if spans.height:
            # Windows stand above the strips.
            top = ax.get_ylim()[1]
            share = len(names) * height
            ax.set_ylim(-top * share / (1 - share), top)
            ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= top])
        talk_axes.end_labels(ax, lines)

    @staticmethod
    def _draw_queues(ax: Axes, sampled: pl.DataFrame, size: float) -> None:
        lines = []
        for n, ((queue,), rows) in enumerate(sampled.group_by("queue", maintain_order=True)):
            times, lengths = rows["time_s"] / size, rows["length_packets"]
            (line,) = ax.step(times, lengths, where="post", color=talk_axes.colour(n), linewidth=1.2)
            lines.append((line, str(queue)))
        ax.set_ylim(bottom=0)
        if len(lines) > 1:
            ax.legend([line for line, _ in lines], [name for _, name in lines], frameon=False, fontsize="small")


def _axes(ax: Axes | None, x: str, y: str) -> Axes:
    own_ax = talk_axes.plain_axes(ax)
    own_ax.set(xlabel=x, ylabel=y)
    return own_ax


def _suppressions(flow: int, traced: pl.DataFrame) -> str:
    """Returns a title: the flow, and how often its subflows were suppressed."""
    times = data.suppressed(traced).height
    return f"Flow {flow}" + (f": {times} times suppressed" if times else "")


def _range(values: pl.Series) -> tuple[float, float]:
    return float(values.min()), float(values.max())  # type: ignore[arg-type]


def _span_unit(low: float, high: float) -> tuple[float, str]:
    """Returns the unit in which the ends of a span of time are short numbers, and its size."""
    return unit_of([max(high, 1e-12)], SECONDS) if high > low else unit_of([max(high, 1e-6)], SECONDS)
