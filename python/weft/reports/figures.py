"""Figures of the page: charts in the page's style, each with a caption and its values as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from weft.errors import UsageError

INK = "currentColor"
PAPER = "var(--paper)"
"""Colour of the page's background."""
CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None, "continuousWidth": 300, "continuousHeight": 220},
    "axis": {
        **dict.fromkeys(("labelColor", "titleColor", "domainColor", "tickColor", "gridColor"), INK),
        "gridOpacity": 0.15,
        "domainOpacity": 0.4,
        "tickOpacity": 0.4,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelSeparation": 6,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "orient": "top",
        # Of the page, not of the plot: the plot's width depends on the legend in turn.
        "columns": {"expr": "max(1, floor((width ? containerSize()[0] : 0) / 260))"},
        "layout": {"top": {"direction": "vertical", "anchor": "start"}},
    },
    "rule": {"color": INK},
    "text": {"color": INK},
}


class Figures:
    """The figures of a page in the making, and what is missing among them."""

    def __init__(self) -> None:
        self.by_name: dict[str, dict[str, Any]] = {}
        self.charts: dict[str, dict[str, Any]] = {}
        self.missing: list[str] = []

    def add(
        self,
        name: str,
        title: str,
        caption: str,
        chart: alt.TopLevelMixin,
        *,
        height: int = 240,
        table: tuple[list[str], list[list[str]]] | None = None,
        params: Mapping[str, object] | None = None,
    ) -> None:
        """Adds a figure: a plot with its caption, and its values as a table."""
        spec = chart.to_dict()
        spec |= {"config": CONFIG, "width": "container", "height": height, "background": "transparent"}
        spec |= {"description": f"{title}. {caption}", "autosize": {"type": "fit-x", "contains": "padding"}}
        if params:
            spec["params"] = [{"name": param, "value": value} for param, value in params.items()]
        spec.pop("$schema", None)
        self.charts[name] = spec
        self.by_name[name] = {"name": name, "title": title, "caption": caption, "table": table}


def reason(error: UsageError) -> str:
    """Returns the problem in the message of an error, without the allowed values."""
    return str(error).partition(": ")[2].partition(";")[0]
