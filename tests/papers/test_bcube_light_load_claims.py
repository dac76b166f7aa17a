"""The claims about light load on BCube and VL2 on tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from weft_papers.figure import Scale
from weft_papers.mptcp_dc import bcube_light_load as figure
from weft_papers.mptcp_dc.bcube_light_load import ALONE, BCUBE, LIGHT, LINK_MBPS, SUBFLOWS, VL2

EXCELS, INTERFACES, LITTLE = range(3)
RATES = {
    (BCUBE, LIGHT, "vlb"): 0.9,
    (BCUBE, LIGHT, "multipath"): 2.0,
    (VL2, LIGHT, "vlb"): 0.97,
    (VL2, LIGHT, "multipath"): 1.0,
    (BCUBE, ALONE, "vlb"): 1.0,
    (BCUBE, ALONE, "multipath"): 2.9,
}
"""Goodput of a flow in links."""


def table(changes: dict[tuple[str, str, str], float] | None = None) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "network": network,
                "load": load,
                "interfaces": 3 if network == BCUBE else 1,
                "transport": name,
                "seed": seed,
                "rate_mbps": rate * LINK_MBPS,
            }
            for (network, load, name), rate in (RATES | (changes or {})).items()
            for seed in (1, 2)
        ]
    )


def failing(rows: pl.DataFrame) -> list[int]:
    return [index for index, claim in enumerate(figure.claims(rows)) if not claim.holds]


def test_claims_hold_for_the_papers_numbers() -> None:
    assert failing(table()) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({(BCUBE, LIGHT, "multipath"): 1.3}, [EXCELS]),
        ({(BCUBE, ALONE, "multipath"): 2.6}, [INTERFACES]),
        ({(VL2, LIGHT, "vlb"): 0.9}, [LITTLE]),
    ],
)
def test_each_can_fail(changes: dict[tuple[str, str, str], float], expected: list[int]) -> None:
    assert failing(table(changes)) == expected


def test_one_of_eight_hosts_sends() -> None:
    for case in figure.cases(Scale(seeds=1)):
        pairs = case.experiment.traffic[0].model_dump()["pairs"]
        hosts = figure.NETWORKS[str(case.labels["network"])].hosts
        assert len(pairs) == (1 if case.labels["load"] == ALONE else hosts // 8)
        assert len({host for pair in pairs for host in pair}) == 2 * len(pairs)


def test_plot_has_both_transports() -> None:
    (axes,) = figure.plot(table()).axes
    assert len(axes.containers) >= len(SUBFLOWS)
