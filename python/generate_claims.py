"""Keeps the claims of figures in `docs/claims`: `python python/generate_claims.py FOLDER...`.

Each folder is one that `weft reproduce PAPER` or `weft reproduce PAPER/FIGURE` has written, from five seeds or more. A
quick version never replaces one at full size. The claims are re-evaluated from the tables in the folder, so that a
change of words needs no new run. The documentation site has a page of them per paper (`site_claims.py`).

Every call, also one without folders, writes the words of `weft.papers` into the stored documents. These are a
figure's title and caption and, for each claim, its kind, origin, sentence, day of the reading, fitted settings and
cause. Measured values and notes stay. A stored verdict is removed if the claim is only shown, or if its reading was
fixed after the day of the run: such a claim is not yet rerun. The call also writes `docs/validation/figures.md`, the
table of all figures.
"""

import json
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from weft.papers import FIGURES
from weft.papers.counts import count
from weft.papers.figure import CLAIM_PARTS, Scale
from weft.papers.headlines import HEADLINES
from weft.papers.paper import find_figures
from weft.papers.reproduce import caption, judge
from weft.papers.statement import CAUSES, Kind, statement

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "claims"
"""The document of each figure."""
OVERVIEW = ROOT / "docs" / "validation" / "figures.md"
"""The table of all figures."""
MAX_MEASURED = 90
"""Maximum length of a measured value in that table, in characters."""


def result(figure: str) -> Path:
    """Returns the path of a figure's document."""
    return RESULTS / f"{figure.replace('/', '-')}.json"


def take_over(folder: Path) -> None:
    """Keeps the documents of the figures in a folder that `weft reproduce` has left.

    Raises:
        SystemExit: None, or from fewer seeds; or a quick version would take the place of one at full size.
    """
    if not (folder / "claims.json").exists():
        sys.exit(f"{folder}: has no claims.json; allowed: a folder that `weft reproduce` has written")
    document = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    for figure in document.get("figures", [document]):
        if 0 < figure["seeds"] < Scale.seeds:
            sys.exit(f"{folder}: {figure['figure']}: {figure['scale']}; allowed: {Scale.seeds} seeds or more")
        kept_at = result(figure["figure"])
        if is_quick(figure) and kept_at.exists() and not is_quick(json.loads(kept_at.read_text(encoding="utf-8"))):
            sys.exit(f"{folder}: {figure['figure']}: {figure['scale']}; allowed: full size, as in {kept_at}")
        claims = judge(find_figures(figure["figure"])[0], pl.read_parquet(folder / figure["tables"][0]))
        kept = {part: figure[part] for part in ("figure", "title", "caption", "scale", "date")}
        kept["claims"] = [claim.document() for claim in claims]
        text = json.dumps(kept | {"version": document["version"]}, indent=2, ensure_ascii=False)
        kept_at.write_text(f"{text}\n", encoding="utf-8")


def is_quick(document: dict[str, Any]) -> bool:
    """Whether a document is that of a quick version."""
    return bool(document["scale"].startswith("quick"))


def annotate(document: dict[str, Any]) -> dict[str, Any]:
    """Returns a stored document with today's title, caption and statements."""
    (figure,) = find_figures(document["figure"])
    claims = []
    for claim in document["claims"]:
        behind = statement(document["figure"], claim["claim"])
        parts = {part: claim[part] for part in (*CLAIM_PARTS, "table")}
        late = behind.fixed is not None and behind.fixed.isoformat() > document["date"]
        if behind.kind is Kind.SHOWN or late:
            parts |= {"holds": None, "by_seed": []}
        claims.append(parts | behind.document(parts["holds"]))
    return document | {"title": figure.title, "caption": caption(figure), "claims": claims}


def annotate_all() -> None:
    """Writes the statements into all stored documents."""
    for figure in FIGURES:
        path = result(figure.name)
        if path.exists():
            document = annotate(json.loads(path.read_text(encoding="utf-8")))
            path.write_text(f"{json.dumps(document, indent=2, ensure_ascii=False)}\n", encoding="utf-8")


