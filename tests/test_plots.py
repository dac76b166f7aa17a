"""Plots of a run show the tables' own values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import weft
from weft.errors import UsageError


@pytest.fixture
def result(spec: Path) -> weft.Result:
    probes = 'probes=[{kind = "flow"}, {kind = "queue", at = ["s0->r0"], every = "10us"}]'
    return weft.run(weft.load(spec, [probes, "transports.dctcp.cc=amp", "transports.dctcp.subflows=2"]))


def test_completion_times(result: weft.Result) -> None:
    (axes,) = result.plot.fct().axes
    (line,) = axes.get_lines()
    times, shares = line.get_data()
    assert np.array_equal(times, np.sort(result.flows["fct_s"]))
    assert np.array_equal(shares, [0.25, 0.5, 0.75, 1.0])
    assert axes.get_legend_handles_labels()[1] == ["incast: 4 of 4"]


def test_windows(result: weft.Result) -> None:
    (axes,) = result.plot.windows(2).axes
    rows = result.traces.filter(flow=2, subflow=0)
    times, windows = axes.get_lines()[0].get_data()
    assert np.array_equal(times, rows["time_s"])
    assert np.array_equal(windows, rows["cwnd_packets"])
    assert len(axes.get_lines()) == 2


def test_queues(result: weft.Result) -> None:
    (axes,) = result.plot.queues().axes
    (line,) = axes.get_lines()
    assert np.array_equal(line.get_ydata(), result.traces["length_packets"].drop_nulls())
    assert axes.get_legend_handles_labels()[1] == ["s0 to r0"]


def test_jain_and_utilisation(result: weft.Result) -> None:
    (axes,) = result.plot.jain().axes
    (bar,) = axes.patches
    assert 0.25 <= bar.get_height() <= 1  # type: ignore[attr-defined]
    (axes,) = result.plot.utilisation().axes
    assert axes.patches


def test_what_is_not_there_is_said(spec: Path) -> None:
    plain = weft.run(spec).plot
    for plot, words in ((plain.windows, "no flow is on record"), (plain.queues, "no queue is sampled")):
        with pytest.raises(UsageError, match=words):
            plot()
    with pytest.raises(UsageError, match=r"'colour' is no column of flows; allowed: .*transport"):
        plain.fct(by="colour")
