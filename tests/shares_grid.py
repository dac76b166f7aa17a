"""Shares of two and four flows of unequal hops: algorithms, rates, link delays and seeds, judged by three criteria.

`python -m tests.shares_grid` runs 4,800 experiments in some minutes. The criteria are:

- In the mean over seeds and delays, the share of a flow is at least 0.6 times the minimum, over e from 0 to 2, of
  RTT^-e / sum of RTT^-e. RTTs are proportional to the number of links.
- No flow without a timeout has less than 0.05 of an equal share.
- The sign of the difference between the nearest and the farthest flow is the same at all delays at which its 95 %
  interval excludes 0.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from statistics import fmean, stdev

import weft
from tests.test_shares import MIN_OF_FAIR, experiment

PACKETS = {"100Mbps": 30_000, "1Gbps": 30_000, "10Gbps": 60_000, "100Gbps": 150_000}
"""The number of measured packets of all flows together by rate, after as many that are not measured."""
ALGORITHMS = {"reno": None, "cubic": None, "lia": None, "dctcp": 20, "amp": 20, "warp": 20}
"""The marking threshold in packets of each algorithm, if it has one."""
DELAYS_US = (1, 2, 3, 5, 8, 12, 18, 25, 35, 50)
COUNTS = (2, 4)
SEEDS = range(7001, 7011)
LINKS = (2, 6, 4, 6)
"""The number of links between each of `tests.test_shares.SENDERS` and h0."""
MIN_RATIO = 0.6
T95 = 2.262
"""The 97.5 % quantile of Student's t with nine degrees of freedom."""

Cell = tuple[str, str, int]
Run = tuple[int, list[float], list[int]]
"""Delay, shares and timeouts."""


def run(cell: Cell, delay_us: int, seed: int) -> Run:
    """Runs an experiment."""
    algorithm, rate, _ = cell
    spec = experiment(*cell, packets=PACKETS[rate], delay_us=delay_us, mark=ALGORITHMS[algorithm])
    flows = weft.run(spec, seed=seed, threads=1).flows.sort("flow")
    measured = flows["measured_bytes"]
    return delay_us, (measured / measured.sum()).to_list(), (flows["timeouts"] + flows["syn_timeouts"]).to_list()


def least_fair(flows: int) -> list[float]:
    """Returns the minimum over e of each flow's share."""
    exponents = [n / 20 for n in range(41)]
    return [min(LINKS[i] ** -e / sum(LINKS[j] ** -e for j in range(flows)) for e in exponents) for i in range(flows)]


def signs(runs: list[Run]) -> dict[int, float]:
    """Returns the mean difference between the first and the second flow by delay, where its interval excludes 0."""
    found = {}
    for delay_us in DELAYS_US:
        differences = [shares[0] - shares[1] for delay, shares, _ in runs if delay == delay_us]
        mean = fmean(differences)
        if abs(mean) > T95 * stdev(differences) / len(differences) ** 0.5:
            found[delay_us] = round(mean, 3)
    return found


def main() -> None:
    """Runs all experiments and prints what misses a criterion."""
    warnings.simplefilter("ignore")
    cells = list(product(ALGORITHMS, PACKETS, COUNTS))
    jobs = list(product(cells, DELAYS_US, SEEDS))
    with ThreadPoolExecutor() as pool:
        results = list(pool.map(lambda job: run(*job), jobs))
    runs: dict[Cell, list[Run]] = {cell: [] for cell in cells}
    for (cell, *_), result in zip(jobs, results, strict=True):
        runs[cell].append(result)
    timeouts: Counter[tuple[str, str]] = Counter()
    below, starved, changing = [], [], []
    for cell, some in runs.items():
        algorithm, rate, flows = cell
        means = [fmean(shares[i] for _, shares, _ in some) for i in range(flows)]
        ratio = min(mean / fair for mean, fair in zip(means, least_fair(flows), strict=True))
        below += [f"{cell}: {ratio:.2f}"] if ratio < MIN_RATIO else []
        timeouts[algorithm, rate] += sum(late > 0 for _, _, all_late in some for late in all_late)
        starved += [
            f"{cell}, {delay_us} us: {share:.4f}"
            for delay_us, shares, all_late in some
            for share, late in zip(shares, all_late, strict=True)
            if late == 0 and share < MIN_OF_FAIR / flows
        ]
        found = signs(some)
        changing += [f"{cell}: {found}"] if len({value > 0 for value in found.values()}) > 1 else []
    for title, lines in (
        (f"mean share below {MIN_RATIO} of the least fair one", below),
        ("flows that starve without a timeout", starved),
        ("cells in which the sign changes", changing),
        ("flows with a timeout", [f"{key}: {n}" for key, n in timeouts.items() if n]),
    ):
        sys.stdout.write("\n  ".join([f"{title}: {len(lines)}", *lines]) + "\n")


if __name__ == "__main__":
    main()
