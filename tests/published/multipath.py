"""Published results about several paths: NSDI 2011 and CoNEXT 2012."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from tests.levels.solver import ALGORITHMS, Network, by_connection, solve
from tests.published.comparison import Comparison, Measure
from tests.published.scenes import RTT, listed_paths, packets_per_rtt, rates_of, run, shares
from weft import _weft

NSDI = "Wischik, Raiciu, Greenhalgh and Handley, NSDI 2011"
CONEXT = "Khalili et al., CoNEXT 2012"

PER_FLOW = 4.0
"""Mbps of a bottleneck per flow: windows of some 30 packets."""

DROP_TAIL = 0.15
"""Band at the packet level. Queues drop packets in bursts, which equations have at random."""

Connections = list[list[list[int]]]


def fixed_point(mbps: list[float], connections: Connections, cc: str) -> list[float]:
    """The rate of each connection in Mbps at the fixed point of the equations, by the independent solver."""
    windows, jumps = ALGORITHMS[cc]
    network = Network([1e6 * rate for rate in mbps], connections, [RTT] * sum(map(len, connections)))
    error, rates = solve(network, windows, jumps=jumps)
    assert error < 1e-4
    return [rate / 1e6 for rate in by_connection(network, rates)]


def equilibrium(mbps: list[float], connections: Connections, cc: str) -> list[float]:
    """The rate of each connection in Mbps by the flow level's solver."""
    subflows = sum(map(len, connections))
    goodputs, _, converged = _weft.equilibrium([1e6 * rate for rate in mbps], connections, [RTT] * subflows, cc)
    assert converged
    remaining = iter(goodputs)
    return [sum(next(remaining) for _ in paths) / 1e6 for paths in connections]


def over(paths: list[list[int]]) -> Connections:
    """Connections with paths over one link each."""
    return [[[link] for link in of] for of in paths]


def over_links(
    source: str, quantity: str, links: list[float], paths: list[list[int]], cc: str, flow: int
) -> Comparison:
    """Connections over bottlenecks, the fastest of `PER_FLOW` Mbps: the rate of one of them in units of `links`."""
    scale = PER_FLOW / max(links)
    mbps = [scale * link for link in links]
    fixed = partial(fixed_point, mbps, over(paths), cc)
    found = partial(shares, tuple(mbps), tuple(map(tuple, paths)), cc)
    return Comparison(
        source,
        f"{quantity}, {cc}: rate of connection {flow}",
        lambda: fixed()[flow] / scale,
        Measure(lambda: found("flow")[flow] / scale, 0.02),
        Measure(lambda: found("packet")[flow] / scale, DROP_TAIL),
    )


def root(increasing: Callable[[float], float]) -> float:
    """The root between 0 and 4."""
    low, high = 0.0, 4.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if increasing(middle) < 0 else (low, middle)
    return low


def scenario_a(ratio: float) -> float:
    """Section 3.1: z + z^2 / (1 + 2 z^2) = C2 / C1 for N1 = N2; single-path users have z C1."""
    return root(lambda z: z + z**2 / (1 + 2 * z**2) - ratio)


def scenario_c(ratio: float) -> float:
    """Section 3.3: z + z^2 + z^3 = C2 / C1 for N1 = N2; single-path users have (z + z^3) C1."""
    z = root(lambda z: z + z**2 + z**3 - ratio)
    return z + z**3


def in_scenario_a(ratio: float) -> float:
    """The rate of a single-path user over C1, by the flow level's solver."""
    return equilibrium([200, 200 * ratio], [[[0], [0, 1]]] * 10 + [[[1]]] * 10, "lia")[-1] / 20


@cache
def in_scenario_c(ratio: float, cc: str, level: str) -> float:
    """The rate of a single-path user over C1."""
    return shares((PER_FLOW, PER_FLOW * ratio), ((0, 1), (1,)), cc, level)[1] / PER_FLOW


@cache
def in_triangle(cc: str) -> float:
    """The mean rate of a flow at the packet level, in Mbps for links of 12 Mbps."""
    rates = rates_of(run(listed_paths([PER_FLOW] * 3, TRIANGLE, cc, copies=5), "packet"))
    return sum(rates) / len(rates) * 12 / PER_FLOW


TWO_QUEUES = (
    "The path over two drop-tail queues has 5.0 times the loss rate of the path over one and waits in both; in the "
    "equations it has twice the loss rate and an equal round-trip time"
)
FOUR_LINKS = [5.0, 12.0, 10.0, 3.0]
NEIGHBOURS = [[0, 1], [1, 2], [2, 3]]
TORUS = [10.0, 10.0, 5.0, 10.0, 10.0]
AROUND = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]]
TRIANGLE: Connections = [[[0], [1, 2]], [[1], [2, 0]], [[2], [0, 1]]]

COMPARISONS = [
    *(
        Comparison(
            f"{NSDI}, section 2.2",
            f"triangle of 12 Mbps, {cc}: Mbps of a flow",
            lambda cc=cc: fixed_point([12.0] * 3, TRIANGLE, cc)[0],  # type: ignore[misc]
            Measure(lambda cc=cc: equilibrium([12.0] * 3, TRIANGLE, cc)[0], 0.02),  # type: ignore[misc]
            Measure(lambda cc=cc: in_triangle(cc), DROP_TAIL, agrees=not cause),  # type: ignore[misc]
            cause,
        )
        for cc, cause in (("uncoupled", ""), ("lia", TWO_QUEUES), ("fully-coupled", ""))
    ),
    over_links(f"{NSDI}, section 2.3", "links of 5, 12, 10 and 3", FOUR_LINKS, NEIGHBOURS, "uncoupled", 0),
    over_links(f"{NSDI}, section 2.3", "links of 5, 12, 10 and 3", FOUR_LINKS, NEIGHBOURS, "uncoupled", 2),
    over_links(f"{NSDI}, section 2.3", "links of 5, 12, 10 and 3", FOUR_LINKS, NEIGHBOURS, "lia", 2),
    Comparison(
        f"{NSDI}, section 2.3",
        "links of 5, 12, 10 and 3, fully-coupled: rate of the slowest connection",
        lambda: sum(FOUR_LINKS) / 3,
        Measure(lambda: min(equilibrium(FOUR_LINKS, over(NEIGHBOURS), "fully-coupled")), 0.02),
        Measure(
            lambda: min(shares(tuple(FOUR_LINKS), tuple(map(tuple, NEIGHBOURS)), "fully-coupled", "packet")),
            DROP_TAIL,
            agrees=False,
        ),
        "A fully coupled connection stays on one path for long times, as section 2.4 of the source says",
    ),
    over_links(f"{NSDI}, section 3", "ring of five links, one half as fast", TORUS, AROUND, "lia", 2),
    over_links(f"{NSDI}, section 3", "ring of five links, one half as fast", TORUS, AROUND, "lia", 4),
    over_links(f"{NSDI}, section 3", "ring of five links, one half as fast", TORUS, AROUND, "uncoupled", 2),
    *(
        Comparison(
            f"{CONEXT}, section 3.1",
            f"scenario A, C2 / C1 = {ratio}, LIA: rate of a single-path user over C1",
            lambda ratio=ratio: scenario_a(ratio),  # type: ignore[misc]
            Measure(lambda ratio=ratio: in_scenario_a(ratio), 0.02),  # type: ignore[misc]
        )
        for ratio in (0.5, 1, 1.2)
    ),
    *(
        Comparison(
            f"{CONEXT}, section 3.3",
            f"scenario C, C2 / C1 = {ratio}, LIA: rate of a single-path user over C1",
            lambda ratio=ratio: scenario_c(ratio),  # type: ignore[misc]
            Measure(lambda ratio=ratio: in_scenario_c(ratio, "lia", "flow"), 0.05),  # type: ignore[misc]
            Measure(lambda ratio=ratio: in_scenario_c(ratio, "lia", "packet"), DROP_TAIL),  # type: ignore[misc]
        )
        for ratio in (0.5, 1, 2)
    ),
    *(
        Comparison(
            f"{CONEXT}, section 4",
            f"scenario C, C2 / C1 = {ratio}, OLIA: rate of a single-path user over C1",
            lambda ratio=ratio: ratio - 1 / packets_per_rtt(PER_FLOW),  # type: ignore[misc]
            Measure(lambda ratio=ratio: in_scenario_c(ratio, "olia", "flow"), 0.05),  # type: ignore[misc]
            Measure(lambda ratio=ratio: in_scenario_c(ratio, "olia", "packet"), DROP_TAIL),  # type: ignore[misc]
        )
        for ratio in (0.5, 1)
    ),
]
