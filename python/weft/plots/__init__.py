"""Plots of one run: `result.plot.fct()` is a Matplotlib figure, `result.plot.altair.fct()` the same as an Altair chart.

`data.py` turns tables into what is drawn. Both kinds of plots and the report share it.
"""

from weft.plots.data import MAX_LINES
from weft.plots.matplotlib_plots import Plots

__all__ = ["MAX_LINES", "Plots"]
