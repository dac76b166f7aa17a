"""The claims of figure 14 on tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from weft.papers.amp import fat_tree, fig14
from weft.papers.figure import Scale

FCT_MS = {
    "amp": (0.18, 0.78),
    "xmp": (0.27, 1.35),
    "dcm": (0.28, 1.41),
    "dctcp": (0.17, 0.7),
    fig14.WITHOUT: (0.28, 1.4),
}
"""90th and 99th percentiles of the short flows."""
GBPS = dict.fromkeys(FCT_MS, (0.5, 1.0, 3.0))
"""10th, 50th and 90th percentiles of the long flows' goodput."""


def table(
    fct_ms: dict[str, tuple[float, float]], gbps: dict[str, tuple[float, float, float]], length_ms: int = fig14.FULL_MS
) -> pl.DataFrame:
    """Short flows end all along, 101 within the length of the claims; those after it are a second late."""
    settings = [(fat_tree.DELAY_US, fig14.INTERVAL_US)]
    if length_ms == fig14.FULL_MS:
        settings += [(fat_tree.OTHER_DELAY_US, fig14.INTERVAL_US), (fat_tree.DELAY_US, fig14.LOAD_ONE_US)]
    parts = []
    for delay_us, interval_us in settings:
        for algorithm, (p90, p99) in fct_ms.items():
            for seed in (1, 2, 3):
                labels = {
                    "delay_us": delay_us,
                    "interval_us": interval_us,
                    "length_ms": length_ms,
                    "algorithm": algorithm,
                    "seed": seed,
                }
                judged = min(length_ms, fig14.LENGTH_MS)
                ends = [10.0] * 90 + [judged] * 11 + [judged + 1]
                fcts = [0.1] * 90 + [p90] * 9 + [p99] * 2 + [1000.0]
                short = {"class": "short", "start_ms": 0.0, "from_ms": 0.0, "end_ms": ends, "fct_ms": fcts}
                p10, p50, p90_gbps = gbps[algorithm]
                long = {
                    "class": "long",
                    "start_ms": 0.0,
                    "end_ms": 10.0,
                    "goodput_gbps": [p10, p10, *[p50] * 7, p90_gbps, p90_gbps],
                }
                parts += [pl.DataFrame({**labels, **short}), pl.DataFrame({**labels, **long})]
    return pl.concat(parts, how="diagonal")


def verdicts(fct_ms: dict[str, tuple[float, float]], gbps: dict[str, tuple[float, float, float]]) -> list[bool | None]:
    return [claim.holds for claim in fig14.claims(table(fct_ms, gbps))]


@pytest.mark.parametrize("length_ms", [fig14.FULL_MS, 100])
def test_holds_for_the_papers_numbers(length_ms: int) -> None:
    claims = fig14.claims(table(FCT_MS, GBPS, length_ms))
    assert [claim.holds for claim in claims] == [True] * 9
    assert [claim.measured for claim in claims[:6]] == [claim.paper for claim in claims[:6]]
    assert ("links of 5 us" in claims[0].note) == (length_ms == fig14.FULL_MS)
    assert ("a load of 1" in claims[0].note) == (length_ms == fig14.FULL_MS)


@pytest.mark.parametrize(
    ("changes", "failing"),
    [
        ({"amp": (0.15, 0.78)}, {0, 6}),
        ({"xmp": (0.32, 1.35)}, {1, 6}),
        ({"dcm": (0.33, 1.41)}, {2, 6}),
        ({"amp": (0.18, 0.64)}, {3, 7}),
        ({"xmp": (0.27, 1.1)}, {4, 7}),
        ({"dcm": (0.28, 1.1)}, {5, 7}),
    ],
)
def test_each_percentile_can_fail(changes: dict[str, tuple[float, float]], failing: set[int]) -> None:
    held = verdicts(FCT_MS | changes, GBPS)
    assert {n for n, holds in enumerate(held) if not holds} == failing


@pytest.mark.parametrize("goodput", [(0.7, 1.0, 3.0), (0.5, 0.75, 3.0), (0.5, 1.0, 4.0)])
def test_goodput_can_fail(goodput: tuple[float, float, float]) -> None:
    assert verdicts(FCT_MS, {**GBPS, "dctcp": goodput}) == [True] * 8 + [False]


def test_flows_that_the_end_cut_off_count() -> None:
    """The slowest tenth does not end: the paper's number for the other flows is not a verdict."""
    rows = table(FCT_MS, GBPS)
    slow = (pl.col("class") == "short") & (pl.col("fct_ms") > 0.1)
    claims = fig14.claims(rows.with_columns(end_ms=pl.when(~slow).then("end_ms")))
    assert [claim.holds for claim in claims[:8]] == [False] * 8
    assert claims[0].measured.startswith("at least ")
    assert "the end cut off 11.8 % of the flows" in claims[0].note


def test_plot_has_the_paper_beside_every_length() -> None:
    plot = fig14.plot(table(FCT_MS, GBPS))
    assert [axes.get_title()[:6] for axes in plot.axes] == ["200 ms", "90th p", "99th p"]
    # 10 ms is within the shortest length; a dotted line for each algorithm that the paper gives a number of.
    assert len(plot.axes[1].get_lines()) >= len(fig14.ALGORITHMS) + len(fig14.MULTIPATH)


def test_quick_is_as_long_as_the_claims() -> None:
    assert {case.labels["length_ms"] for case in fig14.cases(Scale(seeds=1, quick=True))} == {fig14.LENGTH_MS}