def verdict(claim: dict[str, Any]) -> str:
    """The verdict of a stored claim, in words."""
    if claim["holds"] is not None:
        return "holds" if claim["holds"] else "does not hold"
    return "shown" if claim["kind"] == Kind.SHOWN else "no verdict" if claim["fixed"] is None else "not yet rerun"


def count_table(papers: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    """The statements of each paper's documents by origin, verdict and cause; a paper without a name has no column."""
    named = [] if list(papers) == [""] else ["paper"]
    head = (*named, "statements of origin", "judged", "hold", *CAUSES, "claims shown or not yet rerun")
    yield row(head)
    yield f"|{'---|' * len(head)}"
    for paper, documents in papers.items():
        for origin in count(documents):
            # Statements of Weft's own have no cause.
            causes = [str(origin.causes.get(kind, 0)) if "" not in origin.causes else "" for kind in CAUSES]
            name = [f"`{paper}`"] if named else []
            yield row((*name, str(origin.origin), str(origin.judged), str(origin.hold), *causes, str(origin.shown)))


def row(cells: Iterable[str]) -> str:
    """One row of a table in Markdown."""
    escaped = (" ".join(text.split()).replace("|", "\\|").replace("<", "&lt;") for text in cells)
    return f"| {' | '.join(escaped)} |"


def overview() -> str:
    """The text that `docs/validation/figures.md` must have: one line for each figure of the papers."""
    names = dict.fromkeys(name.partition("/")[0] for name in HEADLINES)
    stored = {
        paper: [
            json.loads(result(figure.name).read_text(encoding="utf-8"))
            for figure in FIGURES
            if figure.paper == paper and result(figure.name).exists()
        ]
        for paper in names
    }
    parts = [OVERVIEW_INTRODUCTION, *count_table(stored), "", OVERVIEW_HEADING]
    parts.append(row(("figure", "headline", "paper", "here", "verdict", "cause", "statements that hold")))
    parts.append(f"|{'---|' * 7}")
    parts += [_line(document) for documents in stored.values() for document in documents]
    return "\n".join(parts) + "\n"


def _line(document: dict[str, Any]) -> str:
    headline = next(claim for claim in document["claims"] if claim["claim"] == HEADLINES[document["figure"]])
    counts = count([document])
    cause = headline["cause"]["kind"] if headline["cause"] else ""
    # Stored results have the word that the style has replaced since.
    measured = textwrap.shorten(headline["measured"].replace(" beside ", " with "), MAX_MEASURED, placeholder=" …")
    hold = f"{sum(value.hold for value in counts)} of {sum(value.judged for value in counts)}"
    cells = (headline["claim"], headline["paper"], measured, verdict(headline), cause, hold)
    return row((f"`{document['figure']}`", *cells))


OVERVIEW_INTRODUCTION = """\
---
type: results
---

<!-- Generated by python/generate_claims.py: do not edit; change the figures instead. -->

# All figures

This page has one line for each figure of the four papers.
[Claims](../claims) has every claim, its sentence in the paper and the cause of each failure.

## Statements by paper, origin and cause

- A claim of kind **judged** tests one reading of a statement, which was fixed before the run.
  A claim that is **shown** is another reading and has no verdict.
- The **origin** of a statement is the paper, the paper's statement tested on Linux, or Weft.
- The **cause** of a failure is one of four.
  A *contradiction* is within the paper; the page computes the sum that proves it.
  A value is *not stated*; the page names the one that would be needed.
  Weft *differs* from the paper's experiment, and an experiment shows that it matters.
  A cause is *open* if none of these is known.
- A statement counts once, whatever the number of claims that judge it.
"""
OVERVIEW_HEADING = """\
## One headline for each figure

The last column counts the figure's statements of all origins that hold.
"""


if __name__ == "__main__":
    RESULTS.mkdir(exist_ok=True)
    for argument in sys.argv[1:]:
        take_over(Path(argument))
    annotate_all()
    OVERVIEW.write_text(overview(), encoding="utf-8")
