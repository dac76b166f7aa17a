"""The claims about figure 8 of mptcp-dc on tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from weft_papers.figure import Claim
from weft_papers.mptcp_dc import latency_linux
from weft_papers.mptcp_dc.latency import NO_LOSS_MS, RTO_MS, peaks

TWO, SAME, SMALLER, THROUGHPUT = range(4)
QUEUED, FAST, TIMEOUT = 2.0, 8.0, 250.0


def table(changes: dict[str, dict[float, int]] | None = None, goodput: float = 45.0) -> pl.DataFrame:
    """Packets by latency in ms, each transport's on either level."""
    counts = {"tcp": {QUEUED: 9900, FAST: 100}, "multipath": {QUEUED: 9800, FAST: 150, TIMEOUT: 50}} | (changes or {})
    return pl.concat(
        pl.DataFrame(
            {
                "level": level,
                "transport": transport,
                "seed": seed,
                "packets": list(of.values()),
                "latency_ms": list(of),
                "all_packets": sum(of.values()),
                "late": sum(n for ms, n in of.items() if ms > NO_LOSS_MS),
                "after_rto": sum(n for ms, n in of.items() if ms >= RTO_MS),
                "goodput_mbps": goodput if transport == "multipath" else 45.0,
                "timeouts": 3 if TIMEOUT in of else 0,
            }
        )
        for level in latency_linux.LEVELS
        for transport, of in counts.items()
        for seed in (1, 2)
    )


def failing(claims: list[Claim]) -> list[int]:
    return [index for index, claim in enumerate(claims) if not claim.holds]


def test_claims_hold_for_the_papers_numbers() -> None:
    assert failing(latency_linux.claims(table())) == []


@pytest.mark.parametrize(
    ("changes", "goodput", "expected"),
    [
        ({"tcp": {QUEUED: 9900}}, 45.0, [TWO, SAME]),
        ({"multipath": {QUEUED: 9800, 30.0: 150, TIMEOUT: 50}}, 45.0, [SAME]),
        ({"tcp": {QUEUED: 9900, FAST: 100, TIMEOUT: 20}}, 45.0, [TWO]),
        ({"multipath": {QUEUED: 9900, TIMEOUT: 100}}, 45.0, [SAME]),
        ({"multipath": {QUEUED: 9900, FAST: 100}}, 45.0, [SMALLER]),
        ({}, 39.0, [THROUGHPUT]),
    ],
)
def test_each_can_fail(changes: dict[str, dict[float, int]], goodput: float, expected: list[int]) -> None:
    assert failing(latency_linux.claims(table(changes, goodput))) == expected


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([0, 50, 100, 40, 0, 20, 0], [2, 5]),
        ([0, 50, 100, 40, 40, 50, 0], [2]),  # the valley is not deep enough
        ([0, 10_000, 0, 4, 0], [1]),  # too few packets
        ([0, 80, 80, 0], [1]),
        ([100, 10, 80, 40, 100], [0, 2, 4]),
        ([0, 0], []),
    ],
)
def test_peaks_are_parted_by_valleys(counts: list[int], expected: list[int]) -> None:
    assert peaks(counts) == expected


def test_plot_has_a_panel_a_level() -> None:
    assert [axes.get_title() for axes in latency_linux.plot(table()).axes] == ["Linux", "packet level"]
