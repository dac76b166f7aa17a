"""Runs figures one after another and writes one folder: a page, and the figures' plots, tables and claims."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import weft_papers
from weft.errors import UsageError
from weft.exit_codes import MISSING, describe
from weft.html_pages import render
from weft.version import __version__
from weft_papers.counts import Count, count
from weft_papers.reproduce import TABLE, file_name, reproduce

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from weft_papers.figure import Figure, Scale


@dataclass
class PaperResult:
    """The results of all requested figures."""

    name: str
    """The requested name: a paper, or one of its figures."""
    figures: Sequence[Figure]
    seconds: float = 0.0
    """Wall-clock seconds so far."""
    done: list[dict[str, Any]] = field(default_factory=list)
    """The documents of the figures that have been reproduced."""
    failed: list[dict[str, str]] = field(default_factory=list)
    """The figures that failed: `figure` and `error`, one line."""
    skipped: list[dict[str, str]] = field(default_factory=list)
    """The figures that this machine cannot run: `figure` and `error`. They do not count as failures."""
    kept: list[str] = field(default_factory=list)
    """The tables of figures that ran and then failed, because a claim could not be decided or a plot not be drawn."""
    exit_code: int = 0
    """The highest exit code of the failures."""

    @property
    def left_out(self) -> list[str]:
        """Returns the figures that had not ended at Ctrl-C."""
        ended = {row["figure"] for row in (*self.done, *self.failed, *self.skipped)}
        return [figure.name for figure in self.figures if figure.name not in ended]

    @property
    def counts(self) -> list[Count]:
        """Counts the statements of these figures by origin."""
        return count(self.done)

    def document(self, folder: Path) -> dict[str, Any]:
        """Returns the document for JSON: of one figure, or of all figures of a paper.

        Paths of files are those in `folder`.
        """
        about = {"version": __version__, "page": str(folder / "index.html")}
        figures = [
            entry | {kind: [str(folder / name) for name in entry[kind]] for kind in ("tables", "plots")}
            for entry in self.done
        ]
        by_origin = {"by_origin": [value.document() for value in self.counts]}
        if self.name == self.figures[0].name:
            return figures[0] | about | by_origin
        claims = [claim for figure in figures for claim in figure["claims"]]
        return {
            "paper": self.name,
            **about,
            "partial": bool(self.left_out),
            "seconds": round(self.seconds, 1),
            "claims": sum(claim["holds"] is not None for claim in claims),
            "hold": sum(claim["holds"] is True for claim in claims),
            **by_origin,
            "figures": figures,
            "failed": self.failed,
            "skipped": self.skipped,
            "left_out": self.left_out,
        }

    def write(self, folder: Path) -> None:
        """Writes the page and the claims next to the plots and tables."""
        text = json.dumps(self.document(Path()), indent=2, ensure_ascii=False)
        (folder / "claims.json").write_text(text, encoding="utf-8")
        page = render("paper.html", result=self, about=title(self.figures[0].paper), version=__version__)
        (folder / "index.html").write_text(page, encoding="utf-8")


def title(paper: str) -> str:
    """Returns the authors and title of a paper: the first line of its package's docstring."""
    return (import_module(f"weft_papers.{paper.replace('-', '_')}").__doc__ or paper).partition("\n")[0].rstrip(".")


def find_figures(name: str) -> list[Figure]:
    """Returns the figure of that name, or all figures of the paper of that name.

    Raises:
        UsageError: No figure or paper has that name.
    """
    found = [figure for figure in weft_papers.FIGURES if name in (figure.name, figure.paper)]
    if not found:
        allowed = (
            *dict.fromkeys(figure.paper for figure in weft_papers.FIGURES),
            *(figure.name for figure in weft_papers.FIGURES),
        )
        inside = figure_with(name)
        near = _nearest(name, allowed)
        if inside is not None:
            hint = f"it is a part of {inside.name}: {inside.title}"
        elif near:
            hint = f"did you mean {', '.join(near)}? `weft reproduce --list` lists all figures"
        else:
            of_paper = [known for known in allowed if known.startswith(f"{name.partition('/')[0]}/")]
            hint = f"allowed: {', '.join(of_paper or allowed)}"
        raise UsageError(f"figure {name!r} does not exist; {hint}")
    return found


