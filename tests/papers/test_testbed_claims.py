"""The claims about section 4's table at the packet level, on tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from weft_papers.figure import Scale
from weft_papers.mptcp_dc import testbed
from weft_papers.mptcp_dc.testbed_linux import HOSTS, MATRICES, MAX_LOAD, PAPER_MAX_GBPS

BETTER, NO_SCHEDULE = 6, 7


def table(changes: dict[tuple[str, str], float] | None = None) -> pl.DataFrame:
    """The paper's parts of the maximum, as so much of ours."""
    here = {cell: gbps / PAPER_MAX_GBPS * MAX_LOAD for cell, gbps in testbed.PAPER_GBPS.items()}
    here |= {("TM2", testbed.FREE): 5.0} | (changes or {})
    return pl.DataFrame(
        [
            {"matrix": matrix, "scheme": name, "tcp": tcp, "seed": seed, "goodput_gbps": gbps}
            for (matrix, name), gbps in here.items()
            for tcp in ("2010", testbed.TODAY)
            for seed in (1, 2)
        ]
    )


def failing(changes: dict[tuple[str, str], float] | None = None) -> list[int]:
    return [index for index, claim in enumerate(testbed.claims(table(changes))) if not claim.holds]


def test_holds_for_the_papers_numbers() -> None:
    assert failing() == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({("TM1", "vlb"): 3.4}, [0]),
        ({("TM1", "scheduler"): 4.2}, [1]),
        ({("TM1", "multipath"): 3.6}, [2, BETTER]),
        ({("TM2", "vlb"): 2.4}, [3, NO_SCHEDULE]),
        ({("TM2", "scheduler"): 3.74}, [4, NO_SCHEDULE]),
        ({("TM2", "multipath"): 3.0}, [5, BETTER, NO_SCHEDULE]),
    ],
)
def test_each_can_fail(changes: dict[tuple[str, str], float], expected: list[int]) -> None:
    assert failing(changes) == expected


@pytest.mark.parametrize("cell", testbed.LAID_OUT)
def test_paths_laid_out_collide_where_a_rack_has_no_other(cell: tuple[str, str]) -> None:
    """Of two flows of a rack, or to a rack, on one path both get half."""
    matrix, name = cell
    up = [(host // 2, path) for host, path in enumerate(testbed.LAID_OUT[cell])]
    down = [((host + MATRICES[matrix]) % HOSTS // 2, path) for host, path in enumerate(testbed.LAID_OUT[cell])]
    shared = [2 * len(set(links)) - len(links) < len(links) for links in (up, down)]
    assert shared == [cell == ("TM2", "scheduler")] * 2
    if name == "scheduler" and matrix == "TM2":
        assert [testbed.LAID_OUT[cell][i] for i in range(3)] == [testbed.LAID_OUT[cell][i + 3] for i in range(3)]


def test_the_scheduler_has_a_transport_for_each_path() -> None:
    cases = {(case.labels["matrix"], case.labels["scheme"]): case for case in testbed.cases(Scale(seeds=1, quick=True))}
    traffic = cases["TM2", "scheduler"].experiment.traffic
    assert [len(entry.pairs) for entry in traffic] == [4, 2]  # type: ignore[union-attr, arg-type]


def test_plot_has_two_bars_a_cell() -> None:
    assert len(testbed.plot(table()).axes[0].patches) == 2 * len(testbed.PAPER_GBPS)
