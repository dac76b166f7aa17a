"""An independent solver for equilibria, written from the equations alone.

Windows are those of the algorithms' papers, losses reduce the load along a path, and links are full or have no price.
SciPy finds the root. All arrays have an axis for connections, one for their paths and one for the links of a path, and
may have leading axes for several vectors of prices.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares  # type: ignore[import-untyped]

PACKET_BITS = 12_000.0

Floats = NDArray[np.float64]
Windows = Callable[[Floats, Floats, float], Floats]
"""Mean windows in packets on paths with loss probabilities and round-trip times; the last argument is a sharpness."""

NO_PATH = 1e18
"""Loss of a path that does not exist."""

LOG_PRICES = (-23.0, -0.01)

LOG_FREE = -18.0
"""Logarithm of the price up to which a link need not be full."""


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


class Paths:
    """The paths of a network as arrays. Paths are filled up with a link that has no price."""

    def __init__(self, network: Network) -> None:
        links, connections = len(network.capacities), network.connections
        paths = max(map(len, connections))
        hops = max(len(path) for paths in connections for path in paths)
        self.capacities = np.array(network.capacities)
        self.crossed = np.full((len(connections), paths, hops), links)
        self.exists = np.zeros((len(connections), paths), dtype=bool)
        self.rtt = np.ones((len(connections), paths))
        rtts = iter(network.rtts)
        for c, of_connection in enumerate(connections):
            for s, path in enumerate(of_connection):
                self.crossed[c, s, : len(path)] = path
                self.exists[c, s] = True
                self.rtt[c, s] = next(rtts)
        self.on_link = (self.crossed.reshape(-1, 1) == np.arange(links)).astype(float)

    def rates(self, prices: Floats, windows: Windows, width: float) -> tuple[Floats, Floats]:
        """Utilisation of each link, and the rate of each subflow at its receiver."""
        passed = 1 - np.concatenate([prices, np.zeros((*prices.shape[:-1], 1))], axis=-1)
        left = np.cumprod(passed[..., self.crossed], axis=-1)
        loss = np.where(self.exists, 1 - left[..., -1], NO_PATH)
        sent = np.where(self.exists, windows(loss, self.rtt, width) * PACKET_BITS / self.rtt, 0)
        leaving = sent[..., None] * left
        utilisation = leaving.reshape(*prices.shape[:-1], -1) @ self.on_link / self.capacities
        return utilisation, leaving[..., -1]


def reno(loss: Floats) -> Floats:
    """The square-root law: Mathis et al., 1997."""
    return np.sqrt(1.5 / loss)


def preferences(loss: Floats, rtt: Floats, width: float) -> Floats:
    """The part of the time in which each path is the best, which has the largest rate; `width` smooths the choice."""
    logs = np.log(reno(loss) / rtt) / width
    parts = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(parts / parts.sum(axis=-1, keepdims=True))


def uncoupled(loss: Floats, _rtt: Floats, _width: float) -> Floats:
    """Reno on each path."""
    return reno(loss)


def lia(loss: Floats, rtt: Floats, _width: float) -> Floats:
    """RFC 6356: an increase of max(w / rtt^2) / (sum w / rtt)^2, at most 1 / w, balances half of a window per loss."""
    cap = reno(loss)
    low, high = np.full((*loss.shape[:-1], 1), -40.0), np.full((*loss.shape[:-1], 1), 5.0)
    for _ in range(46):
        middle = (low + high) / 2
        windows = np.minimum(np.exp(middle) * cap**2, cap)
        best = (windows / rtt**2).max(axis=-1, keepdims=True)
        above = np.log(best / (windows / rtt).sum(axis=-1, keepdims=True) ** 2) > middle
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.minimum(np.exp(low) * cap**2, cap)


def best_path(loss: Floats, rtt: Floats, width: float) -> Floats:
    """OLIA's and the fully coupled fixed point: the best path at Reno's rate, a packet on the others."""
    part = preferences(loss, rtt, width)
    return part * reno(loss) + (1 - part)


def balia(loss: Floats, rtt: Floats, width: float) -> Floats:
    """Peng et al., 2016: (1 + a)(4 + a) / 10 (rtt x)^2 for an ACK, min(a, 1.5) w / 2 for a loss, a = max(x) / x_r."""
    part, squares = preferences(loss, rtt, width), loss * rtt**2
    # Axis -2 says which path is the best. (1 + a)(4 + a) = 18 ratio on the paths that are worse.
    ratio = np.maximum(squares[..., None, :] / squares[..., :, None], 1)
    alpha = (np.sqrt(9 + 72 * ratio) - 5) / 2
    alpha = np.where(np.eye(loss.shape[-1], dtype=bool), 1, alpha)
    largest = np.sqrt(1.5 / squares) / np.sum(1 / alpha, axis=-1)
    return np.asarray(np.sum((part * largest)[..., None] / alpha, axis=-2) * rtt)


ALGORITHMS: dict[str, tuple[Windows, bool]] = {
    "uncoupled": (uncoupled, False),
    "lia": (lia, False),
    "balia": (balia, True),
    "olia": (best_path, True),
    "fully-coupled": (best_path, True),
}
"""Windows, and whether they jump where another path becomes the best."""


def solve(network: Network, windows: Windows, *, jumps: bool) -> tuple[float, Floats]:
    """The largest error of a link, and the rate of each subflow.

    Links are full or have no price: Fischer's and Burmeister's function of both is 0. Windows that jump are smoothed,
    step by step less.
    """
    paths = Paths(network)
    links = len(network.capacities)
    widths = list(np.geomspace(0.3, 1e-3, 18)) if jumps else [1.0]

    def errors(logs: Floats, width: float) -> Floats:
        utilisation, _ = paths.rates(np.exp(np.clip(logs, *LOG_PRICES)), windows, width)
        price, free = np.maximum(logs - LOG_FREE, 0) / 10, 1 - utilisation
        return np.asarray(price + free - np.sqrt(price**2 + free**2 + 1e-16))

    def slopes(logs: Floats, width: float) -> Floats:
        step = 1e-7
        moved = errors(np.vstack([logs, logs + step * np.eye(links)]), width)
        return np.asarray((moved[1:] - moved[0]).T / step)

    best, found = math.inf, np.zeros(links)
    for start in (1e-3, 1e-4, 1e-2, 0.1, 0.5, 1e-5):
        logs = np.full(links, math.log(start))
        for width in widths:
            # Far below the price of a free link nothing depends on it, so that it would stay there.
            result = least_squares(
                errors,
                np.maximum(logs, LOG_FREE),
                jac=slopes,
                args=(width,),
                xtol=1e-12,
                ftol=1e-14,
                gtol=1e-12,
                max_nfev=200,
            )
            logs = result.x
        error = float(np.abs(result.fun).max())
        if error < best:
            best, found = error, logs
        if best < 1e-6:
            break
    goodputs = paths.rates(np.exp(np.clip(found, *LOG_PRICES)), windows, widths[-1])[1]
    return best, goodputs[paths.exists]


def by_connection(network: Network, values: Floats | list[float]) -> list[float]:
    """The sums over the subflows of each connection."""
    remaining = iter(values)
    return [sum(float(next(remaining)) for _ in paths) for paths in network.connections]
