"""Random runs of the flow level, of which none may carry more on a link than its rate.

`CASES=10000 python -m tests.levels.capacities` prints how many runs there were of each kind.
"""

from __future__ import annotations

import os
import random
import sys
import time
import warnings
from collections import Counter
from typing import Any

import weft

MAX_EXCESS = 1e-6
"""Largest utilisation less 1."""

LOSS_BASED = ("uncoupled", "lia", "olia", "balia", "fully-coupled", "reno", "cubic")
MARK_BASED = ("dctcp", "amp", "xmp", "warp")


def random_graph(rng: random.Random) -> dict[str, Any]:
    """A connected graph of 3 to 10 switches with 4 to 16 hosts and links of different rates."""
    switches = [f"w{n}" for n in range(rng.randint(3, 10))]
    hosts = [f"h{n}" for n in range(rng.randint(4, 16))]
    pairs = [(rng.choice(switches[:n]), switches[n]) for n in range(1, len(switches))]
    pairs += [tuple(rng.sample(switches, 2)) for _ in range(rng.randint(0, 2 * len(switches)))]  # type: ignore[misc]
    pairs += [(host, rng.choice(switches)) for host in hosts]
    links = [{"a": a, "b": b, "rate": f"{rng.choice([1, 2, 10, rng.uniform(0.5, 20)]):.6f}Gbps"} for a, b in pairs]
    return {"kind": "graph", "hosts": hosts, "switches": switches, "links": links, "rate": "1Gbps", "delay": "20us"}


def random_experiment(rng: random.Random) -> tuple[str, dict[str, Any]]:
    """The kind of a random run, and its spec. Large fabrics are rare because they take long."""
    k = rng.choices([0, 4, 6, 8, 10], [40, 40, 15, 4, 1])[0]
    graph = random_graph(rng)
    topology = graph if k == 0 else {"kind": "fat-tree", "k": k, "rate": "1Gbps", "delay": "20us"}
    subflows = rng.randint(1, 8)
    max_min = rng.random() < 0.5
    all_to_all = rng.random() < 0.3
    marks = rng.random() < 0.3
    cc = rng.choice(MARK_BASED if marks else LOSS_BASED)
    if all_to_all:
        hosts = len(graph["hosts"]) if k == 0 else k**3 // 4
        traffic: dict[str, Any] = {"kind": "all-to-all", "hosts": f"0..{min(hosts, rng.randint(4, 10))}"}
    else:
        traffic = {"kind": "bulk", "pairs": "permutation", "count": rng.choice([1, 1, 1, 2])}
    sharing = "max-min" if max_min else "equilibrium"
    kind = f"{'graph' if k == 0 else f'k = {k}'}, {'all-to-all' if all_to_all else 'permutation'}, {sharing}"
    return kind, {
        "name": "capacities",
        "level": "flow",
        "sharing": sharing,
        "duration": "1ms",
        "topology": topology,
        "queues": {"limit": "100 packets"} | ({"mark": "20 packets"} if marks else {}),
        "transports": {"all": {"cc": cc, "subflows": subflows, "paths": rng.choice(["ecmp", "vlb", "disjoint"])}},
        "traffic": [traffic | {"transport": "all"}],
    }


def largest_utilisation(spec: dict[str, Any], seed: int) -> float:
    """The largest utilisation of a link.

    A run that exceeds a rate by more than `MAX_EXCESS` raises an internal error.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", weft.ResultWarning)
        return float(weft.run(spec, seed=seed).links["utilisation"].max())  # type: ignore[arg-type]


def main() -> int:
    """Runs as many cases as `CASES` says."""
    cases, start = int(os.environ.get("CASES", "10000")), time.monotonic()
    runs: Counter[str] = Counter()
    over = []
    for seed in range(cases):
        kind, spec = random_experiment(random.Random(seed))  # noqa: S311 (an experiment, no secret)
        runs[kind] += 1
        largest = largest_utilisation(spec, seed)
        if largest > 1 + MAX_EXCESS:
            over.append((seed, largest))
    sys.stdout.write("| runs | number |\n|---|---|\n")
    sys.stdout.write("".join(f"| {kind} | {number} |\n" for kind, number in sorted(runs.items())))
    minutes = (time.monotonic() - start) / 60
    sys.stdout.write(f"\n{cases} runs in {minutes:.1f} min; links above their rate in {len(over)}: {over[:10]}\n")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
