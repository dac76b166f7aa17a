"""Reproduction of a figure: its cases in parallel, its claims, its plot, and their files."""

from __future__ import annotations

import tempfile
import time
import warnings
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.output import new_file
from weft.sweeps.cases import run_cases
from weft_papers.figure import EQUATIONS, Claim, Figure, Scale
from weft_papers.statement import Kind, statement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl
    from matplotlib.figure import Figure as Plot


TABLE = "parquet"
PLOTS = ("png", "pdf")


@dataclass(frozen=True)
class Reproduction:
    """The results of a figure."""

    figure: Figure
    scale: str
    """The size of the run, as a phrase."""
    date: date
    """The day of the runs, in UTC."""
    seconds: float
    """Wall-clock seconds the runs took."""
    rows: pl.DataFrame
    claims: list[Claim]
    plot: Plot
    caption: str
    """The caption of the plot."""

    def __repr__(self) -> str:
        judged = [claim.holds for claim in self.claims if claim.holds is not None]
        return f"<Reproduction of {self.figure.name}, {self.scale}: {sum(judged)} of {len(judged)} claims hold>"

    def write(self, folder: Path) -> None:
        """Writes the plot into the folder that has the table."""
        with warnings.catch_warnings():
            # Matplotlib warns if drawing takes over a second, which happens on a busy machine.
            warnings.filterwarnings("ignore", "Creating legend with loc", UserWarning)
            for kind in PLOTS:
                self.plot.savefig(folder / file_name(self.figure, kind), dpi=200)

    def document(self) -> dict[str, Any]:
        """Returns the document for JSON; paths of files are names in their folder."""
        return {
            "figure": self.figure.name,
            "title": self.figure.title,
            "caption": self.caption,
            "scale": self.scale,
            "date": self.date.isoformat(),
            "seeds": _seeds(self.rows),
            "seconds": round(self.seconds, 1),
            "claims": [claim.document() for claim in self.claims],
            "tables": [file_name(self.figure, TABLE)],
            "plots": [file_name(self.figure, kind) for kind in PLOTS],
        }


def reproduce_one(
    name: str,
    *,
    quick: bool = False,
    seeds: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Reproduction:
    """Repeats a figure of a paper, and returns its rows, claims and plot.

    >>> figure = weft.reproduce("amp-fg/fig04")
    >>> figure.rows.height > 0, len(figure.claims) > 0
    (True, True)

    Args:
        name: The figure, such as "amp/fig08"; `weft reproduce --list` lists all.
        quick: Run the smaller version that the figure describes. Its verdicts are indicative.
        seeds: Number of seeds; by default 5, or 1 with `quick`.
        progress: Called with the part of the work that is done, 0 to 1.

    Returns:
        The reproduction: `rows` (a Polars frame), `claims` (with `claim`, `paper`, `measured` and `holds`), `plot` (a
        Matplotlib figure) and `write(folder)`.

    Raises:
        UsageError: There is no such figure, or it is a paper with several.
        RequirementError: A package of the extra `reproduce` is missing, or this machine cannot run the figure.
    """
    from weft.errors import UsageError
    from weft.extras import require
    from weft_papers.figure import Scale
    from weft_papers.paper import find_figures

    require("weft.reproduce", "reproduce")
    figures = find_figures(name)
    if len(figures) > 1:
        allowed = ", ".join(figure.name for figure in figures)
        raise UsageError(f"figure {name!r}: a paper with {len(figures)} figures; allowed: {allowed}")
    if seeds is not None and not (isinstance(seeds, int) and seeds >= 1):
        raise UsageError(f"seeds: {seeds!r}; allowed: a whole number of at least 1, or None")
    with tempfile.TemporaryDirectory(prefix="weft-reproduce-") as folder:
        scale = Scale(seeds=seeds or (1 if quick else Scale.seeds), quick=quick)
        return reproduce(figures[0], scale, Path(folder), progress)


def file_name(figure: Figure, kind: str) -> str:
    """Returns the name of a figure's table or plot in its folder."""
    return f"{figure.name.replace('/', '-')}.{kind}"


def reproduce(
    figure: Figure, scale: Scale, folder: Path, on_progress: Callable[[float], None] | None = None
) -> Reproduction:
    """Runs the figure and decides its claims. Its table is in the folder even if a claim cannot be decided.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed; no file of the figure is left.
    """
    module = figure.module()
    begun, today = time.monotonic(), datetime.now(UTC).date()
    if figure.level == EQUATIONS:
        rows, words = module.rows(), "by equations"
    else:
        rows = run_cases(module.cases(scale), module.measure, on_progress=on_progress)
        words = f"{scale}; {module.QUICK}" if scale.quick else str(scale)
    seconds = time.monotonic() - begun
    with new_file(folder / file_name(figure, TABLE)) as table:
        rows.write_parquet(table)
    return Reproduction(figure, words, today, seconds, rows, judge(figure, rows), module.plot(rows), caption(figure))


def caption(figure: Figure) -> str:
    """Returns the caption of a figure's plot."""
    return (figure.module().plot.__doc__ or figure.title).partition("\n")[0]


def judge(figure: Figure, rows: pl.DataFrame) -> list[Claim]:
    """Returns the claims with verdicts from the rows of all seeds and, if there are several, from each seed alone."""
    module = figure.module()
    claims = module.claims(rows)
    by_seed = [part for _, part in rows.group_by("seed", maintain_order=True)] if _seeds(rows) > 1 else []
    alone = [{claim.claim: claim.holds for claim in module.claims(part)} for part in by_seed]
    return [with_statement(figure.name, replace(claim, by_seed=tuple(_verdicts(claim, alone)))) for claim in claims]


def with_statement(figure: str, claim: Claim) -> Claim:
    """Returns the claim with its statement; a claim that is only shown loses its verdict."""
    behind = statement(figure, claim.claim)
    if behind.kind is Kind.SHOWN:
        return replace(claim, statement=behind, holds=None, by_seed=())
    return replace(claim, statement=behind)


def _verdicts(claim: Claim, alone: list[dict[str, bool | None]]) -> Iterator[bool]:
    for one in alone:
        # Rows that only some seeds have may carry a claim of their own.
        verdict = one.get(claim.claim)
        if claim.holds is not None and verdict is not None:
            yield verdict


def _seeds(rows: pl.DataFrame) -> int:
    """Returns the number of seeds of the rows; 0 if the numbers come from equations."""
    return rows["seed"].n_unique() if "seed" in rows.columns else 0
