"""Published results about several paths: NSDI 2011."""

from __future__ import annotations

from functools import cache, partial

from tests.levels.solver import ALGORITHMS, Network, by_connection, solve
from tests.published.comparison import Comparison, Measure
from tests.published.scenes import RANDOM_DROPS, RTT, listed_paths, rates_of, run, shares
from weft import _weft

NSDI = "Wischik, Raiciu, Greenhalgh and Handley, NSDI 2011"

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


@cache
def in_triangle(cc: str, *, random_drops: bool = False) -> float:
    """The mean rate of a flow at the packet level, in Mbps for links of 12 Mbps."""
    queues = RANDOM_DROPS if random_drops else None
    rates = rates_of(run(listed_paths([PER_FLOW] * 3, TRIANGLE, cc, 5, queues), "packet"))
    return sum(rates) / len(rates) * 12 / PER_FLOW


NO_QUEUES = "The flow level has no queues"
TWO_QUEUES = (
    "The path over two drop-tail queues has several times the loss rate of the path over one; in the equations it has "
    "the sum of both. With queues that drop at random the level agrees, as the next comparison shows"
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
    Comparison(
        f"{NSDI}, section 2.2",
        "triangle of 12 Mbps, lia, random drops: Mbps of a flow",
        lambda: fixed_point([12.0] * 3, TRIANGLE, "lia")[0],
        packet=Measure(lambda: in_triangle("lia", random_drops=True), DROP_TAIL),
        cause=NO_QUEUES,
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
        ),
    ),
    over_links(f"{NSDI}, section 3", "ring of five links, one half as fast", TORUS, AROUND, "lia", 2),
    over_links(f"{NSDI}, section 3", "ring of five links, one half as fast", TORUS, AROUND, "lia", 4),
    over_links(f"{NSDI}, section 3", "ring of five links, one half as fast", TORUS, AROUND, "uncoupled", 2),
]
