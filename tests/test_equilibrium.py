"""Equilibria of the flow level compared with an independent solver, on random networks.

The solver below is written from the equations alone. Windows are those of the algorithms' papers, losses reduce the
load along a path, and links are full or have no price. SciPy finds the root. `CASES=1000` compares more networks.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import least_squares  # type: ignore[import-untyped]

from weft import _weft

PACKET_BITS = 12_000.0
CASES = int(os.environ.get("CASES", "12"))
"""Networks of each algorithm."""

MAX_DIFFERENCE = 0.02
"""Largest relative difference of a connection's rate."""

Floats = NDArray[np.float64]
Windows = Callable[[Floats, Floats, float], Floats]
"""Mean windows in packets on paths with loss probabilities and round-trip times; the last argument is a sharpness."""


@dataclass(frozen=True)
class Network:
    """Links in bit/s, paths as lists of links, by connection, and the round-trip time of each subflow."""

    capacities: list[float]
    connections: list[list[list[int]]]
    rtts: list[float]


def random_network(rng: random.Random) -> Network:
    """Two to eight links of 5 to 50 Mbps and two to eight connections with one to three paths each."""
    links = rng.randint(2, 8)

    def path() -> list[int]:
        return rng.sample(range(links), rng.randint(1, min(3, links)))

    connections = [[path() for _ in range(rng.randint(1, 3))] for _ in range(rng.randint(2, 8))]
    subflows = sum(map(len, connections))
    equal = rng.random() < 0.5
    rtts = [0.1 if equal else rng.choice([0.05, 0.1, 0.2]) for _ in range(subflows)]
    return Network([rng.uniform(5e6, 50e6) for _ in range(links)], connections, rtts)


def reno(loss: Floats) -> Floats:
    """The square-root law: Mathis et al., 1997."""
    return np.sqrt(1.5 / loss)


def preferences(loss: Floats, rtt: Floats, width: float) -> Floats:
    """The part of the time in which each path is the best, which has the largest rate; `width` smooths the choice."""
    logs = np.log(reno(loss) / rtt) / width
    parts = np.exp(logs - logs.max())
    return np.asarray(parts / parts.sum())


def uncoupled(loss: Floats, _rtt: Floats, _width: float) -> Floats:
    """Reno on each path."""
    return reno(loss)


def lia(loss: Floats, rtt: Floats, _width: float) -> Floats:
    """RFC 6356: an increase of max(w / rtt^2) / (sum w / rtt)^2, at most 1 / w, balances half of a window per loss."""
    cap = reno(loss)
    low, high = -80.0, 80.0
    windows = cap
    for _ in range(80):
        middle = (low + high) / 2
        windows = np.minimum(math.exp(middle) * cap**2, cap)
        if math.log((windows / rtt**2).max() / (windows / rtt).sum() ** 2) > middle:
            low = middle
        else:
            high = middle
    return windows


def best_path(loss: Floats, rtt: Floats, width: float) -> Floats:
    """OLIA's and the fully coupled fixed point: the best path at Reno's rate, a packet on the others."""
    part = preferences(loss, rtt, width)
    return part * reno(loss) + (1 - part)


def balia(loss: Floats, rtt: Floats, width: float) -> Floats:
    """Peng et al., 2016: (1 + a)(4 + a) / 10 (rtt x)^2 for an ACK, min(a, 1.5) w / 2 for a loss, a = max(x) / x_r."""
    windows = np.zeros(len(loss))
    squares = loss * rtt**2
    for best, part in enumerate(preferences(loss, rtt, width)):
        # (1 + a)(4 + a) = 18 ratio on the paths that are worse.
        ratio = np.maximum(squares / squares[best], 1)
        alpha = (np.sqrt(9 + 72 * ratio) - 5) / 2
        alpha[best] = 1
        largest = math.sqrt(1.5 / squares[best]) / np.sum(1 / alpha)
        windows += part * largest / alpha * rtt
    return windows


ALGORITHMS: dict[str, tuple[Windows, bool]] = {
    "uncoupled": (uncoupled, False),
    "lia": (lia, False),
    "balia": (balia, True),
    "olia": (best_path, True),
    "fully-coupled": (best_path, True),
}
"""Windows, and whether they jump where another path becomes the best."""


def rates(network: Network, prices: Floats, windows: Windows, width: float) -> tuple[Floats, Floats]:
    """Utilisation of each link, and the rate of each subflow at its receiver."""
    utilisation = np.zeros(len(network.capacities))
    goodputs, first = [], 0
    for paths in network.connections:
        rtt = np.array(network.rtts[first : first + len(paths)])
        first += len(paths)
        loss = np.array([1 - np.prod(1 - prices[path]) for path in paths])
        for path, rate in zip(paths, windows(loss, rtt, width) * PACKET_BITS / rtt, strict=True):
            left = float(rate)
            for link in path:
                left *= 1 - prices[link]
                utilisation[link] += left / network.capacities[link]
            goodputs.append(left)
    return utilisation, np.array(goodputs)


def solve(network: Network, windows: Windows, *, jumps: bool) -> tuple[float, Floats]:
    """The largest error of a link, and the rate of each subflow.

    Links are full or have no price: Fischer's and Burmeister's function of both is 0. Windows that jump are smoothed,
    step by step less.
    """
    widths = list(np.geomspace(0.3, 1e-3, 18)) if jumps else [1.0]

    def errors(logs: Floats, width: float) -> Floats:
        utilisation, _ = rates(network, np.exp(np.clip(logs, -23, -0.01)), windows, width)
        price, free = np.maximum(logs + 18, 0) / 10, 1 - utilisation
        return np.asarray(price + free - np.sqrt(price**2 + free**2 + 1e-16))

    best, found = math.inf, np.zeros(0)
    for start in (1e-3, 1e-4, 1e-2, 0.1, 0.5, 1e-5):
        logs = np.full(len(network.capacities), math.log(start))
        for width in widths:
            result = least_squares(errors, logs, args=(width,), xtol=1e-12, ftol=1e-14, gtol=1e-12, max_nfev=200)
            logs = result.x
        error = float(np.abs(result.fun).max())
        if error < best:
            best, found = error, logs
        if best < 1e-6:
            break
    return best, rates(network, np.exp(np.clip(found, -23, -0.01)), windows, widths[-1])[1]


def by_connection(network: Network, values: Floats | list[float]) -> list[float]:
    remaining = iter(values)
    return [sum(float(next(remaining)) for _ in paths) for paths in network.connections]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_equilibria_are_those_of_an_independent_solver(name: str) -> None:
    windows, jumps = ALGORITHMS[name]
    solved, wrong = 0, []
    for seed in range(CASES):
        network = random_network(random.Random(seed))  # noqa: S311 (a network, no secret)
        error, expected = solve(network, windows, jumps=jumps)
        goodputs, _, converged = _weft.equilibrium(network.capacities, network.connections, network.rtts, name)
        if error > 1e-4 or not converged:
            continue
        solved += 1
        pairs = zip(by_connection(network, goodputs), by_connection(network, expected), strict=True)
        difference = max(abs(found / rate - 1) for found, rate in pairs)
        if difference > MAX_DIFFERENCE:
            wrong.append((seed, difference))
    assert solved >= 0.8 * CASES
    assert not wrong


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
