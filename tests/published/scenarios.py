"""The scenarios A to C of CoNEXT 2012, with LIA and OLIA at both levels.

Each has as many users of one kind as of the other, and each user has a rate C1 or C2 of a link that they share.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from tests.published.comparison import Comparison, Measure
from tests.published.multipath import (
    DROP_TAIL,
    NO_QUEUES,
    PER_FLOW,
    TWO_QUEUES,
    Connections,
    equilibrium,
    fixed_point,
)
from tests.published.scenes import RANDOM_DROPS, listed_paths, packets_per_rtt, rates_of, run

CONEXT = "Khalili et al., CoNEXT 2012"

FLOW_LEVEL = 0.05
"""Band at the flow level, where some solutions assume that windows are large."""

SINGLE: Connections = [[[1]]]
SCENARIOS: dict[str, Connections] = {
    # Users with two paths, both over their own link, the second also over the link of the others.
    "A": [[[0], [0, 1]], *SINGLE],
    # Users with a path over either link. The others have one path, or another one over both links.
    "B, single path": [[[0], [1]], *SINGLE],
    "B": [[[0], [1]], [[1], [0, 1]]],
    # Users with a path over either link.
    "C": [[[0], [1]], *SINGLE],
}
"""The paths of users of either kind: links 0 and 1 have C1 and C2 for each user."""

SCENARIO_B = (PER_FLOW * 27 / 36, PER_FLOW)
"""C1 and C2 of scenario B: 27 and 36 Mbps for equal numbers of users."""


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


def with_probes(ratio: float) -> float:
    """Section 4: OLIA has the best rates, but that each user sends a packet per round-trip time over the other path."""
    return ratio - 1 / packets_per_rtt(PER_FLOW)


@cache
def users(scenario: str, mbps: tuple[float, float], cc: str, level: str, *, random_drops: bool = False) -> list[float]:
    """The rate of a user of either kind in Mbps, at a level or by the independent solver."""
    connections = SCENARIOS[scenario]
    if level == "equations":
        return fixed_point(list(mbps), connections, cc)
    if level == "flow":
        return equilibrium(list(mbps), connections, cc)
    queues = RANDOM_DROPS if random_drops else None
    return rates_of(run(listed_paths(list(mbps), connections, cc, 5, queues), level))


def single_path(scenario: str, ratio: float, cc: str, level: str, *, random_drops: bool = False) -> float:
    """The rate of a single-path user over C1."""
    return users(scenario, (PER_FLOW, PER_FLOW * ratio), cc, level, random_drops=random_drops)[1] / PER_FLOW


def of_ratio(
    scenario: str, section: str, ratio: float, cc: str, solution: Callable[[float], float], cause: str = ""
) -> Comparison:
    """The rate of single-path users in scenario A or C."""
    return Comparison(
        f"{CONEXT}, section {section}",
        f"scenario {scenario}, C2 / C1 = {ratio}, {cc.upper()}: rate of a single-path user over C1",
        lambda: solution(ratio),
        Measure(lambda: single_path(scenario, ratio, cc, "flow"), FLOW_LEVEL),
        Measure(lambda: single_path(scenario, ratio, cc, "packet"), DROP_TAIL, agrees=not cause),
        cause,
    )


def with_random_drops(ratio: float) -> Comparison:
    """Scenario A with LIA and queues that drop at random."""
    return Comparison(
        f"{CONEXT}, section 3.1",
        f"scenario A, C2 / C1 = {ratio}, LIA, random drops: rate of a single-path user over C1",
        lambda: scenario_a(ratio),
        packet=Measure(lambda: single_path("A", ratio, "lia", "packet", random_drops=True), DROP_TAIL),
        cause=NO_QUEUES,
    )


def of_scenario_b(scenario: str, cc: str, user: int) -> Comparison:
    """The rate of a user of either kind in scenario B."""
    kind = ("a user with a path over either link", "a user of the second link")[user]
    return Comparison(
        f"{CONEXT}, section 3.2",
        f"scenario {scenario}, {cc.upper()}: Mbps of {kind}",
        lambda: users(scenario, SCENARIO_B, cc, "equations")[user],
        Measure(lambda: users(scenario, SCENARIO_B, cc, "flow")[user], 0.02),
        Measure(lambda: users(scenario, SCENARIO_B, cc, "packet")[user], DROP_TAIL),
    )


OPEN = "Open: the packet level has 0.80 of the rate, also with the RTO of RFC 6298 or growth of half-used windows"

COMPARISONS = [
    of_ratio("A", "3.1", 0.5, "lia", scenario_a),
    *(of_ratio("A", "3.1", ratio, "lia", scenario_a, TWO_QUEUES) for ratio in (1, 1.2)),
    *(with_random_drops(ratio) for ratio in (1, 1.2)),
    *(of_ratio("A", "4", ratio, "olia", with_probes) for ratio in (0.5, 1)),
    *(of_scenario_b(name, cc, user) for cc in ("lia", "olia") for name in ("B, single path", "B") for user in (0, 1)),
    *(of_ratio("C", "3.3", ratio, "lia", scenario_c) for ratio in (0.5, 1, 2)),
    of_ratio("C", "4", 0.5, "olia", with_probes),
    of_ratio("C", "4", 1, "olia", with_probes, OPEN),
]
