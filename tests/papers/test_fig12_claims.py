"""The claims of figure 12 on tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from weft_papers.amp import fig12
from weft_papers.figure import Scale

PAPER = {
    ("dctcp", 1): 1.2,
    **{("amp", n): 1.1 for n in fig12.SUBFLOWS},
    **{("xmp", n): p90 for n, p90 in fig12.PAPER_XMP_MS.items()},
    **{("dcm", n): p90 for n, p90 in fig12.PAPER_XMP_MS.items()},
    (fig12.WITHOUT, 8): 1.8,
}
"""90th percentiles of the JCT in ms."""


def table(p90: dict[tuple[str, int], float]) -> pl.DataFrame:
    """23 jobs a cell, of which the 18th to 21st are the 90th percentile, whatever becomes of the last."""
    cells = [(fig12.PAPER, cell, seed) for cell in p90 for seed in (1, 2, 3)]
    cells += [(variant, cell, 1) for variant in fig12.VARIANTS if variant != fig12.PAPER for cell in fig12.VARIED]
    return pl.concat(
        pl.DataFrame(
            {
                "variant": variant,
                "subflows": subflows,
                "algorithm": algorithm,
                "seed": seed,
                "jct_ms": [0.8] * 17 + [p90[algorithm, subflows]] * 4 + [300.0, None],
                # Begun just before the run's end: what is known of it moves no percentile.
                "unfinished_ms": [None] * 22 + [0.1],
                "timeouts": [0] * 21 + [1, 0],
                "long_goodput_gbps": 5.0,
                "long_suppressed": 0.4,
            }
        )
        for variant, (algorithm, subflows), seed in cells
    )


def verdicts(p90: dict[tuple[str, int], float]) -> list[bool | None]:
    return [claim.holds for claim in fig12.claims(table(p90))]


def test_holds_for_the_papers_numbers() -> None:
    claims = fig12.claims(table(PAPER))
    assert [claim.holds for claim in claims] == [True] * 8
    assert claims[4].measured == "1.8 ms"
    assert "jobs with a timeout or cut off by the run's end: dctcp x1 8.7 %" in claims[0].note
    assert claims[6].measured == "38.9 %"
    assert claims[4].note.count("with ") == 2
    assert claims[7].note.endswith("suppressed 40 % of the time")


@pytest.mark.parametrize(
    ("changes", "failing"),
    [
        ({("amp", 6): 1.25}, {0}),
        ({("amp", 4): 0.85}, {0}),
        ({("dcm", 6): 1.9}, {1}),
        ({("dcm", 8): 1.45, ("dcm", 6): 1.3}, {1}),
        ({("xmp", 4): 1.5}, {1, 2}),
        ({("xmp", 6): 1.75}, {3}),
        ({("xmp", 8): 2.2}, {4, 6}),
        ({("amp", 8): 1.3}, {0, 5, 6}),
        ({(fig12.WITHOUT, 8): 1.2}, {7}),
    ],
)
def test_each_can_fail(changes: dict[tuple[str, int], float], failing: set[int]) -> None:
    held = verdicts(PAPER | changes)
    assert {n for n, holds in enumerate(held) if not holds} == failing


def test_quick_table_has_no_variants() -> None:
    rows = table(PAPER).filter(variant=fig12.PAPER)
    assert all(claim.holds for claim in fig12.claims(rows))
    assert len(fig12.plot(rows).axes) == 3


def test_full_size_is_the_papers() -> None:
    full = fig12.cases(Scale(seeds=2))
    assert len(full) == 2 * 11 + 2 * 4
    traffic = full[0].experiment.model_dump(by_alias=True)["traffic"]
    assert (traffic[0]["servers"], traffic[0]["slots"]) == (10, 8)
    assert traffic[1]["size"]["mean"] == "192MB"
    assert {case.experiment.model_dump(by_alias=True)["stop"]["flows"] for case in full} == {1000}
    assert {case.labels["variant"] for case in fig12.cases(Scale(seeds=1, quick=True))} == {fig12.PAPER}
