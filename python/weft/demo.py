"""`weft demo`: AMP against XMP, DCM and DCTCP under incast, as in figure 8a of AMP's paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft import _weft
from weft.page import render
from weft.papers.amp.incast import ROUNDS, incast_cases, measure, plot_fct, summary
from weft.papers.amp.settings import SHOWN
from weft.papers.figure import Scale
from weft.sweep import sweep

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import polars as pl

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

    def write(self, folder: Path) -> None:
        """Writes the tables, the picture and a page."""
        self.flows.write_parquet(folder / "flows.parquet")
        self.summary.write_parquet(folder / "summary.parquet")
        plot_fct(self.flows, ALGORITHMS, "Incast").savefig(folder / "incast.png", dpi=200)
        rows = self.summary.rows()
        page = render("demo.html", title=TITLE, columns=COLUMNS, rows=rows, version=_weft.__version__)
        (folder / "index.html").write_text(page, encoding="utf-8")


def run(on_progress: Callable[[float], None] | None = None) -> Demo:
    """Runs it, one seed."""
    cases = incast_cases(ALGORITHMS, sizes_kb=(128,), delays_us=(2,), scale=Scale(seeds=1))
    flows = sweep(cases, measure, on_progress=on_progress)
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
    )
