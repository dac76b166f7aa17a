"""The speed of the backends: packet-hops per second, iterations, and memory.

A packet-hop is one packet, data or ACK, over one link.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from importlib import resources
from typing import Any

from weft.errors import UsageError

EXPERIMENTS = ("permutation-128", "permutation-1024", "permutation-8192", "syndrome", "flow-8192", "flow-65536")
"""Scenarios that run an experiment; the spec of each is `NAME.toml` in this folder."""

ENGINE = {"engine-128": "permutation-128", "engine-1024": "permutation-1024"}
"""Scenarios of the packet engine without a transport, each with the experiment that has its network and flows.

Every subflow has a constant window of 32 packets of 1,526 bytes, a receiver answers every second packet with 78 bytes,
and nothing is dropped. The difference to the experiment is the cost of the transport.
"""

SCENARIOS = (*EXPERIMENTS, *ENGINE)
"""Names of all scenarios."""


def find_scenarios(names: list[str]) -> list[str]:
    """Returns the scenarios of these names, or all scenarios if there are no names.

    Raises:
        UsageError: A scenario does not exist.
    """
    for name in names:
        if name not in SCENARIOS:
            raise UsageError(f"scenario {name!r} does not exist; allowed: {', '.join(SCENARIOS)}")
    return names or list(SCENARIOS)


def spec_text(scenario: str) -> str:
    """Returns the spec of a scenario."""
    name = ENGINE.get(scenario, scenario)
    return (resources.files(__name__) / f"{name}.toml").read_text(encoding="utf-8")


def measure(scenario: str, threads: int, repeat: int) -> dict[str, Any]:
    """Runs a scenario `repeat` times, each time in a separate process, so that its memory is its own.

    Returns:
        The median of `seconds` and the largest `peak_rss_bytes`. At the packet level also
        `packet_hops` and their rate at that median; at the flow level also `hosts`, `subflows`,
        `iterations` and the `residual` reached.

    Raises:
        SystemExit: A run failed and printed the reason; with its exit code.
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
    # The run shows its own progress on standard error, which is shared.
    command = [sys.executable, "-m", "weft.bench.scenario", scenario, str(threads)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        # The run has printed the reason.
        sys.exit(done.returncode)
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured
