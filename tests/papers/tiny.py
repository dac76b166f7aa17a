"""A paper whose figures take no time, to see what becomes of a paper's figures."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, cast

import polars as pl
import pytest
from matplotlib.figure import Figure as Plot

import weft
import weft_papers
from tests.command import INCAST, press_ctrl_c
from weft.errors import WeftError
from weft.sweeps.cases import Case
from weft_papers.figure import Claim, Figure, Scale
from weft_papers.seed_summary import over_seeds

TITLES = {
    "good": "One claim that holds & one that doesn't: <i>no markup</i>",
    "bad": "Fails",
    "unjudged": "Runs, but its claims cannot be judged",
    "long": "Is stopped by Ctrl-C",
    "other": "As good as the good",
}


def install(monkeypatch: pytest.MonkeyPatch, *names: str, error: BaseException | None = None) -> None:
    """Makes the paper `tiny` of these figures the only one; `bad` and `unjudged` raise the error."""
    paper = ModuleType("weft_papers.tiny")
    paper.__doc__ = 'Tiny: Nobody, "A Paper".'
    monkeypatch.setitem(sys.modules, "weft_papers.tiny", paper)
    for name in names:
        # A figure's module is anything that has what a module of a figure has.
        monkeypatch.setitem(sys.modules, f"weft_papers.tiny.{name}", cast("ModuleType", TinyFigure(name, error)))
    figures = tuple(Figure(f"tiny/{name}", TITLES[name], seconds=2, quick_seconds=1) for name in names)
    monkeypatch.setattr(weft_papers, "FIGURES", figures)


class TinyFigure:
    """A figure's module."""

    QUICK = "nothing"

    def __init__(self, name: str, error: BaseException | None) -> None:
        self.name = name
        self.error = error

    def cases(self, scale: Scale) -> list[Case]:
        """An incast; `long` one that does not end before Ctrl-C."""
        experiment = weft.Experiment.model_validate(_spec())
        if self.name == "long":
            experiment = weft.Experiment.model_validate(_spec(size="100GB") | {"duration": "1000s"})
            press_ctrl_c(0.5)
        return [Case({"cell": "only"}, experiment, seed) for seed in range(1, scale.seeds + 1)]

    def measure(self, result: weft.Result) -> pl.DataFrame:
        """FCTs."""
        if self.name == "bad" and self.error is not None:
            raise self.error
        return result.flows.select(fct_ms=pl.col("fct_s") * 1e3)

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """One that always holds, one that holds with two seeds."""
        if self.name == "unjudged" and self.error is not None:
            raise self.error
        fct = over_seeds(rows, pl.col("fct_ms").mean() + pl.col("seed").first(), "ms")
        return [
            Claim("Flows end", "they do", str(fct), fct.mean > 0, "holds when FCT > 0"),
            Claim("Seeds are even", "they are", str(fct), rows["seed"].max() == 2, "holds when seed 2 is the last"),
        ]

    def plot(self, rows: pl.DataFrame) -> Plot:
        """FCT of each flow, in ms.

        Not part of the caption.
        """
        plot = Plot(figsize=(3, 2))
        plot.subplots().plot(rows["fct_ms"].to_list())
        return plot


def _spec(size: str = "64KB") -> Any:
    import tomllib

    spec = tomllib.loads(INCAST)
    spec["traffic"][0]["size"] = size
    return spec


FAILURES: list[tuple[BaseException, int, str]] = [
    (WeftError("senders: 0"), 2, "senders: 0"),
    (ZeroDivisionError("division by zero"), 70, "please report it: ZeroDivisionError: division by zero"),
]
"""Exceptions of a figure, with the exit code and the message of each."""
