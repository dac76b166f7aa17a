"""Measures how much faster runs are with several threads, on an idle machine and next to busy loops.

`.venv/bin/python -m tests.speed.threads` takes some 4 minutes on two idle cores. Runs with one and with several threads
take turns; the table has the median times in seconds, and the median, the least and the greatest ratio of a round.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from weft.bench import measure

SCENARIOS = ("syndrome", "permutation-128", "permutation-1024")


@contextmanager
def busy_loops(number: int) -> Iterator[None]:
    """Keeps this many processes busy."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", default=SCENARIOS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} at the start, {given.threads} threads")
    print("| scenario | busy loops | one thread, s | several, s | times as fast: median, least, greatest |")
    print("|---|---|---|---|---|")
    for loops in (0, 2):
        for scenario in given.scenarios:
            with busy_loops(loops):
                rounds = [
                    [measure(scenario, threads, 1)["seconds"] for threads in (1, given.threads)]
                    for _ in range(given.rounds)
                ]
            one, several = (statistics.median(times) for times in zip(*rounds, strict=True))
            ratios = sorted(first / second for first, second in rounds)
            spread = ", ".join(f"{ratio:.2f}" for ratio in (statistics.median(ratios), ratios[0], ratios[-1]))
            print(f"| `{scenario}` | {loops} | {one:.2f} | {several:.2f} | {spread} |", flush=True)


if __name__ == "__main__":
    main()
