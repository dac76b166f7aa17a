"""Axes for talks: units by size, readable logarithmic ticks, labels at the ends of lines, colours for all eyes."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.transforms import Transform

COLOURS = ("#3349fe", "#fb4817", "#799386", "#b278c1", "#b8593d", "#a82ebf", "#3792fe", "#725f7a")
"""Colours of categories, which also differ for readers with protanopia, deuteranopia and tritanopia."""
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")
MAX_END_LABELS = 8
"""Maximum number of lines with labels at their ends; more have a legend."""
LINE_HEIGHT = 13.0
"""Least distance of two labels in points."""
POINTS_PER_CHARACTER = 6.6
"""Mean width of a character of a title."""
LOG_RATIO = 10.0
"""Ratio of the largest and smallest value from which on an axis is logarithmic."""


def axes_of(ax: Axes | None, *, size: tuple[float, float] = (7.0, 4.0)) -> Axes:
    """Returns the given axes, or those of a new figure that a notebook shows."""
    if ax is not None:
        return ax
    from weft.plots.notebook import NotebookFigure

    return NotebookFigure(figsize=size, layout="constrained").add_subplot()


def plain_axes(ax: Axes | None, *, size: tuple[float, float] = (7.0, 4.0), grid: str = "y") -> Axes:
    """Returns the given axes, or those of a new figure, in the plain style."""
    own_ax = axes_of(ax, size=size)
    plain_style(own_ax, grid=grid)
    return own_ax


def figure_of(ax: Axes) -> Figure:
    """Returns the figure of axes."""
    figure = ax.get_figure(root=True)
    assert figure is not None  # noqa: S101 - the axes are drawn in one
    return figure


def plain_style(ax: Axes, *, grid: str = "y") -> None:
    """Removes what does not carry data: the frame above and on the right, and all but faint lines of the grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, axis=grid, alpha=0.25, linewidth=0.8)  # type: ignore[arg-type]
    ax.set_axisbelow(True)


def colour(index: int) -> str:
    """Returns the colour of a category."""
    return COLOURS[index % len(COLOURS)]


def marker(index: int) -> str:
    """Returns the mark of a category, so that a ninth one with the colour of the first differs from it."""
    return MARKERS[(index + index // len(COLOURS)) % len(MARKERS)]


def shifted(ax: Axes, points: float) -> Transform:
    """Returns the transformation of data that shifts them to the right by some points."""
    from matplotlib.transforms import ScaledTranslation

    return ax.transData + ScaledTranslation(points / 72, 0, figure_of(ax).dpi_scale_trans)


def titled(ax: Axes, given: str | None, finding: str) -> Figure:
    """Sets a title: what the caller gave, or else what the plot shows; an empty one is none. Returns the figure."""
    figure, text = figure_of(ax), finding if given is None else given
    if text:
        width = ax.get_position().width * figure.get_figwidth() * 72 / POINTS_PER_CHARACTER
        ax.set_title(textwrap.fill(text, max(20, int(width))), loc="left", fontsize="medium", fontweight="bold")
    return figure


def wants_log(values: Sequence[float]) -> bool:
    """Returns whether values are positive and differ by more than a factor of ten."""
    positive = [value for value in values if value > 0]
    return bool(positive) and len(positive) == len(values) and max(positive) > LOG_RATIO * min(positive)


def set_log(axis: Axis, low: float, high: float, *, room: float = 0.06) -> None:
    """Makes an axis logarithmic, with three to eight plain numbers as ticks and a little room at its ends.

    Args:
        axis: The axis.
        low: The smallest value, above 0.
        high: The largest value.
        room: Part of the axis that is left free at each end.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    spread = max(math.log(high / low), 0.05)
    low, high = low * math.exp(-room * spread), high * math.exp(room * spread)
    across = axis is axis.axes.xaxis
    limits = axis.axes.set_xlim if across else axis.axes.set_ylim
    scale = axis.axes.set_xscale if across else axis.axes.set_yscale
    scale("log")
    limits(low, high)
    axis.set_major_locator(FixedLocator(log_ticks(low, high)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value)))


def log_ticks(low: float, high: float) -> list[float]:
    """Returns three to eight round numbers between two positive ones, for a logarithmic axis."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for digits in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)):
        ticks = [digit * 10.0**power for power in range(first, last + 1) for digit in digits]
        within = [tick for tick in ticks if low <= tick * (1 + 1e-9) and tick <= high * (1 + 1e-9)]
        if len(within) > 8:
            step = math.ceil(len(within) / 8)
            return within[::step]
        if len(within) >= 3:
            return within
    from matplotlib.ticker import MaxNLocator

    return [float(tick) for tick in MaxNLocator(5).tick_values(low, high) if low <= tick <= high]


def plain_number(value: float) -> str:
    """Returns a number without an exponent up to a million, such as "0.05", "12.5" or "20,000"."""
    if value == 0:
        return "0"
    if 1e-4 <= abs(value) < 1e6:
        return f"{value:,.6f}".rstrip("0").rstrip(".") if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:.3g}"


def digits(value: float) -> str:
    """Returns a number with three significant digits, or more if it has more before the decimal point."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def end_labels(ax: Axes, lines: Sequence[tuple[Line2D, str]], title: str = "") -> None:
    """Writes the name of each line next to its last point, apart from each other; many lines have a legend.

    Args:
        ax: The axes, whose limits are final.
        lines: Lines and their names.
        title: The field that has the names as values.
    """
    import numpy as np

    if len(lines) < 2:
        return
    if len(lines) > MAX_END_LABELS:
        ax.legend(
            [line for line, _ in lines],
            [name for _, name in lines],
            title=title or None,
            frameon=False,
            fontsize="small",
            ncols=2,
        )
        return
    ends = []
    for line, name in lines:
        xs, ys = (np.asarray(data, dtype=float) for data in line.get_data())
        known = np.flatnonzero(np.isfinite(xs) & np.isfinite(ys))
        if len(known):
            ends.append((xs[known[-1]], ys[known[-1]], name, line.get_color()))
    if not ends:
        return
    to_points = 72.0 / figure_of(ax).dpi
    heights = [ax.transData.transform((x, y))[1] * to_points for x, y, *_ in ends]
    order = sorted(range(len(ends)), key=heights.__getitem__)
    placed = apart([heights[n] for n in order], LINE_HEIGHT)
    right = max(x for x, *_ in ends)
    for n, height in zip(order, placed, strict=True):
        _, y, name, line_colour = ends[n]
        ax.annotate(
            f"{title} = {name}" if title and n == order[-1] else name,
            (right, y),
            xytext=(7, height - heights[n]),
            textcoords="offset points",
            va="center",
            color=line_colour,
            fontsize="small",
        )


def apart(heights: Sequence[float], distance: float) -> list[float]:
    """Returns heights that rise by at least a distance, as near as possible to the given ones, which rise."""
    # Groups of labels that touch are centred on the mean of their own heights.
    groups: list[list[float]] = []
    centres: list[float] = []
    for height in heights:
        groups.append([height])
        centres.append(height)
        while len(groups) > 1 and (
            centres[-1] - centres[-2] < distance * (len(groups[-1]) + len(groups[-2])) / 2 - 1e-9
        ):
            joined = groups[-2] + groups[-1]
            groups[-2:], centres[-2:] = [joined], [sum(joined) / len(joined)]
    return [
        centre + distance * (n - (len(group) - 1) / 2)
        for group, centre in zip(groups, centres, strict=True)
        for n in range(len(group))
    ]
