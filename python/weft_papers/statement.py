"""The statement that a claim judges: its author, the reading that is judged, and the cause of a failure.

A claim holds a measured value and a verdict. A statement holds everything that is known before the run: the paper's
sentence, the day on which its reading was fixed, and settings that were fitted to the result. The cause of a failure
is written after the run and never changes the verdict.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft_papers import sums

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import date


class Kind(StrEnum):
    """Whether a claim has a verdict."""

    JUDGED = "judged"
    """The one reading of a statement that was fixed before the run."""
    SHOWN = "shown"
    """Another reading, or the judged reading with other settings: measured, without a verdict."""


class Origin(StrEnum):
    """Source of a statement, and the system on which it is tested."""

    PAPER = "paper"
    LINUX = "paper on Linux"
    """A statement of the paper, tested on a kernel at the testbed's rates, which are not the paper's."""
    WEFT = "weft"
    """A statement that the paper does not make."""


@dataclass(frozen=True)
class Contradiction:
    """The statement contradicts the paper's own equations or numbers."""

    between: str
    """The two parts of the paper that contradict each other."""
    proof: Callable[[], str]
    """A function that computes the sum that proves the contradiction, as text."""

    kind = "contradiction"

    @property
    def text(self) -> str:
        """Returns the contradiction and its proof."""
        return f"{self.between}: {self.proof()}"


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run of a figure in which a claim that fails holds; `weft_papers.causes` repeats it."""

    seeds: int = 1
    """Number of seeds; 0 if the figure follows from equations."""
    quick: bool = False
    """Whether it is the quick version of the figure."""
    set: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the specs with other values, by path; below `transports.NAME` only where that transport runs."""
    constants: Mapping[str, Any] = field(default_factory=dict)
    """Constants of the figure's module with other values; `NAME.key` is a key of a dictionary or field of a dataclass.
    """
    only: Mapping[str, list[Any]] = field(default_factory=dict)
    """Values of labels to which the figure's cases are restricted, where claims need no others."""
    figure: str = ""
    """The figure that runs; empty for the claim's own."""
    claim: str = ""
    """The claim that is judged; empty for the claim itself."""

    def __str__(self) -> str:
        """Formats the run, as in "quick, 1 seed, hosts.jitter = 0us"."""
        size = f"{'quick' if self.quick else 'full size'}, {self.seeds} seed{'s' if self.seeds > 1 else ''}"
        size = size if self.seeds else "by equations"
        changes = [f"{name} = {_shown(value)}" for name, value in {**self.set, **self.constants, **self.only}.items()]
        judged = f'"{self.claim}"' if self.claim else ""
        return ", ".join(filter(None, (self.figure, judged, size, *changes)))


@dataclass(frozen=True)
class NotStated:
    """The verdict depends on a setting or a measure that the paper does not give."""

    missing: str
    """The setting or measure."""
    needed: str
    """The value with which the statement holds."""
    run: Run | None = None
    """A run with that value, in which the claim holds."""

    kind = "not stated"

    @property
    def text(self) -> str:
        """Returns the missing setting, the value that is needed, and the run."""
        return f"{self.missing}; needed: {self.needed}{_of_run(self.run)}"


@dataclass(frozen=True)
class Differs:
    """Weft differs from the paper's experiment, and an experiment shows that the difference matters."""

    difference: str
    """The part of Weft that differs."""
    experiment: str
    """The experiment and its result."""
    run: Run | None = None
    """The experiment as a run in which the claim holds."""

    kind = "differs"

    @property
    def text(self) -> str:
        """Returns the difference, the experiment, and the run."""
        return f"{self.difference}; experiment: {self.experiment}{_of_run(self.run)}"


@dataclass(frozen=True)
class Open:
    """The cause is not known."""

    examined: str
    """Explanations that were examined, and those that remain."""

    kind = "open"

    @property
    def text(self) -> str:
        """Returns the explanations that were examined."""
        return self.examined


Cause = Contradiction | NotStated | Differs | Open
CAUSES = ("contradiction", "not stated", "differs", "open")
"""The kinds of causes, in the order of tables."""
UNEXAMINED = Open("not examined: the claim holds in the results that the documentation has, or there are none yet")
"""The cause of a failure that the statement does not explain."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """The origin, reading and cause behind a claim."""

    sentence: str = ""
    """The paper's words, shortened; empty if the statement is Weft's own."""
    kind: Kind = Kind.JUDGED
    origin: Origin = Origin.PAPER
    fixed: date | None = None
    """The day on which the reading was fixed; None if it is Weft's own or has no verdict."""
    fitted: tuple[str, ...] = ()
    """Settings whose values were chosen after a run had been seen."""
    cause: Cause | None = None
    """The cause of a failure at full size; None if the claim holds, or has no verdict."""
    same_as: str = ""
    """A name that all claims of one statement share; empty if no other claim judges the statement."""

    def document(self, holds: bool | None) -> dict[str, Any]:  # noqa: FBT001 - the verdict, as a claim has it
        """Returns the document for JSON; only a failure has a cause."""
        cause = None
        if holds is False:
            cause = self.cause or (None if self.origin is Origin.WEFT else UNEXAMINED)
        return {
            "kind": str(self.kind),
            "origin": str(self.origin),
            "sentence": self.sentence,
            "fixed": None if self.fixed is None else self.fixed.isoformat(),
            "fitted": list(self.fitted),
            "same_as": self.same_as,
            "cause": None if cause is None else {"kind": cause.kind, "text": cause.text},
        }


OWN = Statement(origin=Origin.WEFT)
"""The statement of a claim that is in no paper."""


def statement(figure: str, claim: str) -> Statement:
    """Returns the statement behind a figure's claim; Weft's own if no paper makes it.

    Args:
        figure: The figure's name, such as "amp/fig02".
        claim: The claim's sentence.
    """
    return statements(figure).get(claim, OWN)


@cache
def statements(figure: str) -> Mapping[str, Statement]:
    """Returns the statements behind a figure's claims, by the claims' sentences."""
    file = Path(__file__).parent / figure.partition("/")[0].replace("-", "_") / "statements.toml"
    document = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    causes = {name: _cause(fields) for name, fields in document.get("causes", {}).items()}
    return {entry.pop("claim"): _statement(entry, causes) for entry in document.get(figure, [])}


def _statement(entry: dict[str, Any], causes: Mapping[str, Cause]) -> Statement:
    """Returns the statement of an entry; its cause is the name of one or stands in the entry."""
    match entry.pop("cause", None):
        case str(name):
            entry["cause"] = causes[name]
        case dict(fields):
            entry["cause"] = _cause(fields)
    for name, kind in (("kind", Kind), ("origin", Origin), ("fitted", tuple)):
        if name in entry:
            entry[name] = kind(entry[name])
    return Statement(**entry)


def _cause(fields: dict[str, Any]) -> Cause:
    """Returns the cause that has these fields; a proof is the name of a function of `sums`."""
    match fields:
        case {"between": between, "proof": proof}:
            return Contradiction(between, getattr(sums, proof))
        case {"examined": examined}:
            return Open(examined)
    run = Run(**fields["run"]) if "run" in fields else None
    kind = NotStated if "missing" in fields else Differs
    return kind(**fields | {"run": run})


def _of_run(run: Run | None) -> str:
    return "" if run is None else f"; run: {run}"


def _shown(value: object) -> str:
    """Formats the value of a setting, as in "0us" or "1, 2, 4"."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
