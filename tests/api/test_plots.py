"""Plots of sweeps and runs: into given axes, without overlapping texts, with the values of the tables."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

import weft
from weft.errors import UsageError
from weft.plots import axes as talk_axes

EXAMPLES = Path(__file__).parents[2] / "examples"
mpl.use("agg")

Draw = Callable[[weft.Sweep, Axes | None], Figure]


@pytest.fixture(scope="module")
def sweep() -> weft.Sweep:
    """Two algorithms, three numbers of subflows, five seeds."""
    spec = tomllib.loads((EXAMPLES / "permutation.toml").read_text()) | {"duration": "12ms"}
    over = {"transports.sender.cc": ["amp", "lia"], "transports.sender.subflows": [1, 2, 4]}
    return weft.sweep(spec, over=over, seeds=5, workers=2)


@pytest.fixture(scope="module")
def incast() -> weft.Sweep:
    """FCTs of a millisecond and of hundreds, at three seeds."""
    return weft.sweep(EXAMPLES / "incast-amp.toml", over={"transports.sender.cc": ["amp", "xmp"]}, seeds=3, workers=2)


def texts(figure: Figure) -> list[tuple[str, tuple[float, float, float, float]]]:
    """The visible texts of a figure, with their boxes in pixels."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    renderer = canvas.get_renderer()  # type: ignore[no-untyped-call]
    found = []
    for axes in figure.axes:
        low, high = sorted(axes.get_xlim()), sorted(axes.get_ylim())
        ticks = [
            label
            for axis, (least, most) in ((axes.xaxis, low), (axes.yaxis, high))
            for tick, label in zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
            if least - 1e-12 <= tick <= most + 1e-12
        ]
        legend = axes.get_legend()
        own: list[Text] = [*ticks, axes.xaxis.label, axes.yaxis.label, *axes.texts]
        own += [axes.title, axes._left_title, *(legend.get_texts() if legend else [])]  # type: ignore[attr-defined]  # noqa: SLF001
        for text in own:
            if text.get_visible() and text.get_text().strip():
                box = text.get_window_extent(renderer)
                found.append((text.get_text(), (box.x0, box.y0, box.x1, box.y1)))
    return found


def overlapping(figure: Figure) -> list[tuple[str, str]]:
    pairs = combinations(texts(figure), 2)
    return [
        (one, other)
        for (one, a), (other, b) in pairs
        if min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 1
    ]


PLOTS: dict[str, Draw] = {
    "compare": lambda sweep, ax: sweep.plot.compare("min goodput", ax=ax),
    "compare one": lambda sweep, ax: sweep.plot.compare("mean goodput", where={"subflows": 4}, ax=ax),
    "lines": lambda sweep, ax: sweep.plot.lines("min goodput", ax=ax),
    "lines by text": lambda sweep, ax: sweep.plot.lines("jain goodput", x="cc", where={"subflows": 2}, ax=ax),
    "heatmap": lambda sweep, ax: sweep.plot.heatmap("min goodput", ax=ax),
    "cdf": lambda sweep, ax: sweep.plot.cdf("goodput_bps", by="subflows", ax=ax),
    "utilisation": lambda sweep, ax: sweep.plot.utilisation(by="subflows", where={"cc": "amp"}, ax=ax),
}


@pytest.mark.parametrize("name", PLOTS)
def test_texts_do_not_overlap(sweep: weft.Sweep, name: str) -> None:
    figure = PLOTS[name](sweep, None)
    assert overlapping(figure) == []
    (width, height) = figure.get_size_inches() * figure.dpi
    for text, (left, bottom, right, top) in texts(figure):
        assert min(left, bottom) > -1, text
        assert max(right - width, top - height) < 1, text
    assert figure.axes[0].get_xlabel() or figure.axes[0].get_yticklabels()


@pytest.mark.parametrize("name", PLOTS)
def test_plots_are_drawn_into_given_axes(sweep: weft.Sweep, name: str) -> None:
    figure = Figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    assert PLOTS[name](sweep, right) is figure
    assert right.has_data()
    assert not left.has_data()


