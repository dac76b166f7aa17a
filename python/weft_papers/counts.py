"""Counts of statements by origin, verdict and cause: on the page, in JSON and in the documentation.

A statement counts once. If several claims judge it, it holds if all of them do.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weft_papers.statement import CAUSES, Kind, Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True)
class Count:
    """The statements of one origin."""

    origin: Origin
    hold: int
    causes: Mapping[str, int]
    """Failing statements by the kind of their cause; the key is "" for Weft's own statements, which have no cause."""
    shown: int
    """Claims without a verdict."""

    @property
    def fail(self) -> int:
        """Returns the number of statements that do not hold."""
        return sum(self.causes.values())

    @property
    def judged(self) -> int:
        """Returns the number of statements with a verdict."""
        return self.hold + self.fail

    def document(self) -> dict[str, Any]:
        """Returns the document for JSON."""
        return {
            "origin": str(self.origin),
            "statements": self.judged,
            "hold": self.hold,
            "fail": self.fail,
            "causes": dict(self.causes),
            "shown": self.shown,
        }


def count(figures: Iterable[Mapping[str, Any]]) -> list[Count]:
    """Counts the statements that the claims of these figures judge.

    Args:
        figures: The figures' documents, each with its name and claims.

    Returns:
        One count for each origin that a claim has.
    """
    claims = [(figure["figure"], claim) for figure in figures for claim in figure["claims"]]
    found = []
    for origin in Origin:
        here = [(figure, claim) for figure, claim in claims if claim["origin"] == origin]
        judged: dict[str, list[Mapping[str, Any]]] = {}
        for figure, claim in here:
            if claim["kind"] == Kind.JUDGED and claim["holds"] is not None:
                judged.setdefault(claim["same_as"] or f"{figure}: {claim['claim']}", []).append(claim)
        failing = [_first_failure(each) for each in judged.values() if not all(value["holds"] for value in each)]
        kinds = Counter(failure["cause"]["kind"] if failure["cause"] else "" for failure in failing)
        if here:
            found.append(
                Count(
                    origin,
                    hold=len(judged) - len(failing),
                    causes={kind: kinds[kind] for kind in (*CAUSES, "") if kinds[kind] > 0},
                    shown=sum(claim["kind"] == Kind.SHOWN or claim["holds"] is None for _, claim in here),
                )
            )
    return found


def _first_failure(claims: Iterable[Mapping[str, Any]]) -> Mapping[str, Any]:
    return next(claim for claim in claims if not claim["holds"])
