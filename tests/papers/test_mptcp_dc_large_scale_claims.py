"""The claims about figures 1 to 3 of mptcp-dc on tables made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from weft_papers.figure import Scale
from weft_papers.mptcp_dc import fig01, fig02, fig03
from weft_papers.mptcp_dc.large_scale import VLB, bcube, fat_tree, vl2

if TYPE_CHECKING:
    from collections.abc import Callable

VL2_SHARE, MUCH_WORSE, INCREASES, FILLED, BCUBE = range(5)
BY_VLB = {"FatTree": 0.45, "VL2": 0.77, "BCube": 0.5}


def throughput(name: str, subflows: int) -> float:
    """The throughput of the paper: low with VLB, and higher with every subflow."""
    return BY_VLB[name] if subflows == VLB else 0.9 + 0.01 * subflows


def table(
    mean: Callable[[str, int], float] = throughput, *, slowest: float = 1.0, jain: dict[int, float] | None = None
) -> pl.DataFrame:
    rows = [
        {
            "topology": name,
            "hosts": 1000,
            "subflows": subflows,
            "achievable": 1.0,
            "seed": seed,
            "mean": mean(name, subflows),
            "slowest": slowest * mean(name, subflows) / 2,
            "jain": (jain or {}).get(subflows, mean(name, subflows)),
        }
        for name in BY_VLB
        for subflows in fig01.SUBFLOWS
        for seed in (1, 2)
    ]
    return pl.DataFrame(rows)


def failing(figure: object, rows: pl.DataFrame) -> list[int]:
    return [index for index, claim in enumerate(figure.claims(rows)) if not claim.holds]  # type: ignore[attr-defined]


def test_figure_1_holds_for_the_papers_numbers() -> None:
    assert failing(fig01, table()) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({("VL2", VLB): 0.85}, [VL2_SHARE]),
        ({("FatTree", VLB): 0.7}, [MUCH_WORSE]),
        ({("BCube", 5): 0.85}, [INCREASES]),
        ({("BCube", 8): 0.89}, [INCREASES, FILLED, BCUBE]),
    ],
)
def test_each_claim_of_figure_1_can_fail(changes: dict[tuple[str, int], float], expected: list[int]) -> None:
    changed = table(lambda name, subflows: changes.get((name, subflows), throughput(name, subflows)))
    assert failing(fig01, changed) == expected


def sizes(needed: dict[str, dict[int, int]]) -> pl.DataFrame:
    """A table in which `needed` subflows reach the target, by topology and hosts."""
    rows = [
        {
            "topology": name,
            "hosts": hosts,
            "subflows": n,
            "achievable": 1.0,
            "seed": 1,
            "mean": 0.95 if n >= least else 0.8,
        }
        for name, by_hosts in needed.items()
        for hosts, least in by_hosts.items()
        for n in fig02.SUBFLOWS
    ]
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    ("fat_trees", "vl2s", "expected"),
    [
        ({128: 6, 1024: 7, 8192: 8}, {320: 1, 1280: 2, 11520: 2}, []),
        ({128: 6, 1024: 5, 8192: 6}, {320: 1, 1280: 2, 11520: 2}, [0]),
        ({128: 6, 1024: 8, 8192: 8}, {320: 1, 1280: 2, 11520: 3}, [1]),
        ({128: 6, 1024: 6, 8192: 8}, {320: 1, 1280: 2, 11520: 2}, [2]),
        ({128: 6, 1024: 8, 8192: 11}, {320: 1, 1280: 2, 11520: 2}, [0, 2]),
        ({16: 4, 128: 8}, {80: 1, 320: 2}, [2]),
    ],
)
def test_claims_of_figure_2(fat_trees: dict[int, int], vl2s: dict[int, int], expected: list[int]) -> None:
    assert failing(fig02, sizes({"FatTree": fat_trees, "VL2": vl2s})) == expected


def test_claims_of_figure_3() -> None:
    assert failing(fig03, table()) == []
    assert failing(fig03, table(jain={VLB: 0.95, 2: 0.94})) == [0]
    assert failing(fig03, table(lambda _name, _subflows: 0.8)) == [0, 1]


def test_networks_have_the_hosts_that_they_say() -> None:
    assert [value.hosts for value in (fat_tree(32), vl2(48), bcube(8, 3))] == [8192, 11520, 4096]
    assert bcube(8, 3).achievable == pytest.approx(8 / 7)


@pytest.mark.parametrize("figure", [fig01, fig02, fig03])
def test_the_quick_version_runs_the_same_numbers_of_subflows(figure: object) -> None:
    quick, full = (
        {case.labels["subflows"] for case in figure.cases(Scale(seeds=1, quick=quick))}  # type: ignore[attr-defined]
        for quick in (True, False)
    )
    assert quick == full