def figure_with(name: str) -> Figure | None:
    """Returns the figure whose title says that it also has the paper's figure `name`, such as "amp/fig11"."""
    paper, _, figure = name.partition("/")
    number = re.fullmatch(r"(?:fig|figure)[-_ ]?0*(\d+)", figure)
    for known in weft_papers.FIGURES if number else ():
        also = re.search(r"\(with figures? ([^)]*)\)", known.title)
        if known.paper == paper and also and number and number[1] in re.findall(r"\d+", also[1]):
            return known
    return None


def _nearest(name: str, allowed: Sequence[str]) -> list[str]:
    """Returns the papers and figures that were probably meant.

    Case, the characters `-` and `_` and leading zeros of a number do not count. A figure may be given without
    its paper.
    """

    def plain(text: str) -> str:
        return re.sub(r"(?<=[a-z])0+(?=\d)", "", re.sub("[-_]", "", text.lower()))

    papers = {plain(known): known for known in allowed if "/" not in known}
    figures = {plain(known): known for known in allowed if "/" in known}
    given = plain(name)
    equal = papers.get(given) or figures.get(given)
    if equal is not None:
        return [equal]
    paper, slash, figure = given.partition("/")
    if slash:
        near = get_close_matches(paper, papers, n=1, cutoff=0.6)
        return [figures[f"{key}/{figure}"] for key in near if f"{key}/{figure}" in figures]
    of_any = [known for key, known in figures.items() if key.split("/")[1] == given]
    return of_any or [papers[key] for key in get_close_matches(given, papers, n=1, cutoff=0.8)]


def reproduce_all(
    name: str,
    scale: Scale,
    folder: Path,
    on_progress: Callable[[float, str], None] | None = None,
    on_failure: Callable[[str], None] | None = None,
) -> PaperResult:
    """Runs the figures of that name and writes plots and tables as soon as each figure has ended.

    A figure that fails is reported and left out. Ctrl-C leaves out the figures that have not ended.

    Args:
        name: A paper, or one of its figures.
        scale: The size of each figure's runs.
        folder: An existing, empty folder.
        on_progress: Receives the fraction of all work that is done, 0 to 1, and the name of the figure that runs.
        on_failure: Receives one line with the figure that failed and the reason.
    """
    result = PaperResult(name, find_figures(name))
    share = _shares(result.figures, quick=scale.quick)
    begun = time.monotonic()
    try:
        for index, figure in enumerate(result.figures):

            def show(fraction: float, index: int = index, figure: Figure = figure) -> None:
                if on_progress is not None:
                    on_progress(sum(share[:index]) + fraction * share[index], figure.name)

            try:
                reproduction = reproduce(figure, scale, folder, show)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - a panic is not an Exception, and the other figures continue
                line, code = describe(error)
                if code == MISSING:
                    result.skipped.append({"figure": figure.name, "error": line})
                else:
                    result.failed.append({"figure": figure.name, "error": line})
                    result.exit_code = max(result.exit_code, code)
                table = file_name(figure, TABLE)
                if (folder / table).exists():
                    result.kept.append(table)
                if on_failure is not None:
                    on_failure(f"{figure.name}: {line}")
            else:
                reproduction.write(folder)
                result.done.append(reproduction.document())
            result.seconds = time.monotonic() - begun
    except KeyboardInterrupt:
        result.seconds = time.monotonic() - begun
    return result


def _shares(figures: Sequence[Figure], *, quick: bool) -> list[float]:
    """Returns each figure's share of the time that all figures take, according to the registry."""
    seconds = [figure.quick_seconds if quick else figure.seconds for figure in figures]
    return [each / sum(seconds) for each in seconds]
