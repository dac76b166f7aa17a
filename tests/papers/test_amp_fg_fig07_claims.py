"""The claims about figure 7 of amp-fg on tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from weft_papers.amp_fg import fig07
from weft_papers.figure import Scale

SMALL, SMALL_DCTCP, SMALL_MMPTCP, SMALL_LIA, SMALL_XMP = range(5)
LARGE, LARGE_DCTCP, LARGE_MMPTCP, LARGE_LIA, LARGE_XMP = range(5, 10)
ABSTRACT, CONCURRENT, JOBS = 10, 11, 12


def table(changes: dict[tuple[str, str], float] | None = None) -> pl.DataFrame:
    """Two seeds of two objects of each kind, whose mean is that of the paper, compared with AMP-FG's 100 ms."""
    found = {(kind, name): 100 / (1 - below / 100) for kind, of in fig07.PAPER.items() for name, below in of.items()}
    found |= {(kind, "amp-fg"): 100.0 for kind in fig07.PAPER} | (changes or {})
    return pl.DataFrame(
        [
            {"reading": reading, "size_kb": kb, "algorithm": name, "seed": seed}
            | {
                "fct_ms": fct + more,
                "jct_ms": 2 * fct,
                "timeouts": 0,
                "large_mb": 100.0,
                "size_mb": 0.5 if kind == "small" else 120.0,
            }
            for reading, kb in ((fig07.UNIFORM, 0), (fig07.EQUAL, 10), (fig07.CONCURRENT, 0))
            for (kind, name), fct in found.items()
            for seed in (1, 2)
            for more in (-10.0, 10.0)
        ]
    )


def failing(changes: dict[tuple[str, str], float] | None = None) -> list[int]:
    return [index for index, claim in enumerate(fig07.claims(table(changes))) if claim.holds is False]


def test_claims_hold_for_the_papers_numbers() -> None:
    assert failing() == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({("small", "lia"): 99.0}, [SMALL, SMALL_LIA, ABSTRACT, CONCURRENT]),
        ({("small", "dctcp"): 130.0}, [SMALL_DCTCP]),
        ({("large", "xmp"): 101.0}, [LARGE_XMP]),
        ({("large", "amp-fg"): 140.0}, [LARGE, LARGE_DCTCP, LARGE_MMPTCP, LARGE_LIA, LARGE_XMP]),
    ],
)
def test_each_can_fail(changes: dict[tuple[str, str], float], expected: list[int]) -> None:
    assert failing(changes) == expected


def test_seed_without_small_objects_says_nothing_of_them() -> None:
    some = table().filter((pl.col("size_mb") > 1) | (pl.col("seed") == 2))
    assert len(fig07.claims(some)) == len(fig07.claims(table()))
    large = fig07.claims(some.filter(seed=1))
    assert [claim.claim.startswith("Above") for claim in large] == [True] * LARGE + [False]


def test_abstract_is_also_judged_with_concurrent_jobs() -> None:
    one = fig07.claims(table().filter(pl.col("reading") != fig07.CONCURRENT))
    assert len(one) == JOBS
    changed = pl.when(reading=fig07.CONCURRENT, algorithm="xmp").then(90.0).otherwise("fct_ms")
    both = fig07.claims(table().with_columns(fct_ms=changed))
    assert (both[ABSTRACT].holds, both[CONCURRENT].holds) == (True, False)
    assert both[CONCURRENT].claim == f"{both[ABSTRACT].claim}, {fig07.SLOTS} jobs at a time"


def test_time_of_jobs_is_shown_for_both_readings() -> None:
    jobs = fig07.claims(table())[JOBS]
    assert jobs.holds is None
    assert jobs.measured.endswith("AMP-FG 200 ms")
    assert jobs.note.endswith("AMP-FG 200 ms")


def test_concurrent_jobs_are_at_full_size_only() -> None:
    def slots(*, quick: bool) -> set[int]:
        cases = fig07.cases(Scale(seeds=1, quick=quick))
        return {entry.slots for case in cases for entry in case.experiment.traffic}  # type: ignore[union-attr]

    assert (slots(quick=True), slots(quick=False)) == ({1}, {1, fig07.SLOTS})


def test_other_reading_is_a_table() -> None:
    shown = fig07.claims(table())[SMALL].table
    assert shown is not None
    assert [row[0] for row in shown.rows] == ["10 KB each"]


def test_only_dctcp_is_single_path() -> None:
    cases = fig07.cases(Scale(seeds=1, quick=True))
    single = {
        case.labels["algorithm"] for case in cases for of in case.experiment.transports.values() if of.subflows == 1
    }
    assert single == {"dctcp"}


def test_plot_has_both_kinds() -> None:
    assert [axes.get_title() for axes in fig07.plot(table()).axes] == ["small objects", "large objects"]
