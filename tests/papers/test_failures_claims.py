"""The claims about failing links on tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from weft_papers.beyond import failures
from weft_papers.figure import Scale
from weft_papers.paper import find_figures
from weft_papers.reproduce import judge

CORE, FAT_TREE, LEAF_SPINE, SPRAYED, SOONER = range(5)
DOWN, SLOW = ("down", 10, "mid-flow"), ("slow", 10, "mid-flow")
Failure = tuple[str, int, str]
KEPT: dict[tuple[Failure, str], float] = {
    **{(DOWN, policy): 0.85 for policy in failures.POLICIES},
    **{(SLOW, policy): 0.8 for policy in failures.POLICIES},
    (SLOW, "rps"): 0.5,
    ((failures.CORE, 0, "mid-flow"), "lia"): 0.95,
}
"""Goodput by failure and way of sending, in parts of that without failures."""
AFTER_MS = {"ecmp": 40.0, "rps": 20.0, "flowlet": 30.0, "lia": 20.0, "amp": 15.0, "mmptcp": 25.0}


def table(kept: dict[tuple[Failure, str], float] | None = None, after: dict[str, float] | None = None) -> pl.DataFrame:
    """Two seeds of two flows under way when links fail; their rates depend on the way of sending only."""
    rows = []
    found = KEPT | (kept or {}) | {((failures.NONE, 0, "mid-flow"), policy): 1.0 for policy in failures.POLICIES}
    for topology in failures.TOPOLOGIES:
        for ((kind, percent, when), policy), part in found.items():
            ms = (AFTER_MS | (after or {}))[policy]
            for seed in (1, 2):
                label = {"topology": topology, "kind": kind, "percent": percent, "when": when, "policy": policy}
                flow = {"seed": seed, "goodput_gbps": 100 * part * seed, "core_switches": 64, "fct_ms": ms}
                times = {"unfinished_ms": None, "after_ms": ms, "after_at_least_ms": None}
                rows += [label | flow | times] * 2
    none: dict[str, pl.DataType | type[pl.DataType]] = {"unfinished_ms": pl.Float64, "after_at_least_ms": pl.Float64}
    return pl.DataFrame(rows, schema_overrides=none)


def failing(rows: pl.DataFrame) -> list[int]:
    return [index for index, claim in enumerate(failures.claims(rows)) if not claim.holds]


def test_claims_hold_for_expected_numbers() -> None:
    assert failing(table()) == []


@pytest.mark.parametrize(
    ("kept", "after", "expected"),
    [
        ({((failures.CORE, 0, "mid-flow"), "lia"): 0.88}, {}, [CORE]),
        ({(DOWN, "amp"): 0.8}, {}, [FAT_TREE, LEAF_SPINE]),
        ({(DOWN, "ecmp"): 0.4}, {}, []),
        ({(SLOW, "rps"): 0.9}, {}, [SPRAYED]),
        ({}, {"lia": 41.0}, [SOONER]),
        ({}, {"ecmp": 14.0}, [SOONER]),
    ],
)
def test_each_can_fail(kept: dict[tuple[Failure, str], float], after: dict[str, float], expected: list[int]) -> None:
    assert failing(table(kept, after)) == expected


def test_recovery_that_the_end_cut_off_is_unknown() -> None:
    lost = (pl.col("policy") == "lia") & (pl.col("kind") == "down")
    rows = table().with_columns(after_ms=pl.when(~lost).then("after_ms"), after_at_least_ms=pl.when(lost).then(1.0))
    assert failing(rows) == [SOONER]


def test_table_has_a_line_a_failure_and_a_column_a_way_of_sending() -> None:
    shown = failures.claims(table())[FAT_TREE].table
    assert shown is not None
    assert shown.columns == ("links that fail", *failures.LABELS.values())
    assert [row[0] for row in shown.rows] == [
        "nothing",
        "10 % down, mid-flow",
        "10 % at a tenth of their rate, mid-flow",
    ]
    assert shown.rows[1][1] == "128 Gbps (85 to 170); 40 ms; 40 ms"


def test_each_failure_happens_to_the_links_between_switches() -> None:
    changes = [(case, event) for case in failures.cases(Scale(seeds=1)) for event in case.experiment.events or []]
    layers = {(str(case.labels["topology"]), event.layer) for case, event in changes}
    between = {(topology, layer) for topology, of in failures.LAYERS.items() for layer in of}
    assert layers == between | {("fat-tree", None)}
    assert {str(case.labels["when"]) for case, event in changes if event.detection_delay == "10ms"} == {"mid-flow"}


def test_every_way_of_sending_has_a_name_and_a_colour() -> None:
    assert list(failures.LABELS) == list(failures.COLOURS) == list(failures.POLICIES)


def test_plot_has_a_panel_a_topology() -> None:
    assert [axes.get_title() for axes in failures.plot(table()).axes] == list(failures.TOPOLOGIES)


def test_seeds_without_slow_links_have_no_verdict_about_them() -> None:
    rows = table().filter((pl.col("kind") != "slow") | (pl.col("seed") == 1))
    [figure] = find_figures("beyond/failures")
    by_seed = [len(claim.by_seed) for claim in judge(figure, rows)]
    assert by_seed == [2, 2, 2, 1, 2]
    failures.plot(rows)
