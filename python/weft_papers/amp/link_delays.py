"""The claims of a figure with the link delay that section 5 states, compared with those judged."""

from __future__ import annotations

from collections.abc import Sequence

from weft_papers.amp.settings import DELAY_US, STATED_DELAY_US
from weft_papers.figure import Claim, Table


def with_stated_delay(judged: Sequence[Claim], stated: Sequence[Claim]) -> list[Claim]:
    """Returns one claim without a verdict whose table has both delays; none if the other delay was not run.

    Args:
        judged: The claims with links of `DELAY_US`.
        stated: The same claims with links of `STATED_DELAY_US`.
    """
    if not stated:
        return []
    rows = tuple((one.claim, _cell(one), _cell(other)) for one, other in zip(judged, stated, strict=True))
    same = sum(one.holds == other.holds for one, other in zip(judged, stated, strict=True))
    return [
        Claim(
            f"The claims with links of {STATED_DELAY_US} us",
            f"a link delay of {STATED_DELAY_US} us",
            f"{same} of {len(rows)} verdicts would be the same",
            None,
            f"section 5 states {STATED_DELAY_US} us, and section 3.2 a BDP of 20 packets, which takes {DELAY_US} us",
            table=Table(("claim", f"links of {DELAY_US} us", f"links of {STATED_DELAY_US} us"), rows),
        )
    ]


def _cell(claim: Claim) -> str:
    verdict = {True: "would hold", False: "would not hold", None: "no verdict"}[claim.holds]
    return f"{claim.measured} ({verdict})"
