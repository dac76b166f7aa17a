"""The summary of a reproduction: a line per claim with the paper's value, Weft's value and the verdict."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from weft_papers.headlines import HEADLINES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

COLUMNS = ("claim", "paper", "Weft", "verdict")
WIDTHS = (64, 30, 60)
"""Maximum length of the first three cells, in characters."""
MAX_ROWS = 11
"""Maximum number of claims; with its heading a summary has at most twelve lines."""
FULL = {True: "holds", False: "does not hold", None: "shown"}
"""Verdicts at full size."""
QUICK = {True: "holds (indicative)", False: "not here (indicative)", None: "shown"}
"""Verdicts of a quick version, which decides nothing."""


def is_quick(document: dict[str, Any]) -> bool:
    """Returns true if a figure's document is that of a quick version."""
    return bool(document["scale"].startswith("quick"))


def rows(documents: Sequence[dict[str, Any]]) -> list[tuple[str, str, str, str]]:
    """Returns the rows of a summary: the claims of one figure, or a claim for each of several figures.

    The claim that represents the figure comes first.
    """
    claims = list(_claims(documents))
    return [_row(document, claim) for document, claim in claims[:MAX_ROWS]]


def left_out(documents: Sequence[dict[str, Any]]) -> int:
    """Returns the number of claims that a summary of these figures leaves out."""
    return sum(len(document["claims"]) for document in documents) - len(rows(documents))


def _claims(documents: Sequence[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for document in documents:
        headline = HEADLINES.get(document["figure"])
        first = sorted(document["claims"], key=lambda claim: (claim["claim"] != headline, claim["holds"] is None))
        yield from ((document, claim) for claim in (first if len(documents) == 1 else first[:1]))


def _row(document: dict[str, Any], claim: dict[str, Any]) -> tuple[str, str, str, str]:
    verdict = (QUICK if is_quick(document) else FULL)[claim["holds"]]
    texts = (claim["claim"], claim["paper"], claim["measured"])
    claim_text, paper, measured = (
        textwrap.shorten(text, width, placeholder=" ...") for text, width in zip(texts, WIDTHS, strict=True)
    )
    return claim_text, paper, measured, verdict
