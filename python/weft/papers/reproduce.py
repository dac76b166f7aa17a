"""Runs a figure: its cases side by side, its claims, its plot, and the folder that holds them."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import UsageError
from weft.papers import FIGURES
from weft.sweep import sweep

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl
    from matplotlib.figure import Figure as Plot

    from weft.papers.figure import Claim, Figure, Scale


@dataclass(frozen=True)
class Reproduction:
    """A figure as it came out here."""

    figure: Figure
    scale: str
    """How much of it was run, in words."""
    seconds: float
    """Wall-clock seconds the runs took."""
    rows: pl.DataFrame
    claims: list[Claim]
    plot: Plot

    def write(self, folder: Path) -> None:
        """Writes table, plot and claims into a folder."""
        self.rows.write_parquet(folder / self._file("parquet"))
        self.plot.savefig(folder / self._file("png"), dpi=150)
        self.plot.savefig(folder / self._file("pdf"))
        document = json.dumps(self.document(Path()), indent=2, ensure_ascii=False)
        (folder / "claims.json").write_text(document, encoding="utf-8")

    def document(self, folder: Path) -> dict[str, Any]:
        """What `weft reproduce --json` prints, for results that lie in `folder`."""
        return {
            "figure": self.figure.name,
            "scale": self.scale,
            "seconds": round(self.seconds, 1),
            "claims": [claim.document() for claim in self.claims],
            "tables": [str(folder / self._file("parquet"))],
            "plots": [str(folder / self._file(kind)) for kind in ("png", "pdf")],
        }

    def _file(self, extension: str) -> str:
        return f"{self.figure.name.replace('/', '-')}.{extension}"


def find_figure(name: str) -> Figure:
    """A figure by name.

    Raises:
        UsageError: There is none of that name.
    """
    for figure in FIGURES:
        if figure.name == name:
            return figure
    raise UsageError(f"figure {name!r}: does not exist; allowed: {', '.join(figure.name for figure in FIGURES)}")


def reproduce(figure: Figure, scale: Scale, on_progress: Callable[[float], None] | None = None) -> Reproduction:
    """Runs a figure and judges its claims.

    Raises:
        KeyboardInterrupt: Ctrl-C; nothing is left behind.
    """
    module = figure.module()
    begun = time.monotonic()
    rows = sweep(module.cases(scale), module.measure, on_progress=on_progress)
    seconds = time.monotonic() - begun
    words = f"{scale}; {module.QUICK}" if scale.quick else str(scale)
    return Reproduction(figure, words, seconds, rows, module.claims(rows), module.plot(rows))
