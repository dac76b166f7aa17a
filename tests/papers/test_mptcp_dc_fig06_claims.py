"""The claims about figure 6 of mptcp-dc on tables made by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from weft_papers.figure import Scale
from weft_papers.mptcp_dc import fig06

SWEET_SPOT, CONSISTENT = len(fig06.PAPER), len(fig06.PAPER) + 1
WITHOUT = 80.0
"""The scheduler's throughput without host-limited flows, in parts of the most."""


def table(changes: dict[tuple[str, int, str], float] | None = None, *, full: bool = True) -> pl.DataFrame:
    """Two seeds; at full size other readings and VLB, in which everything is different."""
    percent = {
        **{
            ("scheduler", threshold, load): WITHOUT * (1 + loss / 100)
            for (threshold, load), loss in fig06.PAPER.items()
        },
        **{("scheduler", threshold, fig06.NONE): WITHOUT for threshold in fig06.THRESHOLDS},
        **{("multipath", *cell): 88.0 for cell in fig06.PAPER},
        ("multipath", fig06.SWEET, fig06.NONE): 90.0,
    } | (changes or {})
    rows: list[dict[str, Any]] = [
        {"reading": fig06.HERE, "seed": seed} | _row(*cell, throughput)
        for cell, throughput in percent.items()
        for seed in (1, 2)
    ]
    if full:
        loads = (*fig06.JUST, fig06.NONE)
        rows += [{"reading": fig06.HERE, "seed": 1} | _row("vlb", fig06.SWEET, load, 40.0) for load in loads]
        for reading in fig06.OTHERS:
            rows += [{"reading": reading, "seed": 1} | _row("scheduler", fig06.SWEET, load, 10.0) for load in loads]
    return pl.DataFrame(rows)


def _row(scheme: str, threshold: int, load: str, throughput: float) -> dict[str, Any]:
    some = {"scheme": scheme, "threshold": threshold, "load": load, "throughput": throughput}
    return some | {"limited_mbps": None if load == fig06.NONE else 9.5 * threshold, "free_mbps": 500.0}


def failing(rows: pl.DataFrame) -> list[int]:
    return [index for index, claim in enumerate(fig06.claims(rows)) if not claim.holds]


@pytest.mark.parametrize("full", [True, False])
def test_claims_hold_for_the_papers_numbers(*, full: bool) -> None:
    assert failing(table(full=full)) == []
    at_ten = fig06.claims(table(full=full))[2]
    assert ("VLB's throughput with them 40 %" in at_ten.note) == full
    assert ("with the scheduler every 10 ms 0 %" in at_ten.note) == full


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({("scheduler", 5, "over"): 0.73 * WITHOUT}, [0]),
        ({("scheduler", 50, "under"): 0.61 * WITHOUT}, [7]),
        ({("scheduler", 20, "over"): 0.825 * WITHOUT, ("scheduler", 20, "under"): 0.815 * WITHOUT}, [SWEET_SPOT]),
        ({("multipath", 50, "over"): 80.0}, [CONSISTENT]),
        (
            {("multipath", fig06.SWEET, fig06.NONE): 65.0, **{("multipath", *cell): 65.0 for cell in fig06.PAPER}},
            [CONSISTENT],
        ),
        ({("scheduler", 50, fig06.NONE): 40.0}, []),
    ],
)
def test_each_can_fail(changes: dict[tuple[str, int, str], float], expected: list[int]) -> None:
    assert failing(table(changes)) == expected


def test_the_loss_is_over_the_same_scheduler_without_them() -> None:
    assert fig06.claims(table())[0].measured == "-21 %"
    note = fig06.claims(table({("scheduler", 50, fig06.NONE): 0.5 * WITHOUT}))[6].note
    assert "over the same threshold without them -2 %" in note


def test_host_limited_flows_are_just_beside_the_threshold() -> None:
    for case in fig06.cases(Scale(seeds=1)):
        threshold, load = case.labels["threshold"], case.labels["load"]
        rates = [entry.rate for entry in case.experiment.traffic if entry.name == "limited"]  # type: ignore[union-attr]
        if load == fig06.NONE:
            assert rates == []
        else:
            mbps = {"over": 10.5, "under": 9.5}[str(load)] * int(threshold)
            assert rates == [f"{mbps:g}Mbps"]


def test_only_the_scheduler_has_a_controller() -> None:
    for case in fig06.cases(Scale(seeds=1)):
        assert (case.experiment.controller is not None) == (case.labels["scheme"] == "scheduler")


def test_both_flows_of_a_host_go_to_one_host() -> None:
    case = fig06.cases(Scale(seeds=1, quick=True))[0]
    free, limited = case.experiment.model_dump(mode="json")["traffic"]
    assert free["pairs"] == limited["pairs"]
    assert sorted(to for _, to in free["pairs"]) == sorted(f"h{i}" for i in range(16))


def test_table_has_a_line_a_threshold_and_side() -> None:
    shown = fig06.claims(table())[SWEET_SPOT].table
    assert shown is not None
    assert len(shown.rows) == 12
    assert shown.rows[0] == ("5 %", "just above", "63.2 %", "-21 %", "-21 %", "88 %")


def test_plot_has_the_paper_beside_both() -> None:
    labels = fig06.plot(table()).axes[0].get_legend_handles_labels()[1]
    assert labels == ["First fit", "Multipath TCP", "First fit, paper"]
