"""The workload of figure 14, and its claims on tables made by hand."""

from __future__ import annotations

import statistics
from itertools import pairwise

import polars as pl
import pytest

from weft_papers.amp import fig14
from weft_papers.figure import Scale

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


def table(fct_ms: dict[str, tuple[float, float]], gbps: dict[str, tuple[float, float, float]]) -> pl.DataFrame:
    parts = []
    for algorithm, (p90, p99) in fct_ms.items():
        for seed in (1, 2, 3):
            labels = {"starts": fig14.STARTS[0], "algorithm": algorithm, "seed": seed, "timeouts": 0}
            short = {"class": "short", "fct_ms": [0.1] * 90 + [p90] * 9 + [p99] * 2}
            p10, p50, p90_gbps = gbps[algorithm]
            long = {"class": "long", "goodput_gbps": [p10, p10, *[p50] * 7, p90_gbps, p90_gbps]}
            parts += [pl.DataFrame({**labels, **short}), pl.DataFrame({**labels, **long})]
    return pl.concat(parts, how="diagonal").with_columns(unfinished_ms=pl.lit(None, pl.Float64))


def verdicts(fct_ms: dict[str, tuple[float, float]], gbps: dict[str, tuple[float, float, float]]) -> list[bool | None]:
    return [claim.holds for claim in fig14.claims(table(fct_ms, gbps))]


def test_holds_for_the_papers_numbers() -> None:
    claims = fig14.claims(table(FCT_MS, GBPS))
    assert [claim.holds for claim in claims] == [True] * 9
    assert [claim.measured for claim in claims[:6]] == [claim.paper for claim in claims[:6]]


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
    """The slowest tenth does not end, so that no percentile settles anything."""
    slow = pl.col("fct_ms") > 0.1
    rows = table(FCT_MS, GBPS).with_columns(
        fct_ms=pl.when(~slow).then("fct_ms"), unfinished_ms=pl.when(slow).then("fct_ms")
    )
    claims = fig14.claims(rows)
    assert [claim.holds for claim in claims[:8]] == [False] * 8
    assert claims[0].measured.startswith("at least ")


def test_one_flow_for_each_ordered_pair() -> None:
    flows = fig14.flow_list(16, fig14.STARTS[0], seed=1)
    assert sorted((source, destination) for source, destination, _, _ in flows) == [
        (source, destination) for source in range(16) for destination in range(16) if source != destination
    ]


def test_destinations_of_a_source_come_in_order() -> None:
    flows = fig14.flow_list(16, fig14.STARTS[0], seed=1)
    for source in range(16):
        own = [(start_ms, destination) for sender, destination, start_ms, _ in flows if sender == source]
        assert own == sorted(own)
        assert [destination for _, destination in own] == [host for host in range(16) if host != source]


def test_mean_time_between_the_flows_of_a_server() -> None:
    flows = fig14.flow_list(64, fig14.STARTS[0], seed=1)
    gaps = [b[2] - a[2] for a, b in pairwise(flows) if a[0] == b[0]]
    assert statistics.mean(gaps) == pytest.approx(fig14.INTERVAL_MS, rel=0.05)


def test_starts_in_whole_milliseconds() -> None:
    assert all(start_ms == int(start_ms) for _, _, start_ms, _ in fig14.flow_list(16, fig14.STARTS[1], seed=1))


@pytest.mark.parametrize(("probability", "packets"), [(0, 1), (0.5, 1), (0.55, 2), (0.63, 2), (0.75, 5), (1, 666667)])
def test_sizes_are_whole_packets(probability: float, packets: int) -> None:
    assert fig14.packets(probability) == packets


def test_mean_size_is_that_of_the_workload() -> None:
    assert statistics.mean(fig14.packets(n / 1e5) for n in range(100_001)) == pytest.approx(5117, rel=0.01)


def test_smallest_flows_fit_into_one_segment() -> None:
    """A packet of the workload has as many bytes as AMP's MSS: a flow of one packet takes one round trip."""
    sizes = [size for _, _, _, size in fig14.flow_list(16, fig14.STARTS[0], seed=1)]
    assert min(sizes) == 1400
    assert all(size % 1400 == 0 for size in sizes)


def test_plot_has_both_classes() -> None:
    plot = fig14.plot(table(FCT_MS, GBPS))
    assert [axes.get_xlabel().partition(" (")[0] for axes in plot.axes] == [
        "FCT of short flows",
        "goodput of long flows",
    ]


def test_quick_is_a_smaller_network() -> None:
    quick = fig14.cases(Scale(seeds=1, quick=True))
    assert {len(case.experiment.model_dump()["traffic"]) for case in quick} == {16 * 15}
