"""Why single paths differ at the two levels: the flow level's equilibrium, and its changes, one at a time.

`python -m tests.levels.causes` solves a permutation of `compare.py` in NumPy, in three ways. The first one is that of
the flow level and must give equal rates. The second one has other queues at full links in the round-trip times. The
third one has DCTCP's window under marks that come in bursts. The paths are read from the flow level, in which one flow
sends at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import weft
from tests.levels.compare import LEVELS, SCENES, Scene, measured

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]
    Response = Callable[[Numbers], Numbers]

RATE = 1e9
DELAY = 20e-6
PACKET, PAYLOAD = 1514, 1448
"""Bytes on the wire of a full packet and of its payload."""
RESPONSES: dict[str, list[tuple[str, Response, int]]] = {
    "LIA, 1 subflow": [
        ("as the flow level", lambda p: np.sqrt(1.5 / p), 0),
        ("with queues of 75 packets", lambda p: np.sqrt(1.5 / p), 75),
    ],
    "DCTCP": [
        ("as the flow level", lambda p: np.sqrt(2) / p, 20),
        ("without queues", lambda p: np.sqrt(2) / p, 0),
        ("marks in bursts, w = 2 / p^2", lambda p: 2 / p**2, 20),
    ],
}
"""Windows by the probability of a loss or a mark, and the packets that wait at a full link of a switch. DCTCP's window
goes as 1 / p^2 where whole windows are marked, and as 1 / p where packets are by chance: De Schepper et al., "PI2"
(2016)."""


def crossed(scene: Scene, seed: int) -> tuple[Numbers, Numbers]:
    """A matrix of flows by links, 1 where the flow crosses the link, and per link 1 if it is a switch's, else 0."""
    spec: dict[str, Any] = scene.experiment("flow").model_dump(by_alias=True, exclude_none=True)
    pairs = weft.run(spec, seed=seed).flows.sort("flow").select("from", "to").rows()
    spec["duration"] = f"{2 * len(pairs) + 2}ms"
    spec["traffic"] = [
        {"kind": "bulk", "transport": "all", "from": a, "to": b, "start": f"{2 * n + 1}ms", "stop": f"{2 * n + 2}ms"}
        for n, (a, b) in enumerate(pairs)
    ]
    rows = []
    for n in range(len(pairs)):
        spec["measure"] = {"start": f"{2 * n + 1}ms", "stop": f"{2 * n + 2}ms"}
        links = weft.run(spec, seed=seed).links.sort("link")
        rows.append((links["bytes"] > 0).to_numpy())
    return np.array(rows, dtype=np.float64), (links["layer"] != "host-tor").to_numpy().astype(np.float64)


def goodputs(links: Numbers, response: Response, queues: Numbers, *, marks: bool) -> Numbers:
    """Of each flow at the equilibrium, in Gbit/s: prices move until each link carries its capacity or is free."""
    hops = links.sum(axis=1)
    rtts = 2 * DELAY * hops + hops * 8 * PACKET / RATE
    prices, gains, steps = (np.full(links.shape[1], value) for value in (np.log(1e-3), 0.5, 0.0))
    for _ in range(10_000):
        price = np.exp(prices)
        arrive = np.exp(links @ np.log1p(-price))
        above = np.maximum(price - 1e-7, 0)
        waits = links @ (queues * 8 * PACKET / RATE * above / (above + 1e-6))
        sent = response(1 - arrive) * 8 * PACKET / (rtts + waits)
        carried = links.T @ sent * (1 if marks else 1 - price) / RATE
        if np.where(price <= 1e-7, carried - 1, np.abs(carried - 1)).max() < 1e-3:
            return np.asarray(sent * (1 if marks else arrive) * PAYLOAD / PACKET / 1e9, dtype=np.float64)
        way = np.log(np.maximum(carried, 1e-300))
        gains = np.clip(gains * np.where(way * steps < 0, 0.5, 1.2), 1e-3, 64)
        steps = np.clip(gains * way, -1, 1)
        prices = np.clip(prices + steps, np.log(1e-8), np.log(0.9))
    raise RuntimeError("no equilibrium")


def main() -> None:
    """Prints mean goodput and Jain's index at both levels and of each variant."""
    for name, variants in RESPONSES.items():
        scene = next(scene for scene in SCENES if scene.name == name)
        for level in LEVELS:
            found = measured(weft.run(scene.experiment(level), seed=1)).select("mean", "jain").row(0)
            print(f"{name}, {level} level: mean {found[0]:.4f} Gbit/s, Jain's index {found[1]:.3f}")
        links, of_switch = crossed(scene, seed=1)
        for words, response, queue in variants:
            rates = goodputs(links, response, queue * of_switch, marks=name == "DCTCP")
            mean, jain = float(rates.mean()), float(rates.mean() ** 2 / (rates * rates).mean())
            print(f"{name}, {words}: mean {mean:.4f} Gbit/s, Jain's index {jain:.3f}")


if __name__ == "__main__":
    main()
