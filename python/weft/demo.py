"""`weft demo`: AMP against XMP, DCM and DCTCP under incast, as in figure 8a of AMP's paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from weft import _weft
from weft.html_pages import render
from weft.papers.amp.incast import ROUNDS, incast, incast_cases, measure, plot_fct, summary
from weft.papers.amp.settings import SHOWN
from weft.papers.figure import Scale
from weft.report import inputs
from weft.report import page as report_page
from weft.sweep import Case, run_cases

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from weft.api import Result

REPORTED = 30
"""The number of flows k of the runs in the report."""
REPORTED_SEEDS = 3
REPORTED_ROUNDS = 5
REPORTED_DURATION = "10s"
"""Room for a flow of the last round to wait for some timeouts."""
SIZE_KB = 128
DELAY_US = 2
ALGORITHMS = ("amp", "xmp", "dcm", "dctcp")
TITLE = f"{ROUNDS} rounds of k flows of 128 KB to one receiver over 10 Gbps"
COLUMNS = (
    "k",
    "algorithm",
    "mean FCT (ms)",
    "median (ms)",
    "p95 (ms)",
    "p99 (ms)",
    "flows with a timeout (%)",
    "most timeouts",
)


@dataclass(frozen=True)
class Demo:
    """What the demo shows."""

    flows: pl.DataFrame
    """One row a flow."""
    summary: pl.DataFrame
    """One row for each number of flows and algorithm; `COLUMNS` are its headings."""
    reported: tuple[Result, ...]
    """The runs that the report shows in detail, with probes."""

    def write(self, folder: Path) -> None:
        """Writes the tables, the picture, a page, the runs of the report, and the report."""
        self.flows.write_parquet(folder / "flows.parquet")
        self.summary.write_parquet(folder / "summary.parquet")
        plot_fct(self.flows, ALGORITHMS, "Incast").savefig(folder / "incast.png", dpi=200)
        rows = self.summary.rows()
        page = render(
            "demo.html", title=TITLE, columns=COLUMNS, rows=rows, reported=REPORTED, version=_weft.__version__
        )
        (folder / "index.html").write_text(page, encoding="utf-8")
        runs = [folder / "runs" / f"{it.manifest['name']}-seed-{it.manifest['seed']}" for it in self.reported]
        for result, folder in zip(self.reported, runs, strict=True):
            result.write(folder)
        (folder / "report.html").write_text(report_page.write(inputs.read(runs)), encoding="utf-8")


def run(on_progress: Callable[[float], None] | None = None) -> Demo:
    """Runs it, one seed."""
    plain = incast_cases(ALGORITHMS, sizes_kb=(SIZE_KB,), delays_us=(DELAY_US,), scale=Scale(seeds=1))
    cases = [Case({**case.labels, "probed": False}, case.experiment, case.seed) for case in plain]
    probed = _probed_cases()
    kept: dict[tuple[str, int], Result] = {}

    def measure_and_keep(result: Result) -> pl.DataFrame:
        if result.manifest["rows"]["traces"]:
            kept[result.manifest["name"], result.manifest["seed"]] = result
        return measure(result)

    rows = run_cases([*cases, *probed], measure_and_keep, on_progress=on_progress)
    flows = rows.filter(~pl.col("probed")).drop("probed")
    cells = summary(flows).sort("k", maintain_order=True)
    labels = {name: shown.label for name, shown in SHOWN.items()}
    return Demo(
        flows,
        cells.select(
            "k",
            "mean_fct_ms",
            "p50_fct_ms",
            "p95_fct_ms",
            "p99_fct_ms",
            "flows_with_timeout_percent",
            "most_timeouts",
        ).insert_column(1, cells["algorithm"].replace_strict(labels)),
        tuple(kept[case.experiment.name, case.seed] for case in probed),
    )


def _probed_cases() -> list[Case]:
    """For the report: fewer rounds, with windows of some flows of the first one, and the bottleneck's queue."""
    probes = [
        {"kind": "flow", "flows": [0, REPORTED // 2, REPORTED - 1]},
        {"kind": "queue", "at": ["s0->r0"], "interval": "100us"},
    ]
    return [
        Case(
            {"delay_us": DELAY_US, "size_kb": SIZE_KB, "algorithm": algorithm, "k": REPORTED, "probed": True},
            incast(algorithm, REPORTED, SIZE_KB, DELAY_US, REPORTED_ROUNDS).model_copy(
                update={"probes": probes, "duration": REPORTED_DURATION}
            ),
            seed,
        )
        for algorithm in ALGORITHMS
        for seed in range(1, REPORTED_SEEDS + 1)
    ]
