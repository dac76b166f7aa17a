"""The site's pages of claims: one page per paper, one block per claim, made of the documents in `docs/claims`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from generate_claims import RESULTS, count_table, is_quick, result, run, verdict
from weft_papers import FIGURES
from weft_papers.figure import Scale
from weft_papers.paper import title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

INDEX = "claims.md"
MAX_PARTS_IN_A_LINE = 2
"""Measured values that are not shown as a list."""
BLOCKS = {True: "success", False: "failure", None: "info"}
"""The admonition of each verdict."""

PAGE = """\
---
type: results
search:
  exclude: true
---

"""
INTRODUCTION = """\
# Claims of the papers

These pages list the statements of the papers, what Weft measured, and how `weft reproduce PAPER` judges each claim.
[Read a verdict](how-to/figures.md#read-a-verdict) says what the words mean.
[All figures](validation/figures.md) explains kinds, origins and causes, and counts statements by them.
A number is the mean over the seeds, with the lowest and the highest value in brackets. "Seeds alone" counts the seeds
whose own number would have the verdict "holds". If a claim does not hold, "Why" gives the best explanation found.

| paper | claims that hold | figures with verdicts |
|---|---|---|"""


def papers() -> list[str]:
    """The papers, in the order of the registry."""
    return list(dict.fromkeys(figure.paper for figure in FIGURES))


def page(paper: str) -> str:
    """The address of a paper's page in the site."""
    return f"claims/{paper}.md"


def anchor(figure: str) -> str:
    """The anchor of a figure on its paper's page."""
    return figure.rpartition("/")[2]


def pages() -> Iterator[tuple[str, str]]:
    """The address and the text of each page, the index first."""
    rows = [_counts(paper) for paper in papers()]
    yield INDEX, PAGE + "\n".join([INTRODUCTION, *rows, ""])
    for paper in papers():
        yield page(paper), PAGE + "\n".join(_paper(paper))


def _documents(paper: str) -> list[dict[str, Any]]:
    kept = [result(figure.name) for figure in FIGURES if figure.paper == paper]
    return [json.loads(file.read_text(encoding="utf-8")) for file in kept if file.exists()]


def _hold(documents: list[dict[str, Any]]) -> str:
    claims = [claim["holds"] for document in documents for claim in document["claims"] if claim["holds"] is not None]
    return f"{sum(claims)} of {len(claims)}"


def _counts(paper: str) -> str:
    documents, figures = _documents(paper), [figure for figure in FIGURES if figure.paper == paper]
    return f"| [{title(paper)}]({page(paper)}) | {_hold(documents)} | {len(documents)} of {len(figures)} |"


def _paper(paper: str) -> Iterator[str]:
    documents = _documents(paper)
    yield f"# {title(paper)}\n"
    yield f"{_hold(documents)} claims hold. [All papers](../{INDEX}) explains the fields of a claim.\n"
    yield from count_table({"": documents})
    yield ""
    quick = [f"`{document['figure']}`" for document in documents if is_quick(document)]
    if quick:
        yield f"Only the quick version has been run of {', '.join(quick)}.\n"
    for document in documents:
        yield from _figure(document)
    for figure in FIGURES:
        if figure.paper == paper and not result(figure.name).exists():
            yield f"## `{figure.name}`: {figure.title} {{ #{anchor(figure.name)} }}\n"
            yield f"There is no verdict from {Scale.seeds} seeds yet.\n"


def _figure(document: dict[str, Any]) -> Iterator[str]:
    yield f"## `{document['figure']}`: {document['title']} {{ #{anchor(document['figure'])} }}\n"
    scale = f"{document['scale'][:1].upper()}{document['scale'][1:]}"
    yield f"{scale}; run of {run(document)}; Weft {document['version']}. {_text(document['caption'])}\n"
    if document["older_than"]:
        yield from _older(document)
    for claim in document["claims"]:
        yield from _claim(claim)


def _older(document: dict[str, Any]) -> Iterator[str]:
    yield f'!!! warning "Older than {_text(document["older_than"])}"\n'
    yield "    The figure was not rerun at full size since.\n"
    if document["older"]:
        yield "    The quick version has another verdict than at the time of the run on:\n"
        yield from (f"    - {_text(claim)}" for claim in document["older"])
        yield ""


def _claim(claim: dict[str, Any]) -> Iterator[str]:
    yield f'!!! {BLOCKS[claim["holds"]]} "{_text(claim["claim"])}"\n'
    alone = f" (seeds alone: {sum(claim['by_seed'])} of {len(claim['by_seed'])})" if claim["by_seed"] else ""
    yield from _field("Verdict", f"{verdict(claim)}{alone}")
    yield from _field("Statement", _statement(claim))
    yield from _field("Paper", claim["paper"])
    yield from _field("Measured", claim["measured"])
    if claim["cause"] is not None:
        yield from _field("Cause", f"{claim['cause']['kind']}. {claim['cause']['text']}")
    yield from _field("Why", claim["note"])
    if table := claim.get("table"):
        yield f"    {_row(table['columns'])}"
        yield f"    |{'---|' * len(table['columns'])}"
        yield from (f"    {_row(row)}" for row in table["rows"])
        yield ""


def _statement(claim: dict[str, Any]) -> str:
    """The origin of the statement, its sentence, and how its reading was fixed."""
    sentence = f', "{claim["sentence"]}"' if claim["sentence"] else ""
    day = f", reading of {claim['fixed']}" if claim["fixed"] else ""
    fitted = f", fitted to a run: {', '.join(claim['fitted'])}" if claim["fitted"] else ""
    return f"{claim['origin']}{sentence}{day}{fitted}"


def _field(name: str, text: str) -> Iterator[str]:
    parts = _text(text).split("; ")
    if len(parts) > MAX_PARTS_IN_A_LINE and name == "Measured":
        yield f"    **{name}:**\n"
        yield from (f"    - {part}" for part in parts)
        yield ""
    elif text:
        yield f"    **{name}:** {_text(text)}\n"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(_text(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def _text(text: str) -> str:
    return " ".join(text.split()).replace("<", "&lt;")


__all__ = ["INDEX", "RESULTS", "anchor", "page", "pages", "papers"]
