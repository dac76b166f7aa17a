"""The claims about figure 8 of amp-fg on tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from weft_papers.amp_fg import fig08
from weft_papers.figure import Scale

HIGHER, SLOWLY, HIGHEST, MMPTCP, PERCENT, FEWER, ABSTRACT = range(7)
PAPER: dict[tuple[str, int], float] = {
    ("dctcp", 1): 0.62,
    ("lia", 2): 0.60,
    ("lia", 4): 0.68,
    ("lia", 6): 0.70,
    ("lia", 8): 0.71,
    ("xmp", 2): 0.62,
    ("xmp", 4): 0.70,
    ("xmp", 6): 0.72,
    ("xmp", 8): 0.73,
    ("mmptcp", 2): 0.69,
    ("mmptcp", 4): 0.69,
    ("mmptcp", 6): 0.69,
    ("mmptcp", 8): 0.69,
    ("amp-fg", 2): 0.70,
    ("amp-fg", 4): 0.79,
    ("amp-fg", 6): 0.82,
    ("amp-fg", 8): 0.83,
}
"""Throughput by algorithm and subflows."""


def table(changes: dict[tuple[str, int], float] | None = None, *, others: bool = False) -> pl.DataFrame:
    """Two seeds of two flows each, one faster and one slower."""
    found = PAPER | (changes or {})
    found |= {(name, n): found["amp-fg", n] for name in (fig08.NEIGHBOURS, fig08.FLOOR) for n in fig08.SUBFLOWS}
    patterns = (fig08.PERMUTATION, fig08.MANY_TO_ONE, fig08.ONE_TO_MANY) if others else (fig08.PERMUTATION,)
    return pl.DataFrame(
        [
            {"pattern": pattern, "algorithm": name, "subflows": n, "seed": seed}
            | {"throughput": value + more, "timeouts": 0}
            for pattern in patterns
            for (name, n), value in found.items()
            for seed in (1, 2)
            for more in (-0.05, 0.05)
        ]
    )


def failing(changes: dict[tuple[str, int], float] | None = None) -> list[int]:
    return [index for index, claim in enumerate(fig08.claims(table(changes))) if not claim.holds]


def test_claims_hold_for_the_papers_numbers() -> None:
    assert failing() == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({("lia", 6): 0.67, ("lia", 8): 0.67}, [HIGHER]),
        ({("xmp", 6): 0.65}, [HIGHER, SLOWLY]),
        ({("xmp", 8): 0.80}, [SLOWLY, PERCENT]),
        ({("xmp", 2): 0.71}, [SLOWLY, HIGHEST, PERCENT, HIGHER, ABSTRACT]),
        ({("dctcp", 1): 0.40}, [PERCENT]),
        ({("mmptcp", 2): 0.71}, [HIGHEST, MMPTCP]),
        ({("mmptcp", 2): 0.60}, [MMPTCP]),
        ({("xmp", 8): 0.825, ("xmp", 4): 0.8, ("xmp", 6): 0.81}, [HIGHEST, PERCENT, ABSTRACT]),
        ({("lia", 8): 0.82, ("lia", 6): 0.82, ("lia", 4): 0.81}, [HIGHEST, PERCENT, ABSTRACT]),
    ],
)
def test_each_can_fail(changes: dict[tuple[str, int], float], expected: list[int]) -> None:
    assert failing(changes) == sorted(expected)


def test_equal_number_of_subflows_is_not_fewer() -> None:
    changes = {("amp-fg", 4): 0.71, ("amp-fg", 6): 0.72, ("xmp", 8): 0.835}
    assert FEWER in failing(changes)
    assert "XMP with 8: 8" in fig08.claims(table(changes))[FEWER].measured


def test_target_that_is_not_reached_is_named() -> None:
    assert "LIA with 8: not reached" in fig08.claims(table({("lia", 8): 0.9}))[FEWER].measured


@pytest.mark.parametrize("pattern", [fig08.MANY_TO_ONE, fig08.ONE_TO_MANY])
def test_other_patterns_are_told_where_they_were_run(pattern: str) -> None:
    assert pattern in fig08.claims(table(others=True))[HIGHER].note
    assert pattern not in fig08.claims(table())[HIGHER].note


@pytest.mark.parametrize(
    ("pattern", "wide", "narrow"), [(fig08.MANY_TO_ONE, "from", "to"), (fig08.ONE_TO_MANY, "to", "from")]
)
def test_other_patterns_have_one_host_at_an_end(pattern: str, wide: str, narrow: str) -> None:
    cases = [case for case in fig08.cases(Scale(seeds=1)) if case.labels["pattern"] == pattern]
    traffic = [case.experiment.model_dump(by_alias=True)["traffic"][0] for case in cases]
    assert {(len(entry[wide]), isinstance(entry[narrow], str)) for entry in traffic} == {(fig08.FAN, True)}


def test_plot_has_numbers_of_subflows() -> None:
    assert fig08.plot(table()).axes[0].get_xlabel() == "subflows"
