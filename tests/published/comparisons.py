"""Published results and the numbers of the flow level. `python -m tests.published.comparisons` prints the table.

Every network has windows of at least 12 packets, for which response functions hold. A number stands in its source, or
is the root of an equation that the source gives.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

from weft import _weft

PACKET_BITS = 12_000
RTT = 0.1


@dataclass(frozen=True)
class Comparison:
    """A published number, the number of the flow level, and the largest relative difference."""

    source: str
    quantity: str
    published: float
    found: Callable[[], float]
    band: float


def rates(capacities: list[float], connections: list[list[list[int]]], cc: str) -> list[float]:
    """The rate of each connection, in the unit of the capacities, which is Mbps."""
    subflows = sum(map(len, connections))
    scaled = [1e6 * capacity for capacity in capacities]
    goodputs, _, converged = _weft.equilibrium(scaled, connections, [RTT] * subflows, cc)
    assert converged
    remaining = iter(goodputs)
    return [sum(next(remaining) for _ in paths) / 1e6 for paths in connections]


def price(window: float, loss: float, cc: str) -> float:
    """The loss rate at which one flow has the goodput of a window in packets that is reduced by a loss rate."""
    capacity = window * (1 - loss) * PACKET_BITS / RTT
    _, prices, converged = _weft.equilibrium([capacity], [[[0]]], [RTT], cc)
    assert converged
    return prices[0]


def root(increasing: Callable[[float], float]) -> float:
    """The root between 0 and 4."""
    low, high = 0.0, 4.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if increasing(middle) < 0 else (low, middle)
    return low


def scenario_a(ratio: float) -> float:
    """CoNEXT 2012, section 3.1: z + z^2 / (1 + 2 z^2) = C2 / C1 for N1 = N2; single-path users have z C1."""
    return root(lambda z: z + z**2 / (1 + 2 * z**2) - ratio)


def scenario_c(ratio: float) -> float:
    """CoNEXT 2012, section 3.3: z + z^2 + z^3 = C2 / C1 for N1 = N2; single-path users have (z + z^3) C1."""
    z = root(lambda z: z + z**2 + z**3 - ratio)
    return z + z**3


TRIANGLE = [[[0], [1, 2]], [[1], [2, 0]], [[2], [0, 1]]]
FOUR_LINKS = [[[link], [link + 1]] for link in range(3)]

NSDI = "Wischik, Raiciu, Greenhalgh and Handley, NSDI 2011"
CONEXT = "Khalili et al., CoNEXT 2012"
RFC_9438 = "RFC 9438, table 1"

COMPARISONS = [
    Comparison(
        f"{NSDI}, section 2.2",
        "triangle of 12 Mbps, uncoupled: Mbps of a flow",
        8.5,
        lambda: rates([12] * 3, TRIANGLE, "uncoupled")[0],
        0.01,
    ),
    Comparison(
        f"{NSDI}, section 2.2",
        "triangle of 12 Mbps, fully coupled: Mbps of a flow",
        12,
        lambda: rates([12] * 3, TRIANGLE, "fully-coupled")[0],
        0.03,
    ),
    *(
        Comparison(
            f"{NSDI}, section 2.3",
            f"links of 5, 12, 10 and 3 Mbps, uncoupled: Mbps of flow {flow}",
            published,
            lambda flow=flow: rates([5, 12, 10, 3], FOUR_LINKS, "uncoupled")[flow],  # type: ignore[misc]
            0.01,
        )
        for flow, published in enumerate((11, 11, 8))
    ),
    Comparison(
        f"{NSDI}, section 2.3",
        "links of 5, 12, 10 and 3 Mbps, fully coupled: Mbps of the slowest flow",
        10,
        lambda: min(rates([5, 12, 10, 3], FOUR_LINKS, "fully-coupled")),
        0.02,
    ),
    *(
        Comparison(
            f"{CONEXT}, section 3.1",
            f"scenario A, C2 / C1 = {ratio}, LIA: rate of a single-path user over C1",
            scenario_a(ratio),
            lambda ratio=ratio: (
                rates(  # type: ignore[misc]
                    [200, 200 * ratio], [[[0], [0, 1]]] * 10 + [[[1]]] * 10, "lia"
                )[-1]
                / 20
            ),
            0.02,
        )
        for ratio in (0.5, 1, 1.2)
    ),
    *(
        Comparison(
            f"{CONEXT}, section 3.3",
            f"scenario C, C2 / C1 = {ratio}, LIA: rate of a single-path user over C1",
            scenario_c(ratio),
            lambda ratio=ratio: (
                rates(  # type: ignore[misc]
                    [200, 200 * ratio], [[[0], [1]]] * 10 + [[[1]]] * 10, "lia"
                )[-1]
                / 20
            ),
            0.02,
        )
        for ratio in (0.5, 1, 2)
    ),
    *(
        Comparison(
            RFC_9438,
            f"loss rate at a window of {window} packets, {cc}",
            loss,
            lambda window=window, loss=loss, cc=cc: price(window, loss, cc),  # type: ignore[misc]
            band,
        )
        # The table's windows are whole packets: 12 stands for 11.5 to 12.5, of which the loss rate goes as the square.
        for cc, window, loss, band in (
            ("reno", 12, 1e-2, 0.09),
            ("reno", 38, 1e-3, 0.05),
            ("reno", 120, 1e-4, 0.05),
            ("cubic", 187, 1e-4, 0.05),
            ("cubic", 1054, 1e-5, 0.05),
        )
    ),
    Comparison(
        "Mathis, Semke, Mahdavi and Ott, 1997, section 2",
        "loss rate at which Reno has a window of 50 packets: 1.5 / 50^2",
        6e-4,
        lambda: price(50, 6e-4, "reno"),
        0.01,
    ),
    Comparison(
        "Bertsekas and Gallager, Data Networks, 1992, section 6.5.2",
        "line of three links, a flow over all, one on each, two on the last: max-min rate of the long flow",
        1 / 3,
        lambda: _weft.max_min([1.0] * 3, [[[0, 1, 2]], [[0]], [[1]], [[2]], [[2]]])[0][0],
        1e-9,
    ),
]


def lines() -> list[str]:
    """The comparisons as rows of a table."""
    rows = []
    for comparison in COMPARISONS:
        found = comparison.found()
        numbers = f"{comparison.published:.4g} | {found:.4g} | {found / comparison.published - 1:+.1%}"
        rows.append(f"| {comparison.source} | {comparison.quantity} | {numbers} |")
    return rows


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines()) + "\n")
