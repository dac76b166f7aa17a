"""`weft demo`: AMP against XMP, DCM and DCTCP under incast, as in figure 8a of AMP's paper."""

from __future__ import annotations

import base64
import html
import io
from dataclasses import dataclass
from importlib import resources
from string import Template
from typing import TYPE_CHECKING

from weft import _weft
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
    "std (ms)",
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
        """Writes the tables, the picture and a page that needs nothing else."""
        self.flows.write_parquet(folder / "flows.parquet")
        self.summary.write_parquet(folder / "summary.parquet")
        picture = io.BytesIO()
        plot_fct(self.flows, ALGORITHMS, "Incast").savefig(picture, format="png", dpi=150)
        (folder / "incast.png").write_bytes(picture.getvalue())
        (folder / "index.html").write_text(self._page(picture.getvalue()), encoding="utf-8")

    def _page(self, picture: bytes) -> str:
        rows = ("".join(f"<td>{html.escape(_shown(value))}</td>" for value in row) for row in self.summary.rows())
        page = Template((resources.files("weft") / "demo.html").read_text(encoding="utf-8"))
        return page.substitute(
            title=html.escape(TITLE),
            picture=base64.b64encode(picture).decode("ascii"),
            headings="".join(f"<th>{html.escape(column)}</th>" for column in COLUMNS),
            rows="\n".join(f"<tr>{row}</tr>" for row in rows),
            version=_weft.__version__,
        )


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
            "std_fct_ms",
            "p99_fct_ms",
            "flows_with_timeout_percent",
            "most_timeouts",
        ).insert_column(1, cells["algorithm"].replace_strict(labels)),
    )


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)
