"""Plots of a run show the tables' own values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import UsageError
from weft.plots.notebook import NotebookFigure
from weft.slowdown import with_slowdown


@pytest.fixture
def result(spec: Path) -> weft.Result:
    probes = 'probes=[{kind = "flow"}, {kind = "queue", at = ["s0->r0"], interval = "10us"}]'
    return weft.run(weft.load(spec, [probes, "transports.dctcp.cc=amp", "transports.dctcp.subflows=2"]))


def test_completion_times(result: weft.Result) -> None:
    (axes,) = result.plot.fct().axes
    (line,) = axes.get_lines()
    times, shares = line.get_data()
    ends = np.sort(result.flows["fct_s"])
    assert times == pytest.approx(1e6 * np.array([ends[0], *ends, ends[-1]]))
    assert axes.get_xlabel() == "flow completion time (us)"
    assert np.array_equal(shares, [0, 0.25, 0.5, 0.75, 1.0, 1.0])
    assert axes.get_legend_handles_labels()[1] == ["incast: 4 of 4"]


def test_a_notebook_shows_a_plot(result: weft.Result) -> None:
    image, size = result.plot.fct()._repr_png_()  # type: ignore[attr-defined]
    assert image.startswith(b"\x89PNG")
    assert (size["width"], size["height"]) == (700, 400)


def test_windows(result: weft.Result) -> None:
    (axes,) = result.plot.windows(2).axes
    rows = result.traces.filter(flow=2, subflow=0)
    times, windows = axes.get_lines()[0].get_data()
    assert times == pytest.approx(1e6 * rows["time_s"].to_numpy())
    assert axes.get_xlabel() == "time (us)"
    assert np.array_equal(windows, rows["cwnd_packets"])
    assert len(axes.get_lines()) == 2


def test_timeline_covers_the_activity(result: weft.Result) -> None:
    """The run lasts 50 ms, and all flows are over after one."""
    figure = result.plot.timeline(2)
    windows, queues = figure.axes
    rows = result.traces.filter(flow=2)
    assert windows.get_xlim() == pytest.approx((1e6 * rows["time_s"].min(), 1e6 * rows["time_s"].max()))  # type: ignore[operator]
    assert queues.get_lines()
    end = 1e6 * result.flows["finish_s"].max()  # type: ignore[operator]
    assert result.plot.queues().axes[0].get_xlim()[1] == pytest.approx(end)


def test_plots_are_drawn_into_given_axes(result: weft.Result) -> None:
    figure = NotebookFigure()
    for n, axes in enumerate(figure.subplots(2, 4).flat):
        plot = (
            result.plot.fct,
            result.plot.slowdown,
            result.plot.windows,
            result.plot.timeline,
            result.plot.queues,
            result.plot.jain,
            result.plot.utilisation,
            result.plot.fct,
        )[n]
        assert plot(ax=axes, title="mine") is figure
        assert axes.get_title(loc="left") == "mine"
        assert axes.has_data()


def test_queues(result: weft.Result) -> None:
    (axes,) = result.plot.queues().axes
    (line,) = axes.get_lines()
    assert np.array_equal(line.get_ydata(), result.traces["length_packets"].drop_nulls())


def test_jain_and_utilisation(result: weft.Result) -> None:
    (axes,) = result.plot.jain().axes
    (bar,) = axes.patches
    assert 0.25 <= bar.get_width() <= 1  # type: ignore[attr-defined]
    (axes,) = result.plot.utilisation().axes
    assert axes.patches
    # The flows are over after a millisecond of a run of 50.
    drawn = max(bar.get_width() for bar in axes.patches)  # type: ignore[attr-defined]
    assert drawn > 20 * weft.stats.utilisation(result.links)["mean"].max()  # type: ignore[operator]


def test_slowdown(result: weft.Result) -> None:
    (axes,) = result.plot.slowdown().axes
    of_flows = with_slowdown(result)["slowdown"]
    heights = [line.get_ydata()[0] for line in axes.get_lines()]  # type: ignore[index]
    assert heights == pytest.approx([of_flows.quantile(q, interpolation="linear") for q in (0.5, 0.99)])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["10 KB to 100 KB"]


def test_altair_draws_the_same(result: weft.Result) -> None:
    plots = result.plot.altair
    for chart, rows in (
        (plots.fct(), 4),
        (plots.slowdown(), 2),
        (plots.windows(2), len(result.traces.filter(flow=2))),
        (plots.queues(), result.traces["length_packets"].count()),
        (plots.jain(), 1),
        (plots.utilisation(), 2),
    ):
        values = [data for data in _values(chart.to_dict()) if data]
        assert max(map(len, values)) == rows
    times = [row["value"] for row in _values(plots.fct().to_dict())[0]]
    assert times == pytest.approx([1e6 * time for time in sorted(result.flows["fct_s"])])


def _values(part: Any) -> list[list[dict[str, Any]]]:
    """All rows in a chart's specification."""
    if isinstance(part, list):
        return [values for item in part for values in _values(item)]
    if not isinstance(part, dict):
        return []
    own = [part["values"]] if isinstance(part.get("values"), list) else []
    named = list(part.get("datasets", {}).values())
    return own + named + [values for name, value in part.items() if name != "datasets" for values in _values(value)]


def test_plot_without_data_names_the_missing_probe(spec: Path) -> None:
    plain = weft.run(spec).plot
    for plot, words in ((plain.windows, "no flow is recorded"), (plain.queues, "no queue is sampled")):
        with pytest.raises(UsageError, match=words):
            plot()
    with pytest.raises(UsageError, match=r"'colour' is not a column of flows; allowed: .*transport"):
        plain.fct(by="colour")
