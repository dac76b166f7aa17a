"""How fast the backends are: packet-hops (one packet, data or ACK, over one link) a second, iterations, and memory."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from importlib import resources
from typing import Any

from weft.errors import UsageError

SCENARIOS = ("permutation-128", "permutation-1024", "permutation-8192", "syndrome", "flow-8192", "flow-65536")
"""Each is the spec `NAME.toml` beside this file."""


def find_scenarios(names: list[str]) -> list[str]:
    """The scenarios of these names, all of them when there are none.

    Raises:
        UsageError: One does not exist.
    """
    for name in names:
        if name not in SCENARIOS:
            raise UsageError(f"scenario {name!r}: does not exist; allowed: {', '.join(SCENARIOS)}")
    return names or list(SCENARIOS)


def spec_text(scenario: str) -> str:
    """A scenario's spec."""
    return (resources.files(__name__) / f"{scenario}.toml").read_text(encoding="utf-8")


def measure(scenario: str, threads: int, repeat: int) -> dict[str, Any]:
    """Runs a scenario `repeat` times, each in a process of its own so that its memory is its own.

    Returns:
        The median of `seconds` and the largest `peak_rss_bytes`; of the packet level `packet_hops` and their rate at
        that median, of the flow level `hosts`, `subflows`, `iterations` and the `residual` reached.

    Raises:
        SystemExit: A run failed and said why; with its exit code.
    """
    runs = [_measure_once(scenario, threads) for _ in range(repeat)]
    seconds = statistics.median(run["seconds"] for run in runs)
    work = {name: value for name, value in runs[0].items() if name not in {"seconds", "peak_rss_bytes"}}
    hops = work.get("packet_hops")
    return {
        "scenario": scenario,
        "threads": threads,
        **work,
        "seconds": seconds,
        **({} if hops is None else {"packet_hops_per_second": round(hops / seconds)}),
        "peak_rss_bytes": max(run["peak_rss_bytes"] for run in runs),
    }


def _measure_once(scenario: str, threads: int) -> dict[str, Any]:
    # Standard error is shared: the run shows its own progress there.
    command = [sys.executable, "-m", "weft.bench.scenario", scenario, str(threads)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        # It has said why.
        sys.exit(done.returncode)
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured
