"""The claims about figures 5 and 6 of amp-fg on tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from weft_papers.amp_fg import fig05
from weft_papers.figure import Scale

LIA, CONTROLLED, LOWER = range(3)
PAPER = {"lia": (0, 100), "xmp": (10, 20), "amp-fg": (5, 18)}
"""The shortest and the longest queue with a buffer of 100; with 500 they are five times that."""


def table(changes: dict[str, tuple[int, int]] | None = None) -> pl.DataFrame:
    """Two seeds; half of the time the queue is the shortest."""
    found = PAPER | (changes or {})
    found |= {"xmp-floor-1": found["xmp"], "amp-fg-floor-2": found["xmp"], "amp-fg-neighbours": found["amp-fg"]}
    return pl.DataFrame(
        [
            {"reading": reading, "buffer": buffer, "algorithm": name, "seed": seed, "drops": 1, "timeouts": 0}
            | {"packets": packets * buffer // 100, "fraction": fraction}
            for reading in fig05.READINGS
            for buffer in fig05.BUFFERS
            for name, lengths in found.items()
            for seed in (1, 2)
            for packets, fraction in zip(lengths, (0.5, 1.0), strict=True)
        ]
    )


def failing(changes: dict[str, tuple[int, int]] | None = None) -> list[int]:
    return [index for index, claim in enumerate(fig05.claims(table(changes))[:3]) if not claim.holds]


def test_affected_by_the_buffer_is_the_growth_of_the_mean() -> None:
    *_, affected = fig05.claims(table())
    assert (affected.holds, affected.measured) == (True, "LIA 200 packets, XMP 60 packets, AMP-FG 46 packets")
    *_, affected = fig05.claims(table({"amp-fg": (14, 18)}))
    assert not affected.holds


def test_claims_hold_for_the_papers_numbers() -> None:
    assert failing() == []
    assert all(claim.holds for claim in fig05.claims(table())[3:])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"lia": (20, 100)}, [LIA]),
        ({"lia": (0, 80)}, [LIA]),
        ({"xmp": (10, 30)}, [CONTROLLED]),
        ({"amp-fg": (0, 26)}, [CONTROLLED]),
        ({"amp-fg": (14, 18)}, [LOWER]),
    ],
)
def test_each_can_fail(changes: dict[str, tuple[int, int]], expected: list[int]) -> None:
    assert failing(changes) == expected


def test_means_are_weighted_by_time() -> None:
    assert "XMP 15, AMP-FG 11.5" in fig05.claims(table())[LOWER].note


def test_readings_have_80_and_10_subflows() -> None:
    found = {}
    for case in fig05.cases(Scale(seeds=1, quick=True)):
        spec = case.experiment
        found[case.labels["reading"]] = sum(spec.transports[value.transport].subflows for value in spec.traffic)
    assert found == {fig05.EACH: 80, fig05.IN_ALL: 10}


def test_plot_has_a_panel_for_each_buffer_and_reading() -> None:
    assert len(fig05.plot(table()).axes) == 4
