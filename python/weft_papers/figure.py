"""The parts of a figure of a paper: cases to run, a plot, and claims that the numbers decide."""

from __future__ import annotations

import importlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from weft_papers.statement import OWN, Statement

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl
    from matplotlib.figure import Figure as Plot

    from weft.api import Result
    from weft.sweeps.cases import Case

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
    """Whether to run the smaller version that the figure's `QUICK` describes."""
    scenarios: Path | None = None
    """A file of scenarios, which replace those of the figure; only for figures whose `scenarios` is true."""

    def __str__(self) -> str:
        size = "quick" if self.quick else "full size"
        return f"{size}, {self.seeds} seed{'s' if self.seeds > 1 else ''}"


@dataclass(frozen=True)
class Table:
    """A table of numbers that accompanies a claim, such as a ratio for each algorithm and number of flows."""

    columns: tuple[str, ...]
    """Headings of the columns."""
    rows: tuple[tuple[str, ...], ...]
    """Texts of the cells; each row has as many as there are headings."""


CLAIM_PARTS = ("claim", "paper", "measured", "holds", "note", "by_seed")
"""Fields of a claim's document that come from the figure's module and its runs."""


@dataclass(frozen=True)
class Claim:
    """One statement of a paper together with the measured value."""

    claim: str
    """The statement, in short."""
    paper: str
    """The paper's number."""
    measured: str
    """The measured number, with its spread over seeds if there are several."""
    holds: bool | None
    """The verdict, computed from the measured numbers with the tolerance that the note states.

    None if the claim has no verdict.
    """
    note: str
    """The comparison behind `holds` and, if the claim does not hold, the best explanation known."""
    by_seed: tuple[bool, ...] = ()
    """The verdict of each seed alone, in the order of the seeds. A figure's module leaves it empty."""
    table: Table | None = None
    """The numbers that `measured` summarises, if there are many."""
    statement: Statement = OWN
    """The statement that the claim judges. A figure's module leaves it empty."""

    def document(self) -> dict[str, Any]:
        """Returns the document for JSON."""
        parts = {name: getattr(self, name) for name in CLAIM_PARTS}
        table = None if self.table is None else asdict(self.table)
        return parts | {"table": table} | self.statement.document(self.holds)


class FigureModule(Protocol):
    """The interface of a figure's module.

    At the level `EQUATIONS` a module has `rows` instead of `QUICK`, `cases` and `measure`.
    """

    QUICK: str
    """A sentence that says what `--quick` leaves out."""

    def cases(self, scale: Scale) -> Sequence[Case]:
        """Returns the runs."""

    def measure(self, result: Result) -> pl.DataFrame:
        """Returns the rows to keep of one run.

        The case's labels and seed are added as first columns.
        """

    def rows(self) -> pl.DataFrame:
        """Returns the numbers, at the level `EQUATIONS` only."""

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """Returns the paper's claims with verdicts from the rows of all runs.

        It is called once more for each seed, with the rows of that seed alone.
        """

    def plot(self, rows: pl.DataFrame) -> Plot:
        """Draws the figure. The first line of the docstring is the caption."""


@dataclass(frozen=True)
class Figure:
    """An entry of the registry of figures."""

    name: str
    """`paper/figure`, with hyphens."""
    title: str
    """The title, in one line."""
    seconds: float
    """Seconds that the full size takes with the default number of seeds on `CORES` cores.

    The value is processor time divided by the number of cores, so other work on the machine does not change it. At
    level "linux", where runs take real time one after the other, it is elapsed time.
    """
    quick_seconds: float
    """Seconds that the quick version takes, which has one seed."""
    level: str = "packet"
    """The highest `level` of its experiments, or `EQUATIONS` if it has none.

    The results of a kernel are not a function of the seed and have no snapshot.
    """
    scenarios: bool = False
    """Whether each claim is a scenario, and a file of scenarios can replace those of the figure."""

    @property
    def paper(self) -> str:
        """Returns the name of the paper's package."""
        return self.name.partition("/")[0]

    def module(self) -> FigureModule:
        """Imports the module with the same name, in which underscores replace hyphens."""
        path = self.name.replace("-", "_").replace("/", ".")
        return cast("FigureModule", importlib.import_module(f"weft_papers.{path}"))
