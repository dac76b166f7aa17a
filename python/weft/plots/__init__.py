"""Plots of one run: `result.plot.fct()` is a Matplotlib figure, `result.plot.altair.fct()` the same as an Altair chart.

`drawn.py` turns tables into what is drawn. Both kinds of plots and the report share it.
"""

from weft.plots.drawn import MOST_LINES
from weft.plots.figures import Plots

__all__ = ["MOST_LINES", "Plots"]
