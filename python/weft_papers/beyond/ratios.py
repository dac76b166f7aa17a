"""Claims on ratios to the optimum: those of several transports are all at most, or all at least, a bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft_papers.figure import Claim, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft_papers.seed_summary import SeedSummary

    Ratios = dict[str, SeedSummary]
    """The ratio of each transport by its name."""


def at_most(claim: str, bound: float, found: Ratios, listed: Callable[[Ratios], str], note: str, table: Table) -> Claim:
    """Holds if the mean of each ratio is at most `bound`, and all flows ended; `listed` prints the ratios."""
    holds = all(ratio.mean <= bound and not ratio.at_least for ratio in found.values())
    return Claim(claim, f"at most {bound} times", listed(found), holds, note, table=table)


def at_least(claim: str, bound: float, found: Ratios, listed: Callable[[Ratios], str], note: str) -> Claim:
    """Holds if the mean of each ratio is at least `bound`; `listed` prints the ratios."""
    holds = all(ratio.mean >= bound for ratio in found.values())
    return Claim(claim, f"at least {bound} times", listed(found), holds, note)
