"""A figure of a paper: cases to run, a plot, and claims that are judged by the numbers."""

from __future__ import annotations

import importlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from weft.papers.statement import OWN, Statement

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.figure import Figure as Plot

    from weft.api import Result
    from weft.sweep import Case

EQUATIONS = "equations"
"""The level of a figure that follows from equations: nothing runs, and there are neither seeds nor a quick version."""
CORES = 2
"""Cores of the machine on which the registry's times were measured."""


@dataclass(frozen=True)
class Scale:
    """How much of a figure to run."""

    seeds: int = 5
    """Number of seeds; every case runs once with each."""
    quick: bool = False
    """A smaller version, as the figure's `QUICK` says."""

    def __str__(self) -> str:
        size = "quick" if self.quick else "full size"
        return f"{size}, {self.seeds} seed{'s' if self.seeds > 1 else ''}"


@dataclass(frozen=True)
class Table:
    """Numbers beside a claim, such as a ratio for each algorithm and number of flows."""

    columns: tuple[str, ...]
    """Headings."""
    rows: tuple[tuple[str, ...], ...]
    """Cells in words, as many in each row as there are headings."""


CLAIM_PARTS = ("claim", "paper", "measured", "holds", "note", "by_seed")
"""Fields of a claim's document that the figure's module and its runs give."""


@dataclass(frozen=True)
class Claim:
    """One statement of a paper beside what was measured."""

    claim: str
    """The statement, in short."""
    paper: str
    """The paper's number."""
    measured: str
    """The measured number, with its spread over seeds if there are several."""
    holds: bool | None
    """The verdict, computed from the measured numbers with the tolerance that the note states; None if none is due."""
    note: str
    """What `holds` compares and, if the claim does not hold, the best explanation known."""
    by_seed: tuple[bool, ...] = ()
    """The verdict of each seed alone, in the order of the seeds. A figure's module leaves it empty."""
    table: Table | None = None
    """The numbers that `measured` summarises, if there are many."""
    statement: Statement = OWN
    """The statement that the claim judges. A figure's module leaves it empty."""

    def document(self) -> dict[str, Any]:
        """For JSON."""
        parts = {name: getattr(self, name) for name in CLAIM_PARTS}
        table = None if self.table is None else asdict(self.table)
        return parts | {"table": table} | self.statement.document(self.holds)


class FigureModule(Protocol):
    """What a figure's module defines; at the level `EQUATIONS` no `QUICK`, `cases` and `measure`, but `rows`."""

    QUICK: str
    """A sentence that says what `--quick` leaves out."""

    def cases(self, scale: Scale) -> Sequence[Case]:
        """The runs."""

    def measure(self, result: Result) -> pl.DataFrame:
        """The rows to keep of one run. The case's labels and seed are added as first columns."""

    def rows(self) -> pl.DataFrame:
        """The numbers, at the level `EQUATIONS` only."""

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """The paper's claims, judged by the rows of all runs. Called again with the rows of each seed alone."""

    def plot(self, rows: pl.DataFrame) -> Plot:
        """The figure. The first line of its docstring is the caption."""


@dataclass(frozen=True)
class Figure:
    """A figure's line in the registry."""

    name: str
    """`paper/figure`, with hyphens."""
    title: str
    """One line."""
    seconds: float
    """Seconds that the full size takes with the default number of seeds on `CORES` cores.

    Measured as processor time over cores, so other work on the machine makes no difference. At level "linux", where
    runs take real time one after the other, measured by the clock.
    """
    quick_seconds: float
    """The same for the quick version, which has one seed."""
    level: str = "packet"
    """The highest `level` of its experiments, or `EQUATIONS` where it has none.

    The results of a kernel are not a function of the seed and have no snapshot.
    """

    @property
    def paper(self) -> str:
        """The paper's folder."""
        return self.name.partition("/")[0]

    def module(self) -> FigureModule:
        """The module of the same name, with underscores for hyphens."""
        path = self.name.replace("-", "_").replace("/", ".")
        return cast("FigureModule", importlib.import_module(f"weft.papers.{path}"))
