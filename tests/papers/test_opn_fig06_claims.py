"""Figures 6 and 7 of opn: the model's equations, and its claims."""

from __future__ import annotations

import cmath
import math

import polars as pl
import pytest

from weft_papers.opn import fig06

FEW, MANY, FALLS, MAXIMUM = range(4)


def test_window_and_throughput_of_one_subflow() -> None:
    # sqrt(2 / (1.5 * 0.5 * 0.5)) and sqrt(1.5 / 0.5) (1 - 0.5^W).
    assert fig06.window(0.5, 1) == pytest.approx(math.sqrt(16 / 3))
    lost = 0.5 ** math.sqrt(16 / 3)
    assert fig06.timeout(0.5, 1) == pytest.approx(lost)
    assert fig06.throughput(0.5, 1) == pytest.approx(math.sqrt(3) * (1 - lost))


def test_timeouts_are_of_any_subflow() -> None:
    one = 0.3 ** fig06.window(0.3, 4)
    assert fig06.timeout(0.3, 4) == pytest.approx(1 - (1 - one) ** 4)


@pytest.mark.parametrize("z", [-0.999, -0.9, -0.5, -0.4, -0.367, -0.36, -0.2, -1e-6, 0.5, 1.0])
def test_lambert_w_inverts_w_exp_w(z: float) -> None:
    w = fig06.lambert_w(z)
    assert w * cmath.exp(w) == pytest.approx(z, abs=1e-13)


def test_lambert_w_is_on_the_principal_branch() -> None:
    assert fig06.lambert_w(1.0) == pytest.approx(0.5671432904097838)
    assert fig06.lambert_w(-0.2) == pytest.approx(-0.2591711018190738)
    # Below -1/e it is complex, with an imaginary part from 0 to pi.
    for z in (-0.4, -0.6, -0.8, -1.0):
        assert 0 < fig06.lambert_w(z).imag < math.pi
    # W(-pi / 2) is i pi / 2.
    assert fig06.lambert_w(-math.pi / 2) == pytest.approx(1j * math.pi / 2)


def test_best_number_takes_the_modulus() -> None:
    x = 0.4 ** math.sqrt(5)
    w = fig06.lambert_w(x - 1)
    assert w.imag > 0
    assert fig06.best(0.4) == pytest.approx(abs(w) / abs(math.log(1 - x)))


def test_restored_is_where_the_simplified_throughput_is_highest() -> None:
    for p in (0.3, 0.4, 0.5, 0.6):
        x = p ** math.sqrt(2 / p)
        highest = max(range(1, 33), key=lambda n: n * (1 - x) ** n)
        assert abs(fig06.restored(p) - highest) <= 1


def test_table_is_capped_and_at_least_1() -> None:
    assert [fig06.entry(p) for p in (0.001, 0.01, 0.28, 0.99)] == [32, 32, 32, 1]
    assert fig06.entry(0.30) < 32


def test_each_claim_is_judged_by_its_numbers() -> None:
    rows = fig06.rows()
    flat = rows.with_columns(throughput=pl.lit(1.0))
    verdicts = [claim.holds for claim in fig06.claims(flat)]
    assert not verdicts[FEW]
    assert not verdicts[MANY]
    n = pl.col("n").cast(pl.Float64)
    hill = rows.with_columns(throughput=100 - (n - 8).abs(), exact=pl.lit(8), entry=pl.lit(8))
    verdicts = [claim.holds for claim in fig06.claims(hill)]
    assert (verdicts[FEW], verdicts[MANY], verdicts[MAXIMUM]) == (True, True, True)
    assert not verdicts[FALLS]
    away = hill.with_columns(entry=pl.lit(10))
    assert not fig06.claims(away)[MAXIMUM].holds
    rising = rows.with_columns(entry=(100 * pl.col("p")).cast(pl.Int64) % 32 + 1)
    assert not fig06.claims(rising)[FALLS].holds


def test_plot_has_both_figures() -> None:
    assert [axes.get_title()[:3] for axes in fig06.plot(fig06.rows()).axes] == ["(6)", "(7)"]