def test_logarithmic_axes_have_plain_ticks(incast: weft.Sweep) -> None:
    for figure in (incast.plot.compare("mean fct"), incast.plot.cdf(), incast.plot.compare("p99 slowdown")):
        assert overlapping(figure) == []
        shown = [text for text, _ in texts(figure)]
        assert not any("\N{MULTIPLICATION SIGN}" in text or "$" in text or "e-" in text for text in shown)
        ticks = [label.get_text() for label in figure.axes[0].get_xticklabels()]
        assert len(ticks) >= 3


def test_units_follow_the_size(incast: weft.Sweep) -> None:
    assert incast.plot.compare("mean fct").axes[0].get_xlabel() == "mean FCT (ms)"
    fast = weft.sweep(EXAMPLES / "incast-amp.toml", overrides=["traffic[0].size=1KB"], seeds=1, workers=1)
    assert fast.plot.compare("p50 fct").axes[0].get_xlabel() == "p50 FCT (us)"


def test_title_is_the_finding_or_the_given_text(sweep: weft.Sweep, incast: weft.Sweep) -> None:
    def title(figure: Figure) -> str:
        return str(figure.axes[0].get_title(loc="left"))

    assert title(incast.plot.compare("mean fct")) == "amp has the lowest mean FCT (3 seeds)"
    given = sweep.plot.compare("min goodput", by="subflows", title="")
    assert title(given) == ""
    assert title(sweep.plot.lines("min goodput", title="mine")) == "mine"
    where = {"cc": "amp"}
    found = title(sweep.plot.lines("min goodput", where=where))
    assert found.startswith("min goodput rises from ")
    verdict = title(sweep.plot.compare("min goodput", where=where))
    row = sweep.compare(4, 2, "min goodput").filter(cc="amp").row(0, named=True)
    assert ("times higher" in verdict) == (row["low"] > 1)


def test_values_are_those_of_the_summary(sweep: weft.Sweep) -> None:
    summary = sweep.summary("min goodput")
    figure = sweep.plot.heatmap("min goodput")
    drawn = sorted(float(text.get_text()) for text in figure.axes[0].texts)
    assert drawn == pytest.approx(sorted((summary["median"] / 1e9).to_list()), rel=5e-3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda plot: plot.compare("p99 nothing"), "flows has no nothing"),
        (lambda plot: plot.compare(where={"load": 1}), "'load' does not vary; allowed: cc, subflows"),
        (lambda plot: plot.compare(where={"cc": "tcp"}), "allowed: amp, lia"),
        (lambda plot: plot.lines(x="load"), "x: 'load'; allowed: cc, subflows"),
        (lambda plot: plot.utilisation(by="load"), "by: 'load'; allowed: cc, subflows"),
        (lambda plot: plot.heatmap(where={"cc": "amp"}), "1 fields vary"),
        (lambda plot: plot.cdf("load"), "column: 'load'"),
        (lambda plot: plot.fct(), "no flow has a slowdown"),
    ],
)
def test_wrong_plots_have_one_line(sweep: weft.Sweep, call: Callable[[object], object], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        call(sweep.plot)
    assert words in str(caught.value)


def test_ticks_of_logarithmic_axes() -> None:
    for low, high in ((1, 1.3), (0.9, 11), (2, 900), (1e-3, 1e6), (18, 19), (0.0125, 0.0128)):
        ticks = talk_axes.log_ticks(low, high)
        assert 2 <= len(ticks) <= 8
        assert all(low * 0.999 <= tick <= high * 1.001 for tick in ticks)
    assert [talk_axes.plain_number(value) for value in (0.05, 12.5, 20000.0, 0, 1e7)] == [
        "0.05",
        "12.5",
        "20,000",
        "0",
        "1e+07",
    ]


def test_labels_are_moved_apart_as_little_as_possible() -> None:
    assert talk_axes.apart([0, 100], 13) == [0, 100]
    assert talk_axes.apart([50, 50], 10) == [45, 55]
    placed = talk_axes.apart([0, 1, 2, 40], 13)
    assert all(b - a >= 13 - 1e-9 for a, b in pairwise(placed))
    assert sum(placed[:3]) == pytest.approx(3)
