"""The claims about figure 4 of mptcp-dc on tables made by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from weft_papers.figure import Scale
from weft_papers.mptcp_dc import fig04

BETTER, APPROACHES, LITTLE, ABSTRACT = range(4)
PERCENT = {
    "vlb": 50.0,
    "multipath": 90.0,
    **{fig04.scheme(ms): percent for ms, percent in zip(fig04.INTERVALS_MS, (88, 87, 85, 54, 52), strict=True)},
}
"""Throughput in parts of the most."""


def table(changes: dict[str, float] | None = None, *, full: bool = True) -> pl.DataFrame:
    """Two seeds; at full size other lengths and TCPs, in which everything is different."""
    rows: list[dict[str, Any]] = [
        {"scheme": name, "tcp": "ns2", "seconds": fig04.SECONDS, "seed": seed, "throughput": percent, "large_s": 1.5}
        for name, percent in (PERCENT | (changes or {})).items()
        for seed in (1, 2)
    ]
    if full:
        other: dict[str, Any] = {"seed": 1, "throughput": 10.0, "large_s": None}
        rows += [{"scheme": name, "tcp": "ns2", "seconds": fig04.LONG_S} | other for name in PERCENT]
        rows += [{"scheme": name, "tcp": "linux", "seconds": fig04.SECONDS} | other for name in fig04.LINUX]
    return pl.DataFrame(rows)


def failing(rows: pl.DataFrame) -> list[int]:
    return [index for index, claim in enumerate(fig04.claims(rows)) if not claim.holds]


@pytest.mark.parametrize("full", [True, False])
def test_claims_hold_for_the_papers_numbers(*, full: bool) -> None:
    assert failing(table(full=full)) == []
    assert ("Linux's TCP" in fig04.claims(table(full=full))[BETTER].note) == full


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"vlb": 73.0}, [BETTER]),
        ({fig04.scheme(100): 80.0}, [APPROACHES]),
        ({fig04.scheme(500): 56.0}, [LITTLE]),
        ({fig04.scheme(10): 96.0}, [ABSTRACT]),
    ],
)
def test_each_can_fail(changes: dict[str, float], expected: list[int]) -> None:
    assert failing(table(changes)) == expected


def test_only_the_scheduler_has_a_controller() -> None:
    controlled = {
        str(case.labels["scheme"]) for case in fig04.cases(Scale(seeds=1)) if case.experiment.controller is not None
    }
    assert controlled == {fig04.scheme(ms) for ms in fig04.INTERVALS_MS}


def test_plot_has_both_lines_and_the_scheduler() -> None:
    labels = fig04.plot(table()).axes[0].get_legend_handles_labels()[1]
    assert labels == ["VLB", "Multipath TCP", "First fit"]
