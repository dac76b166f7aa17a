"""Why single paths differ at the two levels: the flow level's equilibrium, and its changes, one at a time.

`python -m tests.levels.causes` solves a permutation of `compare.py` in NumPy, in three ways. The first one is that of
the flow level and has equal rates. The second one has other queues at full links in the round-trip times. The
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
LAYERS = ("host-tor", "tor-agg", "agg-core", "core-agg", "agg-tor", "tor-host")
"""Layers of a fat-tree in the order of a path."""
MAX_DIFFERENCE = 5e-3
"""Largest relative difference of mean goodputs at the flow level and at its equilibrium in NumPy."""
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


def experiment(scene: Scene, level: str, seed: int) -> dict[str, Any]:
    """The scene with an entry of traffic for each flow, so that each flow keeps its path whenever it starts."""
    spec: dict[str, Any] = scene.experiment(level).model_dump(by_alias=True, exclude_none=True)
    pairs = weft.run(scene.experiment("flow"), seed=seed).flows.sort("flow").select("from", "to").rows()
    spec["traffic"] = [{"kind": "bulk", "transport": "all", "from": a, "to": b} for a, b in pairs]
    return spec


def crossed(scene: Scene, seed: int) -> tuple[Numbers, Numbers]:
    """A matrix of flows by links, 1 where the flow crosses the link, and per link 1 if it is a switch's, else 0.

    A flow crosses its links in the order of the columns.
    """
    spec = experiment(scene, "flow", seed)
    flows = len(spec["traffic"])
    spec["duration"] = f"{2 * flows + 2}ms"
    for n, entry in enumerate(spec["traffic"]):
        entry |= {"start": f"{2 * n + 1}ms", "stop": f"{2 * n + 2}ms"}
    rows = []
    for n in range(flows):
        spec["measure"] = {"start": f"{2 * n + 1}ms", "stop": f"{2 * n + 2}ms"}
        links = weft.run(spec, seed=seed).links.sort("link")
        rows.append((links["bytes"] > 0).to_numpy())
    layers = np.array([LAYERS.index(layer) for layer in links["layer"]])
    order = np.argsort(layers, kind="stable")
    return np.array(rows, dtype=np.float64)[:, order], (layers[order] > 0).astype(np.float64)


def goodputs(links: Numbers, response: Response, queues: Numbers, *, marks: bool) -> Numbers:
    """Of each flow at the equilibrium, in Gbit/s: prices move until each link carries its capacity or is free.

    A packet that a link drops does not load the links after it.
    """
    hops = links.sum(axis=1)
    rtts = 2 * DELAY * hops + hops * 8 * PACKET / RATE
    prices, gains, steps = (np.full(links.shape[1], value) for value in (np.log(1e-3), 0.5, 0.0))
    for _ in range(10_000):
        price = np.exp(prices)
        passed = np.cumprod(1 - links * price, axis=1)
        above = np.maximum(price - 1e-7, 0)
        waits = links @ (queues * 8 * PACKET / RATE * above / (above + 1e-6))
        sent = response(1 - passed[:, -1]) * 8 * PACKET / (rtts + waits)
        arrived = sent if marks else sent * passed[:, -1]
        leaving = links * sent[:, None] * (1 if marks else passed)
        carried = leaving.sum(axis=0) / RATE
        if np.where(price <= 1e-7, carried - 1, np.abs(carried - 1)).max() < 1e-3:
            return np.asarray(arrived * PAYLOAD / PACKET / 1e9, dtype=np.float64)
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
            found = measured(weft.run(experiment(scene, level, seed=1), seed=1)).select("mean", "jain").row(0)
            print(f"{name}, {level} level: mean {found[0]:.4f} Gbit/s, Jain's index {found[1]:.3f}")
        links, of_switch = crossed(scene, seed=1)
        for n, (words, response, queue) in enumerate(variants):
            rates = goodputs(links, response, queue * of_switch, marks=name == "DCTCP")
            mean, jain = float(rates.mean()), float(rates.mean() ** 2 / (rates * rates).mean())
            if n == 0 and abs(mean / found[0] - 1) > MAX_DIFFERENCE:
                raise RuntimeError(f"mean goodput at the flow level: {found[0]}; expected {mean}")
            print(f"{name}, {words}: mean {mean:.4f} Gbit/s, Jain's index {jain:.3f}")


if __name__ == "__main__":
    main()
