"""Equilibria of the flow level compared with the independent solver on random networks.

`CASES=1000 python -m tests.levels.equilibria` prints the numbers of networks.
"""

from __future__ import annotations

import os
import random
import sys
from dataclasses import dataclass, field

from tests.levels.solver import ALGORITHMS, by_connection, random_network, solve
from weft import _weft

MAX_DIFFERENCE = 0.02
"""Largest relative difference of a connection's rate."""

MAX_ERROR = 1e-4
"""Largest error of a link at a solution of the independent solver."""


@dataclass
class Outcome:
    """The seeds of networks, by the result of their comparison."""

    compared: int = 0
    largest: float = 0.0
    """Largest relative difference of a rate."""
    unsolved: list[int] = field(default_factory=list)
    """The independent solver found no solution."""
    refused: list[int] = field(default_factory=list)
    """The flow level found no equilibrium, and a run says so."""
    wrong: list[int] = field(default_factory=list)
    """Rates differ, and a run does not say so."""


def compare(name: str, cases: int) -> Outcome:
    """Compares the rates of connections on the networks of the first seeds."""
    windows, jumps = ALGORITHMS[name]
    outcome = Outcome()
    for seed in range(cases):
        network = random_network(random.Random(seed))  # noqa: S311 (a network, no secret)
        error, expected = solve(network, windows, jumps=jumps)
        goodputs, _, converged = _weft.equilibrium(network.capacities, network.connections, network.rtts, name)
        if error > MAX_ERROR:
            outcome.unsolved.append(seed)
        if not converged:
            outcome.refused.append(seed)
        if error > MAX_ERROR or not converged:
            continue
        pairs = zip(by_connection(network, goodputs), by_connection(network, expected), strict=True)
        difference = max(abs(found / rate - 1) for found, rate in pairs)
        outcome.compared += 1
        outcome.largest = max(outcome.largest, difference)
        if difference > MAX_DIFFERENCE:
            outcome.wrong.append(seed)
    return outcome


def main() -> int:
    """Prints a row for each algorithm. Returns 1 if a rate is silently wrong."""
    cases = int(os.environ.get("CASES", "1000"))
    wrong = 0
    columns = ["algorithm", "networks", "compared", "silently off", "with a warning", "unsolved", "largest difference"]
    sys.stdout.write(f"| {' | '.join(columns)} |\n")
    sys.stdout.write("|---|---|---|---|---|---|---|\n")
    for name in ALGORITHMS:
        outcome = compare(name, cases)
        wrong += len(outcome.wrong)
        numbers = [cases, outcome.compared, *(len(of) for of in (outcome.wrong, outcome.refused, outcome.unsolved))]
        sys.stdout.write(f"| {name} | {' | '.join(map(str, numbers))} | {outcome.largest:.2%} |\n")
        sys.stdout.flush()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
