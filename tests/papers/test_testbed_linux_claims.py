"""The claims of the table of "Data Center Networking with Multipath TCP" on tables made by hand."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from weft_papers.figure import Claim, Scale
from weft_papers.mptcp_dc import testbed_linux as figure

VLB1, VLB2, MPTCP1, MPTCP2, BETTER, AS_WELL, EVEN, LEVELS, TIMEOUTS = range(9)


def failing(claims: list[Claim]) -> list[int]:
    return [index for index, claim in enumerate(claims) if not claim.holds]


def table(
    part: Callable[[str, str, str], float],
    spread: Callable[[str, str, str], float] | None = None,
    *,
    link_mbps: int = figure.RATES_MBPS[0],
    late_ms: float = 2.5,
) -> pl.DataFrame:
    """Two files a run: their part of the maximum, and how far from their mean their rates are."""
    spread = spread or (lambda _level, transport, _matrix: 0.1 if transport == "mptcp" else 0.4)
    return pl.concat(
        pl.DataFrame(
            {
                "level": level,
                "link_mbps": link_mbps,
                "matrix": matrix,
                "transport": transport,
                "seed": seed,
                "timeouts": 1,
                "late_ms": late_ms if level == "linux" else 0.0,
                "share_mbps": [part(level, transport, matrix) * figure.MAX_LOAD * link_mbps / 2] * 2,
                "rate_mbps": [
                    70 * (1 - spread(level, transport, matrix)),
                    70 * (1 + spread(level, transport, matrix)),
                ],
            }
        )
        for level in figure.LEVELS
        for matrix in figure.MATRICES
        for transport in figure.TRANSPORTS
        for seed in (1, 2)
    )


def paper(_level: str, transport: str, _matrix: str) -> float:
    return figure.PAPER_GBPS[transport] / figure.PAPER_MAX_GBPS


def test_holds_for_the_papers_numbers() -> None:
    claims = figure.claims(table(paper))
    assert failing(claims) == []
    assert claims[VLB1].measured.endswith("52% of the maximum")
    assert claims[MPTCP2].paper == "4.2 Gbit/s, 80% of the maximum"


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (lambda _level, transport, _matrix: 0.67 if transport == "vlb" else 0.8, [VLB1, VLB2, BETTER]),
        (
            lambda level, transport, matrix: (
                0.6 if (transport, matrix) == ("mptcp", "TM2") else paper(level, transport, matrix)
            ),
            [MPTCP2, BETTER, AS_WELL],
        ),
        (lambda level, transport, _matrix: paper("", transport, "") * (1.2 if level == "packet" else 1), [LEVELS]),
    ],
)
def test_can_fail(part: Callable[[str, str, str], float], expected: list[int]) -> None:
    assert failing(figure.claims(table(part))) == expected


def test_rates_that_vary_more() -> None:
    rows = table(paper, lambda _level, transport, matrix: 0.5 if (transport, matrix) == ("mptcp", "TM1") else 0.2)
    assert failing(figure.claims(rows)) == [EVEN]


def test_timeouts_of_the_levels_are_compared() -> None:
    rows = table(paper).with_columns(timeouts=pl.when(level="packet").then(3).otherwise(1))
    claims = figure.claims(rows)
    assert failing(claims) == [TIMEOUTS]
    assert claims[TIMEOUTS].measured == "of a thousand files 1000 on Linux, 3000 at the packet level"


def test_the_maximum_leaves_room_for_headers_and_acknowledgements() -> None:
    assert 0.92 < figure.MAX_LOAD / figure.HOSTS < 0.95


@pytest.mark.parametrize(
    ("late_ms", "expected"),
    [
        ((9.0, 1.0), [VLB1, VLB2, MPTCP1, MPTCP2]),
        ((11.0, 1.0), []),
        ((11.0, 12.0), []),
    ],
)
def test_verdicts_are_those_of_the_fastest_rate_that_the_processor_carried(
    late_ms: tuple[float, float], expected: list[int]
) -> None:
    def half(level: str, transport: str, matrix: str) -> float:
        return paper(level, transport, matrix) / 2

    fast, slow = figure.RATES_MBPS
    rows = pl.concat(
        [
            table(half, link_mbps=fast, late_ms=late_ms[0]),
            table(paper, link_mbps=slow, late_ms=late_ms[1]),
        ]
    )
    claims = figure.claims(rows)
    assert failing(claims) == expected
    other = slow if expected else fast
    assert f"links of {other} Mbit/s: TM1 VLB" in claims[LEVELS].note


def test_every_host_sends_to_another_rack() -> None:
    for case in figure.cases(Scale(seeds=1)):
        (entry,) = case.experiment.model_dump(exclude_none=True)["traffic"]
        ends = [[int(host[1:]) for host in pair] for pair in entry["pairs"]]
        assert sorted(sender for sender, _ in ends) == sorted(receiver for _, receiver in ends) == list(range(6))
        assert all(sender // 2 != receiver // 2 for sender, receiver in ends)


def test_plot_has_a_bar_for_the_paper() -> None:
    (axes,) = figure.plot(table(paper)).axes
    assert len(axes.patches) == 12
