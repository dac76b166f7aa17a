"""Max-min fair rates against linear programs, solved by scipy's HiGHS."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.optimize import linprog  # type: ignore[import-untyped]

from weft import _weft

if TYPE_CHECKING:
    from numpy.typing import NDArray

NETWORKS = 300
TOLERANCE = 1e-7
"""Relative differences below this are none: HiGHS keeps constraints within 1e-7."""

Connections = list[list[list[int]]]


def random_network(draw: random.Random) -> tuple[list[float], Connections]:
    """A few links, whose capacities are often equal, and connections with one to three paths."""
    links = draw.randint(2, 7)
    some = [1.0, 2.0, 4.0] if draw.random() < 0.5 else [draw.uniform(0.5, 5) for _ in range(links)]
    capacities = [draw.choice(some) for _ in range(links)]
    most = draw.randint(1, 3)

    def path() -> list[int]:
        return draw.sample(range(links), draw.randint(1, min(3, links)))

    connections = [[path() for _ in range(draw.randint(1, most))] for _ in range(draw.randint(1, 8))]
    return capacities, connections


def by_programs(capacities: list[float], connections: Connections) -> list[float]:
    """Rates of connections, one level after the other.

    The first linear program of a level finds the largest rate that all connections without a final rate can have at
    once. Then one program per connection finds whether it can have more while the others keep that rate. If it cannot,
    the rate is final.
    """
    owners = [c for c, paths in enumerate(connections) for _ in paths]
    # The last variable is a rate that several have in common.
    crossing = np.zeros((len(capacities), len(owners) + 1))
    for s, path in enumerate(path for paths in connections for path in paths):
        crossing[path, s] = 1
    rate = np.array([[float(owner == c) for owner in owners] + [0.0] for c in range(len(connections))])
    common = np.array([0.0] * len(owners) + [1.0])

    def largest(objective: NDArray[np.float64], at_least: dict[int, float], at_common: list[int]) -> float:
        rows = [crossing, *(-rate[[c]] for c in at_least), *(common - rate[[c]] for c in at_common)]
        bounds = [*capacities, *(-least for least in at_least.values()), *(0.0 for _ in at_common)]
        found = linprog(-objective, A_ub=np.vstack(rows), b_ub=bounds, method="highs")
        assert found.status == 0, found.message
        return float(-found.fun)

    settled: dict[int, float] = {}
    while len(settled) < len(connections):
        rising = [c for c in range(len(connections)) if c not in settled]
        level = largest(common, settled, rising)
        others = {c: settled | {other: level for other in rising if other != c} for c in rising}
        stuck = [c for c in rising if largest(rate[c], others[c], []) <= level * (1 + 1e-6)]
        assert stuck
        settled |= dict.fromkeys(stuck, level)
    return [settled[c] for c in range(len(connections))]


@pytest.mark.parametrize("seed", range(NETWORKS))
def test_rates_are_those_of_linear_programs(seed: int) -> None:
    capacities, connections = random_network(random.Random(seed))  # noqa: S311 (a network, no secret)
    rates, _, _ = _weft.max_min(capacities, connections)
    of_subflow = iter(rates)
    found = [sum(next(of_subflow) for _ in paths) for paths in connections]
    assert found == pytest.approx(by_programs(capacities, connections), rel=10 * TOLERANCE)


def test_invalid_networks_are_refused() -> None:
    with pytest.raises(ValueError, match="link 1 has a capacity of 0 bit/s"):
        _weft.max_min([1.0, 0.0], [[[0]]])
    with pytest.raises(ValueError, match="subflow 1 of connection 0 crosses no link"):
        _weft.max_min([1.0], [[[0], []]])
