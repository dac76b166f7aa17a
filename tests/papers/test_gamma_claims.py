"""The claims about gamma on tables made by hand."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from weft_papers.amp import gamma, incast
from weft_papers.amp.settings import DELAY_US
from weft_papers.figure import Claim

ALARMS, ORDER, BEST = range(3)


def table(fct_ms: Callable[[int], float], alarms: Callable[[int], int]) -> pl.DataFrame:
    """Mean FCT in ms by gamma, 0 for DCTCP; false alarms by gamma."""

    def rows(setting: str, gap_us: int, k: int, g: int, seed: int) -> pl.DataFrame:
        alarm = setting == "busy"
        return pl.DataFrame(
            {
                "setting": setting,
                "delay_us": DELAY_US,
                "gap_us": gap_us,
                "k": k,
                "gamma": g,
                "seed": seed,
                "fct_ms": [None if alarm else fct_ms(g)],
                "unfinished_ms": [None],
                "timeouts": 0,
                "suppressions": 1,
                "suppressed_percent": 5.0,
                "episodes_per_s": float(alarms(g)) if alarm else 1.0,
                "goodput_gbps": 1.0,
                "jain": 0.9,
            },
            schema_overrides={"fct_ms": pl.Float64, "unfinished_ms": pl.Float64},
        )

    incasts = [(incast.GAP_US, k) for k in incast.FLOWS] + [(gamma.SHORT_GAP_US, 40)]
    return pl.concat(
        [
            *(rows("incast", gap, k, g, s) for gap, k in incasts for g in (0, *gamma.GAMMAS) for s in (1, 2)),
            *(rows(setting, 0, 0, g, s) for setting in ("busy", "syndrome") for g in gamma.GAMMAS for s in (1, 2)),
        ]
    )


def paper(g: int) -> float:
    return 2.0 if g <= 2 else 30.0


def failing(claims: list[Claim]) -> list[int]:
    return [index for index, claim in enumerate(claims) if claim.holds is False]


def test_holds_for_the_papers_numbers() -> None:
    claims = gamma.claims(table(paper, lambda g: 90 // g))
    assert failing(claims) == []
    assert "3 for k = 10 with 5 us" in claims[ORDER].note


def test_each_can_fail() -> None:
    assert failing(gamma.claims(table(lambda g: 2.0 + 0.1 * g, lambda g: 90 // g))) == [ORDER]
    assert failing(gamma.claims(table(paper, lambda _: 0))) == [ALARMS, BEST]
    # Gamma = 2 is as slow as gamma = 3, so that the sentence says nothing about gamma = 3.
    assert failing(gamma.claims(table(lambda g: 2.0 if g < 2 else 30.0, lambda g: 90 // g))) == [ORDER, BEST]


def test_plot_has_both_panels() -> None:
    assert len(gamma.plot(table(paper, lambda g: 90 // g)).axes) == 2
