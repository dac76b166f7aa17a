"""`weft demo`: a permutation, on which multipath wins, and incast, in which one path wins and AMP holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from weft import Result
from weft.html_pages import render
from weft.reports import inputs
from weft.reports import page as report_page
from weft.sweeps.cases import run_cases
from weft.version import __version__
from weft_papers import demo_incast, demo_permutation
from weft_papers.amp.incast import measure, plot_fct
from weft_papers.amp.settings import SHOWN

ALGORITHMS = ("amp", "xmp", "dcm", "dctcp")
REPORTED_RUNS = (
    f"runs with k = {demo_incast.REPORTED}, {demo_incast.REPORTED_ROUNDS} rounds and {demo_incast.REPORTED_SEEDS} seeds"
)
"""The runs of the report in words."""
PERMUTATION_SHARE = 0.6
"""The part of the demo's time that the permutation takes, for the progress bar."""


@dataclass(frozen=True)
class Part:
    """A part of the demo: its flows, and its table in numbers and words."""

    name: str
    title: str
    columns: tuple[str, ...]
    flows: pl.DataFrame
    """One row per flow."""
    cells: pl.DataFrame
    """The table, with the registry's names of the algorithms."""
    verdict: str
    sentences: list[str]
    note: str = ""
    """A sentence about the values of the table."""

    def table(self) -> pl.DataFrame:
        """Returns the table with the algorithms' labels; `columns` are its headings."""
        labels = {name: shown.label for name, shown in SHOWN.items()}
        return self.cells.with_columns(pl.col("algorithm").replace_strict(labels))


@dataclass(frozen=True)
class Demo:
    """The tables and runs of the demo."""

    parts: tuple[Part, ...]
    reported: tuple[Result, ...]
    """The runs that the report shows in detail, with probes."""

    def write(self, folder: Path) -> None:
        """Writes the tables, the plots, a page, the runs of the report, and the report."""
        permutation, incast = self.parts
        for part in self.parts:
            part.flows.write_parquet(folder / f"{part.name}-flows.parquet")
            part.table().write_parquet(folder / f"{part.name}.parquet")
        demo_permutation.plot(permutation.flows, ALGORITHMS).savefig(folder / "permutation.png", dpi=200)
        plot_fct(incast.flows, ALGORITHMS, demo_incast.caption(incast.cells)).savefig(folder / "incast.png", dpi=200)
        page = render(
            "demo.html",
            parts=self.parts,
            permutation=demo_permutation,
            incast=demo_incast,
            version=__version__,
        )
        (folder / "index.html").write_text(page, encoding="utf-8")
        runs = [folder / "runs" / f"{run.manifest['name']}-seed-{run.manifest['seed']}" for run in self.reported]
        for result, path in zip(self.reported, runs, strict=True):
            result.write(path)
        (folder / "report.html").write_text(report_page.write(inputs.read(runs)), encoding="utf-8")


def run(on_progress: Callable[[float], None] | None = None) -> Demo:
    """Runs both parts.

    Args:
        on_progress: Called with the part of the demo that is done, 0 to 1.
    """

    def report_progress(start: float, share: float) -> Callable[[float], None] | None:
        return None if on_progress is None else lambda done: on_progress(start + share * done)

    gbps = run_cases(
        demo_permutation.cases(ALGORITHMS),
        demo_permutation.measure,
        on_progress=report_progress(0, PERMUTATION_SHARE),
    )
    cases = demo_incast.cases(ALGORITHMS)
    kept: dict[tuple[str, int], Result] = {}

    def measure_and_keep(result: Result) -> pl.DataFrame:
        if result.manifest["rows"]["traces"]:
            kept[result.manifest["name"], result.manifest["seed"]] = result.detach()
        return measure(result)

    rows = run_cases(cases, measure_and_keep, on_progress=report_progress(PERMUTATION_SHARE, 1 - PERMUTATION_SHARE))
    fct = rows.filter(~pl.col("probed")).drop("probed")
    goodputs, times = demo_permutation.summary(gbps), demo_incast.table(fct)
    parts = (
        Part(
            "permutation",
            demo_permutation.TITLE,
            demo_permutation.COLUMNS,
            gbps,
            goodputs,
            demo_permutation.verdict(goodputs),
            demo_permutation.sentences(goodputs),
        ),
        Part(
            "incast",
            demo_incast.TITLE,
            demo_incast.COLUMNS,
            fct,
            times,
            demo_incast.verdict(times),
            demo_incast.sentences(times),
            demo_incast.waits(_tcp(next(iter(kept.values())))),
        ),
    )
    return Demo(parts, tuple(kept[case.experiment.name, case.seed] for case in cases if case.labels["probed"]))


def _tcp(result: Result) -> dict[str, Any]:
    """Returns the resolved table `tcp` of the first transport of a run."""
    transports: dict[str, Any] = result.manifest["spec"]["transports"]
    tcp: dict[str, Any] = next(iter(transports.values()))["tcp"]
    return tcp
