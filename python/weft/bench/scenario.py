"""Runs one scenario in this process: `python -m weft.bench.scenario NAME THREADS` prints JSON."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any

from weft import _weft, terminal
from weft.bench import ENGINE, spec_text
from weft.exit_codes import run_command


def main(scenario: str, threads: int) -> None:
    """Runs a scenario and prints its measurements.

    Tables are not read, so that only the memory of the simulator counts.
    """
    experiment = _weft.Experiment.parse(spec_text(scenario))
    measured = _measure_engine if scenario in ENGINE else _run
    terminal.print_json({**measured(experiment, scenario, threads), "peak_rss_bytes": peak_rss_bytes()})


def _measure_engine(experiment: _weft.Experiment, _: str, threads: int) -> dict[str, Any]:
    packet_hops, seconds = experiment.measure_engine(threads)
    return {"packet_hops": packet_hops, "seconds": seconds}


def _run(experiment: _weft.Experiment, scenario: str, threads: int) -> dict[str, Any]:
    with terminal.ProgressBar(scenario) as bar:
        run = experiment.run(threads, on_progress=lambda now: bar.show(now.fraction))
    manifest = json.loads(run.manifest())
    if manifest["partial"]:
        raise KeyboardInterrupt
    return {**_work(manifest), "seconds": manifest["wall_seconds"]}


def _work(manifest: dict[str, Any]) -> dict[str, Any]:
    """Returns the units in which the run's level counts its work."""
    if "flow" in manifest:
        return {name: manifest["flow"][name] for name in ("hosts", "subflows", "iterations", "residual")}
    return {"packet_hops": manifest["counters"]["packet_hops"]}


def peak_rss_bytes() -> int:
    """Returns the maximum resident memory of this process in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # Of this program only: ru_maxrss includes the process before it executed this program.
        lines = dict(line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines())
        return 1024 * int(lines["VmHWM"].removesuffix("kB"))
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    sys.exit(run_command(lambda: main(sys.argv[1], int(sys.argv[2]))))
