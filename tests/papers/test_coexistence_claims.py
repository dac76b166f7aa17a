"""The claims of figures 9 and 10 on tables made by hand."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from weft_papers.amp import fig09, fig10
from weft_papers.figure import Claim

FAIREST, WEAK_A, WEAK_B, AGGRAVATES, WITHOUT, FEWER_B = range(6)
ALIKE_A, MEDIAN_A, ABOVE, ALWAYS, MEDIAN_B, NO_SSR, MORE = range(7)


def failing(claims: list[Claim]) -> list[int]:
    return [index for index, claim in enumerate(claims) if claim.holds is False]


def indices(jain: Callable[[str, int, int], float]) -> pl.DataFrame:
    """Jain's index by algorithm, multipath flows and DCTCP flows."""
    return pl.concat(
        pl.DataFrame(
            {
                "delay_us": delay_us,
                "jitter": jitter,
                "host_jitter": host_jitter,
                "flows": m,
                "dctcp_flows": n,
                "algorithm": algorithm,
                "seed": seed,
                "jain": [jain(algorithm, m, n)],
                "ratio": 1.0,
            }
        )
        for delay_us, jitter, host_jitter in (
            (5, "0s", "0s"),
            (8, "0s", "0s"),
            (5, fig09.JITTER, "0s"),
            (5, "0s", fig09.HOST_JITTER),
        )
        for m in fig09.PANELS
        for n in fig09.DCTCP_FLOWS
        for algorithm in fig09.ALGORITHMS
        for seed in (1, 2)
    )


def fair(algorithm: str, m: int, n: int) -> float:
    """The index of the paper: with few DCTCP flows there is no syndrome, but for 4 multipath flows."""
    weak = (m == 1 and n < 8) or (m == 2 and n <= 4)
    return 0.99 if algorithm == "amp" else 0.95 if weak else 0.7


def test_fig09_holds_for_the_papers_numbers() -> None:
    assert failing(fig09.claims(indices(fair))) == []


@pytest.mark.parametrize(
    ("jain", "expected"),
    [
        (lambda a, _m, _n: 0.7 if a == "amp" else 0.9, [FAIREST, WEAK_A, WEAK_B, AGGRAVATES, WITHOUT, FEWER_B]),
        (lambda a, m, n: 0.85 if a == "dcm" and (m, n) == (1, 6) else fair(a, m, n), [WEAK_A, WITHOUT]),
        (lambda a, m, n: 0.85 if a == "dcm" and (m, n) == (2, 4) else fair(a, m, n), [WEAK_B, WITHOUT]),
        (lambda a, m, n: 0.85 if a == "dcm" and (m, n) == (2, 2) else fair(a, m, n), [FEWER_B]),
        (lambda a, m, n: 0.95 if n == 4 and a != "amp" else fair(a, m, n), [AGGRAVATES]),
        (lambda a, m, n: 0.98 if a == fig09.WITHOUT else fair(a, m, n), [WITHOUT]),
    ],
)
def test_fig09_can_fail(jain: Callable[[str, int, int], float], expected: list[int]) -> None:
    assert failing(fig09.claims(indices(jain))) == expected


def lengths(median: Callable[[str, int], int]) -> pl.DataFrame:
    """A queue a tenth of the time one shorter than its median, a tenth one longer."""
    return pl.concat(
        pl.DataFrame(
            {
                "delay_us": delay_us,
                "flows": m,
                "algorithm": algorithm,
                "seed": seed,
                "packets": [median(algorithm, m) + step for step in (-1, 0, 1)],
                "fraction": [0.1, 0.9, 1.0],
            }
        )
        for delay_us in (2, 5)
        for m in (*fig10.PANELS, fig10.MORE_FLOWS)
        for algorithm in (*fig10.ALGORITHMS, *([fig10.WITHOUT] if m == 4 else []))
        for seed in (1, 2)
    )


def short(algorithm: str, m: int) -> int:
    return 10 if m == 1 else 12 if algorithm == "amp" else 23 if m == 4 else 50


def test_fig10_holds_for_the_papers_numbers() -> None:
    assert failing(fig10.claims(lengths(short))) == []


@pytest.mark.parametrize(
    ("median", "expected"),
    [
        (lambda a, m: 14 if (a, m) == ("xmp", 1) else short(a, m), [ALIKE_A]),
        (lambda a, m: 12 if (a, m) == (fig10.WITHOUT, 4) else short(a, m), [NO_SSR]),
        (lambda a, m: 25 if (a, m) == ("xmp", 8) else short(a, m), [MORE]),
        (lambda a, m: 60 if (a, m) == ("amp", 8) else short(a, m), [MORE]),
        (lambda a, m: 13 if m == 1 else short(a, m), [MEDIAN_A]),
        (lambda a, m: 20 if (a, m) == ("dcm", 4) else short(a, m), [ABOVE, ALWAYS]),
        (lambda a, m: 21 if (a, m) == ("dcm", 4) else short(a, m), [ALWAYS]),
        (lambda a, m: 15 if (a, m) == ("amp", 4) else short(a, m), [MEDIAN_B]),
    ],
)
def test_fig10_can_fail(median: Callable[[str, int], int], expected: list[int]) -> None:
    assert failing(fig10.claims(lengths(median))) == expected


def test_plots_have_a_panel_a_number_of_flows() -> None:
    assert len(fig09.plot(indices(fair)).axes) == 3
    assert len(fig10.plot(lengths(short)).axes) == 2
