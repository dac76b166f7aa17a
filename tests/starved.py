"""Shares of bulk flows to one host with a user's defaults: algorithms, rates, pairs of senders, delays and seeds.

- `python -m tests.starved` runs decision 19's table, 200 runs per cell.
- `python -m tests.starved pairs` runs all pairs of senders of a fat-tree (k = 4), ten seeds each. The mean share of the
  smaller flow must be at least `MIN_MEAN`.
- `python -m tests.starved several` runs two to four flows with one algorithm or several. They start at once or in turn.

Each of them fails if a flow has less than `STARVED` of the goodput. Rates may follow; `RUNS` limits the runs per cell.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations, islice, product
from random import Random
from statistics import fmean

import weft

STARVED = 0.025
MIN_MEAN = 0.3
ALGORITHMS = {"reno": None, "cubic": None, "lia": None, "dctcp": 20}
"""The marking threshold in packets of each algorithm, if it has one."""
DURATIONS = {"100Mbps": 20.0, "1Gbps": 8.0, "10Gbps": 3.0, "100Gbps": 1.0}
"""Simulated seconds by rate. A lost SYN takes one second, a lost window at least 0.2 s."""
DELAYS_US = (1, 2, 3, 5, 8, 12, 18, 25, 35, 50)
LINKS = {2: ("h1",), 4: ("h2", "h3"), 6: tuple(f"h{host}" for host in range(4, 16))}
"""The senders to h0 by the number of links between them."""
DISTANCES = ((2, 4), (2, 6), (4, 4), (4, 6), (6, 6))
"""The numbers of links of two different senders."""


@dataclass(frozen=True)
class Case:
    """A run of flows to h0 that share its link."""

    rate: str
    senders: tuple[str, ...]
    algorithms: tuple[str, ...]
    delay_us: int
    seed: int
    limit: int = 100
    stagger_s: float = 0.0
    """Time between the starts of flows."""

    def spec(self) -> dict[str, object]:
        """Returns the experiment; apart from the topology and the queues everything has its default."""
        marks = [mark for mark in map(ALGORITHMS.get, self.algorithms) if mark is not None]
        last = self.stagger_s * (len(self.senders) - 1)
        duration = DURATIONS[self.rate] + last
        return {
            "name": "starved",
            "duration": f"{duration:.6f}s",
            "measure": {"start": f"{last:.6f}s"},
            "topology": {"kind": "fat-tree", "k": 4, "rate": self.rate, "delay": f"{self.delay_us}us"},
            "queues": {"limit": f"{self.limit} packets"} | ({"mark": f"{marks[0]} packets"} if marks else {}),
            "transports": {name: {"cc": name} for name in self.algorithms},
            "traffic": [
                {
                    "kind": "bulk",
                    "transport": algorithm,
                    "from": sender,
                    "to": "h0",
                    "start": f"{i * self.stagger_s:.6f}s",
                    "jitter": "3ms",
                }
                for i, (sender, algorithm) in enumerate(zip(self.senders, self.algorithms, strict=True))
            ],
        }

    def shares(self) -> list[float]:
        """Returns the share of each flow in the goodput."""
        measured = weft.run(self.spec(), seed=self.seed, threads=1).flows.sort("flow")["measured_bytes"]
        return (measured / measured.sum()).to_list()


def senders(distances: Iterable[int], random: Random) -> tuple[str, ...]:
    """Returns different senders with these numbers of links, in random order."""
    chosen: list[str] = []
    for links in distances:
        chosen.append(random.choice([sender for sender in LINKS[links] if sender not in chosen]))
    random.shuffle(chosen)
    return tuple(chosen)


def table(algorithm: str, rate: str, runs: int) -> list[Case]:
    """Returns the runs of a cell of the table: all distances and delays in turn, each with another seed."""
    cases = []
    for n, (distances, delay_us) in enumerate(islice(product(DISTANCES * runs, DELAYS_US), runs)):
        chosen = senders(distances, Random(n))  # noqa: S311 (an experiment, no secret)
        cases.append(Case(rate, chosen, (algorithm, algorithm), delay_us, 9_000 + n))
    return cases


def pairs(algorithm: str, rate: str, seeds: int) -> list[Case]:
    """Returns the runs of all pairs of senders."""
    hosts = [host for group in LINKS.values() for host in group]
    return [
        Case(rate, pair, (algorithm, algorithm), 4, seed, limit=120)
        for pair, seed in product(combinations(hosts, 2), range(seeds))
    ]


def several(rate: str, runs: int) -> list[Case]:
    """Returns runs of two to four flows with one algorithm or several, which start together or in turn."""
    cases = []
    for n in range(runs):
        random = Random(n)  # noqa: S311 (an experiment, no secret)
        count = random.choice((2, 3, 4))
        distances = random.choice([d for d in product((2, 4, 6), repeat=count) if d.count(2) < 2 and d.count(4) < 3])
        mixed = [random.choice(("reno", "cubic", "lia")) for _ in range(count)]
        algorithms = mixed if n % 2 else [random.choice(tuple(ALGORITHMS))] * count
        stagger_s = random.choice((0.0, 0.01, 0.3))
        delay_us = random.choice(DELAYS_US)
        cases.append(
            Case(
                rate,
                senders(distances, random),
                tuple(algorithms),
                delay_us,
                n,
                random.choice((60, 100, 250)),
                stagger_s,
            )
        )
    return cases


def report(cell: str, cases: Sequence[Case], pool: ThreadPoolExecutor) -> tuple[int, float]:
    """Runs the cases of a cell, prints them in a line, and returns the starved runs and the mean of the smallest share.

    Shares of n flows count as n / 2 times their value, so that an equal share is a half.
    """
    smallest = [min(shares) * len(shares) / 2 for shares in pool.map(Case.shares, cases)]
    starved = [case for case, share in zip(cases, smallest, strict=True) if share < STARVED]
    mean = fmean(smallest)
    sys.stdout.write(
        f"{cell}: {len(starved)} of {len(cases)} starved, smallest share {min(smallest):.3f}, mean {mean:.3f}\n"
    )
    for case in starved:
        sys.stdout.write(f"  {case}\n")
    sys.stdout.flush()
    return len(starved), mean


def main(what: str = "table", rates: Sequence[str] = ("100Mbps", "1Gbps", "10Gbps")) -> int:
    """Runs the experiments of `what` and returns the number of starved runs and of cells below `MIN_MEAN`."""
    warnings.simplefilter("ignore")
    limit = int(os.environ.get("RUNS", "0"))
    missed = 0
    with ThreadPoolExecutor() as pool:
        if what == "several":
            return sum(report(f"several, {rate}", several(rate, limit or 200), pool)[0] for rate in rates)
        for algorithm, rate in product(ALGORITHMS, rates):
            cases = pairs(algorithm, rate, 10) if what == "pairs" else table(algorithm, rate, limit or 200)
            if what == "pairs" and limit:
                cases = Random(0).sample(cases, limit)  # noqa: S311 (experiments, no secret)
            starved, mean = report(f"{algorithm}, {rate}", cases, pool)
            missed += starved + (mean < MIN_MEAN)
    return missed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2], *([sys.argv[2:]] if sys.argv[2:] else [])) > 0)
