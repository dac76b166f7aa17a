"""The claims about figure 5 of mptcp-dc on tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from weft_papers.figure import Scale
from weft_papers.mptcp_dc import fig05
from weft_papers.mptcp_dc.fat_tree import MAX_GBPS

FILLS, FAIRER, LITTLE = range(3)
SHARE = 1e3 * MAX_GBPS / fig05.FLOWS
RATES: dict[tuple[str, str], list[float]] = {
    (fig05.OVERLOAD, "vlb"): [0.4, 0.8, 1.0, 1.2, 1.4],
    (fig05.OVERLOAD, "multipath"): [0.9, 1.0, 1.0, 1.0, 1.1],
    (fig05.LIGHT, "vlb"): [5.0],
    (fig05.LIGHT, "multipath"): [5.0],
}
"""Of one host's flows, in equal shares."""


def table(changes: dict[tuple[str, str], list[float]] | None = None, *, others: bool = True) -> pl.DataFrame:
    found = RATES | (changes or {})
    if others:
        found |= {(load, name): found[fig05.OVERLOAD, name] for load in fig05.OTHERS for name in fig05.TRANSPORTS}
    return pl.concat(
        pl.DataFrame(
            {"load": load, "transport": name, "seed": seed, "rate_mbps": [SHARE * rate for rate in rates], "hosts": 1}
        )
        for (load, name), rates in found.items()
        for seed in (1, 2)
    )


def failing(rows: pl.DataFrame) -> list[int]:
    return [index for index, claim in enumerate(fig05.claims(rows)) if not claim.holds]


@pytest.mark.parametrize("others", [True, False])
def test_claims_hold_for_the_papers_numbers(*, others: bool) -> None:
    rows = table(others=others)
    assert failing(rows) == []
    assert ("20 flows per host" in fig05.claims(rows)[FILLS].note) == others


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({(fig05.OVERLOAD, "vlb"): [0.4, 0.8, 0.8, 1.0, 1.2]}, [FILLS]),
        ({(fig05.OVERLOAD, "multipath"): [0.4, 0.4, 1.0, 1.6, 1.6]}, [FAIRER]),
        ({(fig05.OVERLOAD, "multipath"): [0.35, 1.0, 1.0, 1.0, 1.0], (fig05.OVERLOAD, "vlb"): [0.92] * 5}, [FAIRER]),
        ({(fig05.LIGHT, "vlb"): [4.0]}, [LITTLE]),
    ],
)
def test_each_can_fail(changes: dict[tuple[str, str], list[float]], expected: list[int]) -> None:
    assert failing(table(changes)) == expected


def test_overload_is_as_many_flows_to_each_host_as_from_it() -> None:
    case = fig05.cases(Scale(seeds=1, quick=True))[0]
    assert len(case.experiment.traffic) == fig05.FLOWS


def test_plot_has_a_line_a_transport_and_the_equal_share() -> None:
    assert len(fig05.plot(table()).axes[0].get_lines()) == 3
