"""Figure 8 of mptcp-dc at the packet level, on tables made by hand; its claims are those of `test_latency_claims`."""

from __future__ import annotations

import polars as pl
import pytest

from tests.papers.test_latency_claims import FAST, QUEUED, TIMEOUT
from weft_papers.mptcp_dc import fig08
from weft_papers.mptcp_dc.latency import NO_LOSS_MS, RTO_MS, TIMED_OUT_MS, bands

TCP = {QUEUED: 9900, FAST: 100}
MULTIPATH = {QUEUED: 9800, FAST: 150, TIMEOUT: 50}


def table(tcp: dict[float, int], multipath: dict[float, int], reading: str = "2010") -> pl.DataFrame:
    """A table with these counts in one reading, and nothing but the queue in the others."""
    counts = {(value, name): {QUEUED: 9900} for value in fig08.READINGS for name in ("tcp", "multipath")}
    counts |= {(reading, "tcp"): tcp, (reading, "multipath"): multipath}
    return pl.concat(
        pl.DataFrame(
            {
                "reading": value,
                "transport": name,
                "seed": 1,
                "packets": list(of.values()),
                "latency_ms": list(of),
                "all_packets": sum(of.values()),
                "late": sum(n for ms, n in of.items() if ms > NO_LOSS_MS),
                "after_rto": sum(n for ms, n in of.items() if ms >= RTO_MS),
                "goodput_mbps": 45.0,
                "timeouts": 3 if TIMEOUT in of else 0,
            }
        )
        for (value, name), of in counts.items()
    )


def test_judged_is_the_first_reading() -> None:
    assert [claim.holds for claim in fig08.claims(table(TCP, MULTIPATH))] == [True] * 4
    other = fig08.claims(table(TCP, MULTIPATH, "newreno"))
    assert [claim.holds for claim in other] == [False, False, False, True]
    assert "NewReno: peaks at 2.24, 8.91, 282 ms" in other[2].note


@pytest.mark.parametrize(
    ("peak", "expected"),
    [
        (QUEUED, [True, False, False]),
        (FAST, [False, True, False]),
        (0.99 * TIMED_OUT_MS, [False, True, False]),
        (1.01 * TIMED_OUT_MS, [False, False, True]),
    ],
)
def test_bands_end_where_a_retransmission_and_an_rto_begin(peak: float, expected: list[bool]) -> None:
    assert bands([peak]) == expected


def test_plot_has_a_panel_a_reading() -> None:
    plot = fig08.plot(table(TCP, MULTIPATH))
    assert [axes.get_title() for axes in plot.axes] == list(fig08.WORDS.values())
