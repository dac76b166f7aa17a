"""The claims about figures 2 and 3 of amp-fg on tables made by hand."""

from __future__ import annotations

import polars as pl

from weft_papers.amp_fg import fig02, settings

UNIT_S = fig02.UNIT * settings.RTT_US * 1e-6


def table(of_single: int = 1, of_4: int = 10, of_8: int = 30, *, slow: bool = False) -> pl.DataFrame:
    """Two seeds: the queue jumps between 0 and a length, with 8 subflows at every sample, else at every fourth."""
    rows = []
    for step in range(130):
        at = step / 10
        eight = 3 <= at < 8
        up = step % 2 if eight and not slow else step // 4 % 2
        for paths, length in ((fig02.SINGLE, of_single), (fig02.MULTI, of_8 if eight else of_4)):
            for algorithm in fig02.ALGORITHMS:
                row = {"paths": paths, "algorithm": algorithm, "unit": fig02.UNIT, "at_s": (at + 0.01) * UNIT_S}
                rows += [row | {"length": up * length, "change": length, "seed": seed} for seed in (1, 2)]
    return pl.DataFrame(rows)


def failing(rows: pl.DataFrame) -> list[int]:
    return [index for index, claim in enumerate(fig02.claims(rows)) if not claim.holds]


def test_claims_hold_for_the_papers_numbers() -> None:
    assert failing(table()) == []


def test_each_can_fail() -> None:
    assert failing(table(slow=True)) == [0]
    assert failing(table(of_8=9)) == [1, 3]
    assert failing(table(of_single=10)) == [2]


def test_plot_has_both_figures() -> None:
    assert [axes.get_title()[:3] for axes in fig02.plot(table()).axes] == ["(2)", "(3)"]
