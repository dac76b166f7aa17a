"""Equilibria of the flow level compared with an independent solver, on random networks. `CASES=1000` compares more."""

from __future__ import annotations

import os

import pytest

from tests.levels.equilibria import compare
from tests.levels.solver import ALGORITHMS, Network, by_connection, solve, uncoupled
from weft import _weft

CASES = int(os.environ.get("CASES", "20"))
"""Networks of each algorithm."""


@pytest.mark.parametrize("name", ALGORITHMS)
def test_equilibria_are_those_of_an_independent_solver(name: str) -> None:
    outcome = compare(name, CASES)
    assert not outcome.wrong
    assert len(outcome.refused) <= max(1, 0.01 * CASES)
    assert len(outcome.unsolved) <= max(1, 0.01 * CASES)


def test_losses_reduce_the_load_along_a_path() -> None:
    """Two full links in a row carry all of the capacity, with more than half of the packets lost at the first."""
    network = Network([100e6, 100e6], [[[0, 1]]] * 8, [320e-6] * 8)
    error, expected = solve(network, uncoupled, jumps=False)
    assert error < 1e-6
    goodputs, prices, converged = _weft.equilibrium(network.capacities, network.connections, network.rtts, "reno")
    assert converged
    assert prices[0] > 0.5
    assert sum(goodputs) == pytest.approx(100e6, rel=2e-3)
    assert goodputs == pytest.approx(list(expected), rel=2e-3)


def test_neighbours_on_four_links_have_equal_rates() -> None:
    """Wischik et al., NSDI 2011, section 2.3: links of 5, 12, 10, 3 Mbps; 10 Mbps for each of three connections."""
    network = Network([5e6, 12e6, 10e6, 3e6], [[[c], [c + 1]] for c in range(3)], [0.1] * 6)
    for name in ("fully-coupled", "olia"):
        goodputs, _, converged = _weft.equilibrium(network.capacities, network.connections, network.rtts, name)
        assert converged
        assert by_connection(network, goodputs) == pytest.approx([10e6] * 3, rel=0.02)


def test_bad_networks_are_refused() -> None:
    with pytest.raises(ValueError, match="1 round-trip times for 2 subflows"):
        _weft.equilibrium([1e6], [[[0]], [[0]]], [0.1], "reno")
    with pytest.raises(ValueError, match="a round-trip time of 0 s"):
        _weft.equilibrium([1e6], [[[0]]], [0.0], "reno")
    with pytest.raises(ValueError, match="has no response function"):
        _weft.equilibrium([1e6], [[[0]]], [0.1], "amp-fg")
