"""The claims of one flow on Linux on tables made by hand."""

from __future__ import annotations

import polars as pl
import pytest

from weft_papers.beyond import linux_single_flow as figure


def table(goodput: float = 1.0, loss: float = 1.0, algorithm: str = "cubic", level: str = "packet") -> pl.DataFrame:
    """A level's numbers over Linux's, of one algorithm at the faster rate."""
    return pl.concat(
        pl.DataFrame(
            {
                "level": at,
                "algorithm": name,
                "rate_mbps": rate,
                "limit": limit,
                "seed": seed,
                "goodput_mbps": 0.9 * rate * (goodput if other else 1),
                "loss_percent": 0.2 * seed * (loss if other else 1),
                "timeouts": 0,
            }
        )
        for at in figure.LEVELS
        for name in figure.ALGORITHMS
        for rate in figure.RATES_MBPS
        for limit in figure.LIMITS
        for seed in (1, 2)
        for other in [(at, name, rate) == (level, algorithm, 200)]
    )


@pytest.mark.parametrize(
    ("rows", "holds"),
    [
        (table(), [True, True, True]),
        (table(goodput=1.08, loss=1.08), [True, True, True]),
        (table(goodput=0.85), [False, True, True]),
        (table(loss=1.2, algorithm="reno"), [True, False, True]),
        (table(loss=0), [True, False, True]),
        (table(loss=1.2, level=figure.JITTERED), [True, True, False]),
    ],
)
def test_holds_and_can_fail(rows: pl.DataFrame, holds: list[bool]) -> None:
    assert [claim.holds for claim in figure.claims(rows)] == holds


def test_measured_names_each_cell() -> None:
    assert figure.claims(table())[0].measured.startswith(
        "Reno, 50 Mbit/s, 20 packets 1; Reno, 50 Mbit/s, 100 packets 1;"
    )


def test_plot_has_a_bar_for_each_cell_and_level() -> None:
    axes = figure.plot(table()).axes
    assert [len(panel.patches) for panel in axes] == [24, 24]
