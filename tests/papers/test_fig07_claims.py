"""The claims of figure 7 on tables made by hand."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from weft_papers.amp import fig07
from weft_papers.figure import Claim

MORE, VARIES, ONE, QUEUE = range(4)


def table(episodes: Callable[[int, int], int], queue: float = 10.0) -> pl.DataFrame:
    """Episodes of each flow by number of flows and tau."""
    return pl.concat(
        pl.DataFrame(
            {
                "delay_us": delay_us,
                "mark": mark,
                "jitter": jitter,
                "flows": m,
                "tau": tau,
                "seed": seed,
                "episodes": [episodes(m, tau)] * m,
                "suppressed_s": 0.9,
                "median_queue": queue,
            }
        )
        for delay_us, mark, jitter in (fig07.PAPER, *fig07.OTHERS)
        for m in fig07.FLOWS
        for tau in fig07.TAUS
        for seed in (1, 2)
    )


def paper(m: int, tau: int) -> int:
    return 1 if tau >= fig07.STABLE else 100 * (6 - tau) // 4 ** (m - 3)


def failing(claims: list[Claim]) -> list[int]:
    return [index for index, claim in enumerate(claims) if claim.holds is False]


def test_holds_for_the_papers_numbers() -> None:
    claims = fig07.claims(table(paper))
    assert failing(claims) == []
    assert "6, 6, 6 with links of 5 us, K = 10" in claims[ONE].note


def test_one_flow_that_oscillates_longer() -> None:
    claims = fig07.claims(table(lambda m, tau: 50 if m == 3 and tau == 6 else paper(m, tau)))
    assert failing(claims) == [ONE]
    assert "7, 6, 6 with links of 5 us, K = 10" in claims[ONE].note


def test_no_suppression_is_not_one_episode() -> None:
    assert failing(fig07.claims(table(lambda m, tau: 0 if tau >= fig07.STABLE else paper(m, tau)))) == [ONE]


def test_stable_everywhere() -> None:
    assert failing(fig07.claims(table(lambda _m, _tau: 1))) == [MORE, VARIES]


def test_long_queue() -> None:
    assert failing(fig07.claims(table(paper, queue=13.0))) == [QUEUE]
